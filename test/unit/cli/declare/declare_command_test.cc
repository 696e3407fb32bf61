#include "cli/declare/declare_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli {
namespace declare_command_test {

using ::testing::HasSubstr;

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

TEST(DeclareFlags, AllErrorsAreReportedTogether) {
  const std::string complaints = ComplaintsIn(
      ParseDeclare({"--routing-key", "k", "--exchange-type", "topic", "--exchange", "shop",
                    "--argument", "x", "--argument", "x-queue-type=quorum", "--argument", "a=1",
                    "--argument", "a=2", "--queue-type", "stream", "--wait", "soon", "more"}));
  for (const char* part :
       {"--queue is required", "--routing-key must follow the --exchange",
        "--exchange-type must follow the --exchange", "--routing-key is required after --exchange",
        "--argument 'x': write NAME=VALUE", "--argument x-queue-type: use --queue-type",
        "--argument a is given more than once", "--queue-type 'stream': write classic or quorum",
        "--wait 'soon'", "'more': unexpected here"}) {
    EXPECT_THAT(complaints, HasSubstr(part));
  }
  EXPECT_THAT(ComplaintsIn(ParseDeclare({"--queue", "q", "--exchange", "x", "--exchange-type",
                                         "fanout", "--exchange-type", "topic"})),
              HasSubstr("--exchange-type is given twice"));
}

}  // namespace declare_command_test
}  // namespace retryq::cli
