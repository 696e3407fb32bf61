#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "cli/parked/parked_command.h"
#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli {
namespace parked_flags_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class ParkedFlags : public ::testing::Test {
 protected:
  void SetUp() override { ::unsetenv("RETRYQ_MANAGEMENT_URL"); }
};

Arguments With(const Arguments& more) {
  Arguments all = {more.front(), "--queue", "orders", "--url", "amqp://u:secret@h/v"};
  all.insert(all.end(), more.begin() + 1, more.end());
  return all;
}

ParkedOptions Parse(const Arguments& arguments) { return OptionsIn(ParseParked(With(arguments))); }

std::string Complaints(const Arguments& arguments) { return ComplaintsIn(ParseParked(arguments)); }

std::string Help(const Arguments& arguments) { return HelpIn(ParseParked(arguments)); }

TEST_F(ParkedFlags, ListsEverythingByDefault) {
  const ParkedOptions options = Parse({"list"});
  EXPECT_EQ(options.action, ParkedAction::kList);
  EXPECT_EQ(options.work_queue, "orders");
  EXPECT_EQ(options.queue, "orders.parked");
  EXPECT_EQ(Parse({"list", "--parked", "dead"}).queue, "dead");
  EXPECT_EQ(options.connection.vhost, "v");
  EXPECT_TRUE(options.choice.filter.empty());
  EXPECT_FALSE(options.choice.limit.has_value());
}

TEST_F(ParkedFlags, TakeFilters) {
  const ParkedOptions options =
      Parse({"list", "--id", "a", "--id", "b", "--error", "Time", "--older-than", "1h",
             "--newer-than", "2d", "--header", "a=b=c", "--limit", "7", "--json"});
  EXPECT_THAT(options.choice.filter.ids, ElementsAre("a", "b"));
  EXPECT_EQ(options.choice.filter.error, "Time");
  EXPECT_EQ(options.choice.filter.older_than, absl::Hours(1));
  EXPECT_EQ(options.choice.filter.newer_than, absl::Hours(48));
  EXPECT_THAT(options.choice.filter.headers, ElementsAre(Pair("a", "b=c")));
  EXPECT_EQ(options.choice.limit, 7U);
  EXPECT_TRUE(options.json);
}

TEST_F(ParkedFlags, ReplayWhereTheyAreTold) {
  EXPECT_FALSE(Parse({"replay", "--all"}).target.has_value());
  const ParkedOptions queue =
      Parse({"replay", "--all", "--to-queue", "q", "--rate", "0.5", "--window", "9"});
  EXPECT_EQ(queue.target->exchange, "");
  EXPECT_EQ(queue.target->routing_key, "q");
  EXPECT_EQ(queue.rate, 0.5);
  EXPECT_EQ(queue.window, 9);
  const ParkedOptions exchange =
      Parse({"replay", "--to-exchange", "x", "--trust-routing-keys", "--dry-run"});
  EXPECT_EQ(exchange.target->exchange, "x");
  EXPECT_FALSE(exchange.target->routing_key.has_value());
  EXPECT_TRUE(exchange.dry_run);
  EXPECT_EQ(
      Parse({"replay", "--all", "--to-exchange", "x", "--routing-key", ""}).target->routing_key,
      "");
}

// The tests' stdin may be a terminal.
TEST_F(ParkedFlags, AskBeforeMuchIsTakenAway) {
  const auto asks = [](const Arguments& arguments) {
    const auto parsed = ParseParked(With(arguments));
    return parsed.ok() ? std::get<ParkedOptions>(*parsed).ask
                       : std::string(parsed.status().message())
                                 .find(
                                     " is missing: there is no "
                                     "terminal") != std::string::npos;
  };
  EXPECT_TRUE(asks({"replay"}));
  EXPECT_TRUE(asks({"replay", "--foreign", "--rate", "1"}));
  EXPECT_FALSE(asks({"replay", "--all"}));
  EXPECT_FALSE(asks({"replay", "--dry-run"}));
  EXPECT_FALSE(asks({"replay", "--limit", "1"}));
  EXPECT_FALSE(asks({"replay", "--error", "x"}));
  EXPECT_TRUE(asks({"drop"}));
  EXPECT_TRUE(asks({"drop", "--error", "x"}));
  EXPECT_FALSE(asks({"drop", "--yes"}));
  EXPECT_FALSE(asks({"list"}));
}

TEST_F(ParkedFlags, ListInMoreThanOneWay) {
  EXPECT_TRUE(Parse({"list", "--by", "error"}).by_error);
  EXPECT_THAT(Parse({"list", "--column", "type", "--column", "vip"}).columns,
              ElementsAre("type", "vip"));
  EXPECT_TRUE(Parse({"drop", "--yes", "--foreign"}).foreign);
}

