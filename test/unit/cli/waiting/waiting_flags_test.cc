#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "cli/waiting/waiting_command.h"
#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli {
namespace waiting_flags_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WaitingFlags : public ::testing::Test {
 protected:
  void SetUp() override { ::unsetenv("RETRYQ_MANAGEMENT_URL"); }
};

Arguments With(const Arguments& more) {
  Arguments all = {more.front(), "--queue", "orders", "--url", "amqp://u:secret@h/v"};
  all.insert(all.end(), more.begin() + 1, more.end());
  return all;
}

WaitingOptions Parse(const Arguments& arguments) {
  return OptionsIn(ParseWaiting(With(arguments)));
}

std::string Complaints(const Arguments& arguments) { return ComplaintsIn(ParseWaiting(arguments)); }

std::string Help(const Arguments& arguments) { return HelpIn(ParseWaiting(arguments)); }

TEST_F(WaitingFlags, ListEverythingByDefault) {
  const WaitingOptions options = Parse({"list"});
  EXPECT_EQ(options.action, WaitingAction::kList);
  EXPECT_EQ(options.work_queue, "orders");
  EXPECT_EQ(options.prefix, "retry");
  EXPECT_EQ(options.place.connection.vhost, "v");
  EXPECT_TRUE(options.choice.filter.empty());
  EXPECT_EQ(options.by, WaitingCount::kNone);
  EXPECT_EQ(Parse({"list", "--prefix", "slow"}).prefix, "slow");
}

TEST_F(WaitingFlags, CountInThreeWays) {
  EXPECT_EQ(Parse({"list", "--by", "error"}).by, WaitingCount::kError);
  EXPECT_EQ(Parse({"list", "--by", "attempt"}).by, WaitingCount::kAttempt);
  EXPECT_EQ(Parse({"list", "--by", "due"}).by, WaitingCount::kDue);
  EXPECT_THAT(Complaints(With({"list", "--by", "id"})),
              HasSubstr("--by 'id': write error, attempt or due"));
  EXPECT_THAT(Parse({"list", "--column", "type"}).columns, ElementsAre("type"));
}

TEST_F(WaitingFlags, ParkInTheParkedQueue) {
  EXPECT_EQ(Parse({"park", "--all"}).parked_queue, "orders.parked");
  EXPECT_EQ(Parse({"park", "--all", "--parked", "dead"}).parked_queue, "dead");
  EXPECT_THAT(Complaints(With({"park", "--all", "--parked", "orders"})),
              HasSubstr("--parked: is the work queue itself"));
}

// The tests' stdin may be a terminal.
TEST_F(WaitingFlags, AskBeforeMuchIsTaken) {
  const auto asks = [](const Arguments& arguments) {
    const auto parsed = ParseWaiting(With(arguments));
    return parsed.ok()
               ? std::get<WaitingOptions>(*parsed).ask
               : std::string(parsed.status().message()).find(" is missing: there is no terminal") !=
                     std::string::npos;
  };
  for (const char* command : {"release", "park"}) {
    EXPECT_TRUE(asks({command}));
    EXPECT_TRUE(asks({command, "--rate", "1"}));
    EXPECT_FALSE(asks({command, "--all"}));
    EXPECT_FALSE(asks({command, "--dry-run"}));
    EXPECT_FALSE(asks({command, "--limit", "1"}));
    EXPECT_FALSE(asks({command, "--error", "x"}));
  }
  EXPECT_TRUE(asks({"drop"}));
  EXPECT_TRUE(asks({"drop", "--error", "x"}));
  EXPECT_FALSE(asks({"drop", "--yes"}));
  EXPECT_FALSE(asks({"drop", "--dry-run"}));
  EXPECT_FALSE(asks({"list"}));
}

TEST_F(WaitingFlags, SayAllThatIsWrong) {
  EXPECT_THAT(Complaints({"list", "--limit", "0", "--older-than", "long", "--prefix", ""}),
              AllOf(HasSubstr("--queue is missing"), HasSubstr("--limit '0'"),
                    HasSubstr("--older-than 'long'"), HasSubstr("--prefix")));
  EXPECT_THAT(Complaints(With({"release", "--rate", "0"})), HasSubstr("--rate '0'"));
  EXPECT_THAT(Complaints(With({"list", "--rate", "1"})),
              HasSubstr("--rate: there is no such flag"));
  EXPECT_THAT(Complaints({"list", "--queue", std::string(256, 'q')}),
              HasSubstr("longer than 255 bytes"));
  EXPECT_THAT(Complaints({}), HasSubstr("say list, show, release, park or drop"));
  EXPECT_THAT(Complaints({"lst"}), HasSubstr("there is no command 'lst'"));
}

TEST_F(WaitingFlags, HelpHasExamples) {
  EXPECT_THAT(Help({"--help"}), AllOf(HasSubstr("Example"), HasSubstr("release")));
  for (const char* command : {"list", "show", "release", "park", "drop"}) {
    EXPECT_THAT(Help({command, "--help"}),
                AllOf(HasSubstr("Example"), HasSubstr("Exit codes"), HasSubstr("--older-than"),
                      HasSubstr("4.0 to 4.2")));
  }
}

}  // namespace waiting_flags_test
}  // namespace retryq::cli
