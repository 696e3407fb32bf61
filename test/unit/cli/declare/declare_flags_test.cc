#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <variant>

#include "cli/declare/declare_command.h"
#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli {
namespace declare_flags_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

DeclareCommandOptions Parse(const Arguments& arguments) {
  return OptionsIn(ParseDeclare(arguments));
}

std::string Complaints(const Arguments& arguments) { return ComplaintsIn(ParseDeclare(arguments)); }

TEST(DeclareFlags, DeclaresAClassicQueueWithoutMore) {
  const DeclareCommandOptions options = Parse({"--queue", "orders"});
  EXPECT_EQ(options.work_queue.name, "orders");
  EXPECT_EQ(options.work_queue.type, QueueType::kClassic);
  EXPECT_TRUE(options.work_queue.arguments.empty());
  EXPECT_THAT(options.work_queue.bindings, SizeIs(0));
  EXPECT_EQ(options.wait, kDefaultWait);
}

TEST(DeclareFlags, ArgumentsHaveTypes) {
  const DeclareCommandOptions options =
      Parse({"--queue", "orders", "--queue-type", "quorum", "--argument", "x-max-length=1000",
             "--argument", "x-single-active-consumer=true", "--argument",
             "x-overflow=reject-publish", "--argument", "x-text=\"1\""});
  EXPECT_EQ(options.work_queue.type, QueueType::kQuorum);
  EXPECT_EQ(options.work_queue.arguments, (amqp::Table{{"x-max-length", std::int64_t{1000}},
                                                       {"x-single-active-consumer", true},
                                                       {"x-overflow", "reject-publish"},
                                                       {"x-text", "1"}}));
}

TEST(DeclareFlags, EachExchangeHasWhatFollowsIt) {
  const DeclareCommandOptions options =
      Parse({"--exchange", "shop", "--routing-key", "order.#", "--routing-key=return.#",
             "--exchange", "all", "--exchange-type", "fanout", "--queue", "orders", "--exchange",
             "exact", "--routing-key", "", "--exchange-type", "direct"});
  const auto& bindings = options.work_queue.bindings;
  ASSERT_THAT(bindings, SizeIs(4));
  EXPECT_EQ(bindings[0].exchange, "shop");
  EXPECT_EQ(bindings[0].exchange_type, "topic");
  EXPECT_EQ(bindings[0].routing_key, "order.#");
  EXPECT_EQ(bindings[1].exchange, "shop");
  EXPECT_EQ(bindings[1].routing_key, "return.#");
  EXPECT_EQ(bindings[2].exchange, "all");
  EXPECT_EQ(bindings[2].exchange_type, "fanout");
  EXPECT_EQ(bindings[2].routing_key, "");
  EXPECT_EQ(bindings[3].exchange, "exact");
  EXPECT_EQ(bindings[3].exchange_type, "direct");
}

TEST(DeclareFlags, NamesAllThatIsWrong) {
  const std::string complaints =
      Complaints({"--routing-key", "k", "--exchange-type", "topic", "--exchange", "shop",
                  "--argument", "x", "--argument", "x-queue-type=quorum", "--argument", "a=1",
                  "--argument", "a=2", "--queue-type", "stream", "--wait", "soon", "more"});
  for (const char* part :
       {"--queue is missing", "--routing-key: belongs to an --exchange",
        "--exchange-type: belongs to an --exchange", "--routing-key is missing: --exchange shop",
        "--argument 'x': write NAME=VALUE", "--argument x-queue-type: use --queue-type",
        "--argument a: is given more than once", "--queue-type 'stream': write classic or quorum",
        "--wait 'soon'", "'more': unexpected here"}) {
    EXPECT_THAT(complaints, HasSubstr(part));
  }
  EXPECT_THAT(Complaints({"--queue", "q", "--exchange", "x", "--exchange-type", "fanout",
                          "--exchange-type", "topic", "--routing-key", "k"}),
              HasSubstr("--exchange-type: is given twice"));
}

TEST(DeclareFlags, HelpHasAnExample) {
  const auto parsed = ParseDeclare({"-h"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(
      std::get<Answer>(*parsed).text,
      AllOf(HasSubstr("Usage: retryq declare"), HasSubstr("Example:"), HasSubstr("--argument")));
}

TEST(DeclareFlags, DescribesItsFlagsForCompletions) {
  const auto parsed = ParseDeclare({kDescribeFlags});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  int repeated = 0;
  for (const FlagDescription& flag : std::get<Answer>(*parsed).flags) repeated += flag.repeats;
  EXPECT_EQ(repeated, 5) << "--argument, --exchange, --exchange-type, --routing-key, --url";
}

}  // namespace declare_flags_test
}  // namespace retryq::cli
