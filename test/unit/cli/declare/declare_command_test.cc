#include "cli/declare/declare_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli {
namespace declare_command_test {

DeclareCommandOptions Parse(const Arguments& arguments) {
  return OptionsIn(ParseDeclare(arguments));
}

TEST(DeclareFlags, ArgumentsHaveTheTypesOfJson) {
  const DeclareCommandOptions options =
      Parse({"--queue", "orders", "--queue-type", "quorum", "--wait", "1m", "--argument",
             "x-max-length=1000", "--argument", "x-overflow=reject-publish"});
  EXPECT_EQ(options.work_queue.name, "orders");
  EXPECT_EQ(options.work_queue.type, QueueType::kQuorum);
  EXPECT_EQ(options.wait, absl::Minutes(1));
  EXPECT_EQ(options.work_queue.arguments,
            (amqp::Table{{"x-max-length", std::int64_t{1000}}, {"x-overflow", "reject-publish"}}));
}

TEST(DeclareFlags, EachExchangeHasTheTypeAndTheKeysThatFollowIt) {
  const DeclareCommandOptions options =
      Parse({"--exchange", "shop", "--routing-key", "order.#", "--routing-key=return.#",
             "--exchange", "all", "--exchange-type", "fanout", "--queue", "orders", "--exchange",
             "exact", "--routing-key", "", "--exchange-type", "direct"});
  std::string bindings;
  for (const WorkQueueBinding& binding : options.work_queue.bindings) {
    bindings += binding.exchange + ":" + binding.exchange_type + ":" + binding.routing_key + " ";
  }
  EXPECT_EQ(bindings, "shop:topic:order.# shop:topic:return.# all:fanout: exact:direct: ");
}

}  // namespace declare_command_test
}  // namespace retryq::cli