TEST_F(ParkedFlags, ShowABodyInManyWays) {
  EXPECT_EQ(Parse({"show"}).body, BodyFormat::kAuto);
  EXPECT_EQ(Parse({"show", "--body", "raw"}).body, BodyFormat::kRaw);
  EXPECT_THAT(Complaints(With({"show", "--body", "xml"})),
              HasSubstr("--body 'xml': write auto, text, json, hex or raw"));
}

TEST_F(ParkedFlags, ReplaceOneMessage) {
  const ParkedOptions replay = Parse({"replay", "--id", "a", "--body", "file"});
  EXPECT_EQ(replay.body_file, "file");
  EXPECT_EQ(replay.choice.limit, 1U);
  EXPECT_FALSE(replay.ask);
  EXPECT_EQ(Parse({"edit", "--id", "a"}).choice.limit, 1U);
  EXPECT_THAT(Complaints(With({"replay", "--all", "--body", "file"})),
              HasSubstr("--body: is for one message; name it by one --id"));
  EXPECT_THAT(Complaints(With({"replay", "--id", "a", "--body", ""})), HasSubstr("--body ''"));
  EXPECT_THAT(Complaints(With({"edit"})), HasSubstr("--id: name the one message"));
  EXPECT_THAT(Complaints(With({"edit", "--id", "a", "--id", "b"})),
              HasSubstr("--id: name the one message"));
}

TEST_F(ParkedFlags, SayAllThatIsWrong) {
  EXPECT_THAT(Complaints({"list", "--limit", "0", "--older-than", "long", "--header", "=x"}),
              AllOf(HasSubstr("--queue is missing"), HasSubstr("--limit '0'"),
                    HasSubstr("--older-than 'long'"), HasSubstr("--header '=x'")));
  EXPECT_THAT(Complaints(With({"replay", "--to-queue", "q", "--to-exchange", "x"})),
              HasSubstr("--to-queue: excludes"));
  EXPECT_THAT(Complaints(With({"replay", "--routing-key", "k"})),
              HasSubstr("--routing-key: is for --to-exchange"));
  EXPECT_THAT(Complaints(With({"replay", "--trust-routing-keys"})),
              HasSubstr("--trust-routing-keys: is for --to-exchange"));
  EXPECT_THAT(Complaints(With({"replay", "--to-exchange", "x"})),
              HasSubstr("--to-exchange: needs --routing-key KEY, or --trust-routing-keys"));
  EXPECT_THAT(Complaints(With(
                  {"replay", "--to-exchange", "x", "--routing-key", "k", "--trust-routing-keys"})),
              HasSubstr("--routing-key: excludes --trust-routing-keys"));
  EXPECT_THAT(Complaints(With({"replay", "--to-queue", "orders.parked"})),
              HasSubstr("the parked queue itself"));
  EXPECT_THAT(Complaints(With({"replay", "--to-exchange", ""})), HasSubstr("--to-exchange ''"));
  EXPECT_THAT(Complaints(With({"replay", "--rate", "0"})), HasSubstr("--rate '0'"));
  EXPECT_THAT(Complaints(With({"replay", "--window", "10001"})), HasSubstr("--window '10001'"));
  EXPECT_THAT(Complaints(With({"list", "--by", "id"})), HasSubstr("--by 'id': write error"));
  EXPECT_THAT(Complaints(With({"list", "--by", "error", "--column", "type"})),
              HasSubstr("--column: cannot be combined with --by"));
  EXPECT_THAT(Complaints(With({"list", "--column", ""})), HasSubstr("--column ''"));
  EXPECT_THAT(Complaints({"list", "--queue", std::string(249, 'q')}),
              HasSubstr("longer than 255 bytes"));
  EXPECT_THAT(Complaints(With({"list", "--rate", "1"})),
              HasSubstr("--rate: there is no such flag"));
}

TEST_F(ParkedFlags, NeedACommand) {
  EXPECT_THAT(Complaints({}), HasSubstr("say list, show, replay, edit or drop"));
  EXPECT_THAT(Complaints({"--queue", "q"}), HasSubstr("a command is missing"));
  EXPECT_THAT(Complaints({"lst"}), HasSubstr("there is no command 'lst'"));
}

TEST_F(ParkedFlags, HelpHasExamples) {
  EXPECT_THAT(Help({"--help"}), AllOf(HasSubstr("Example"), HasSubstr("replay")));
  for (const char* command : {"list", "show", "replay", "edit", "drop"}) {
    EXPECT_THAT(Help({command, "--help"}),
                AllOf(HasSubstr("Example"), HasSubstr("Exit codes"), HasSubstr("--older-than")));
  }
}

}  // namespace parked_flags_test
}  // namespace retryq::cli
