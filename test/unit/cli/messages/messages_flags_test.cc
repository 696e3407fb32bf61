#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "cli/messages/messages_command.h"
#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli {
namespace messages_flags_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

class MessagesFlags : public ::testing::Test {
 protected:
  void SetUp() override { ::unsetenv("RETRYQ_MANAGEMENT_URL"); }
};

Arguments With(const Arguments& more) {
  Arguments all = {more.front(), "--queue", "orders", "--url", "amqp://u:secret@h/v"};
  all.insert(all.end(), more.begin() + 1, more.end());
  return all;
}

MessagesOptions Parked(const Arguments& arguments) {
  return OptionsIn(ParseParked(With(arguments)));
}

MessagesOptions Waiting(const Arguments& arguments) {
  return OptionsIn(ParseWaiting(With(arguments)));
}

TEST_F(MessagesFlags, DefaultsToAllMessagesOfTheQueue) {
  const MessagesOptions parked = Parked({"list"});
  EXPECT_EQ(parked.work_queue, "orders");
  EXPECT_EQ(parked.parked_queue, "orders.parked");
  EXPECT_EQ(parked.place.connection.vhost, "v");
  EXPECT_TRUE(parked.filter.empty());
  EXPECT_FALSE(parked.limit || parked.target || parked.body_file || parked.ask || parked.json);
  EXPECT_EQ(parked.window, 256);
  EXPECT_EQ(Parked({"list", "--parked", "dead"}).parked_queue, "dead");
  EXPECT_EQ(Waiting({"list"}).prefix, "retry");
  EXPECT_EQ(Waiting({"list", "--prefix", "slow"}).prefix, "slow");
  EXPECT_EQ(Waiting({"park", "--all"}).parked_queue, "orders.parked");
  EXPECT_EQ(Waiting({"park", "--all", "--parked", "dead"}).parked_queue, "dead");
}

TEST_F(MessagesFlags, NameTheFileOfDroppedMessages) {
  EXPECT_THAT(Parked({"drop", "--all", "--yes"}).backup,
              ::testing::MatchesRegex("retryq-dropped-orders\\.parked-[0-9TZ.]+\\.jsonl"));
  EXPECT_THAT(
      OptionsIn(ParseWaiting({"drop", "--all", "--yes", "--queue", "../a b", "--url", "amqp://h"}))
          .backup,
      HasSubstr("retryq-dropped-.._a_b-"));
  EXPECT_EQ(Parked({"drop", "--all", "--yes", "--backup", "f"}).backup, "f");
  EXPECT_EQ(Parked({"drop", "--all", "--yes", "--no-backup"}).backup, "");
}

// Whether the command asks or, as the stdin of the tests may not be a terminal, requires a flag.
template <auto kParse>
bool Asks(const Arguments& arguments) {
  const auto parsed = kParse(With(arguments));
  if (parsed.ok()) return std::get<MessagesOptions>(*parsed).ask;
  EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(" is missing: "));
  return true;
}

TEST_F(MessagesFlags, RequireConfirmationForManyMessages) {
  for (const char* command : {"release", "park"}) {
    EXPECT_TRUE(Asks<ParseWaiting>({command, "--rate", "1"}));
    EXPECT_FALSE(Asks<ParseWaiting>({command, "--all"}));
    EXPECT_FALSE(Asks<ParseWaiting>({command, "--dry-run"}));
    EXPECT_FALSE(Asks<ParseWaiting>({command, "--limit", "1"}));
  }
  EXPECT_TRUE(Asks<ParseParked>({"replay", "--foreign", "--rate", "1"}));
  EXPECT_FALSE(Asks<ParseParked>({"replay", "--all"}));
  EXPECT_FALSE(Asks<ParseParked>({"replay", "--error", "x"}));
  EXPECT_FALSE(Asks<ParseParked>({"replay", "--id", "a", "--body", "file"}));
  EXPECT_TRUE(Asks<ParseParked>({"drop", "--error", "x"}));
  EXPECT_TRUE(Asks<ParseParked>({"drop", "--all"}));
  EXPECT_FALSE(Asks<ParseParked>({"drop", "--all", "--yes"}));
  EXPECT_FALSE(Asks<ParseWaiting>({"drop", "--error", "x", "--yes"}));
  EXPECT_FALSE(Asks<ParseWaiting>({"drop", "--dry-run"}));
}

TEST_F(MessagesFlags, ComplainAboutWrongParkedArguments) {
  const std::vector<std::pair<Arguments, std::string>> kCases = {
      {{"list", "--limit", "0"}, "--limit '0'"},
      {{"list", "--older-than", "long"}, "--older-than 'long'"},
      {{"list", "--newer-than", ""}, "--newer-than ''"},
      {{"list", "--header", "=x"}, "--header '=x'"},
      {{"list", "--error", ""}, "--error '': must not be empty"},
      {{"list", "--id", ""}, "--id '': must not be empty"},
      {{"list", "--by", "due"}, "--by 'due': write error or attempt"},
      {{"list", "--by", "error", "--column", "type"}, "--column cannot be combined with --by"},
      {{"list", "--column", ""}, "--column ''"},
      {{"list", "--rate", "1"}, "--rate: there is no such flag"},
      {{"show", "--body", "xml"}, "--body 'xml': write auto, text, json, hex or raw"},
      {{"show", "--body", "hex", "--json"}, "--body cannot be combined with --json"},
      {{"show", "--full", "--json"}, "--full cannot be combined with --json"},
      {{"replay", "--all", "--to-queue", "q", "--to-exchange", "x", "--routing-key", "k"},
       "--to-queue cannot be combined with --to-exchange"},
      {{"replay", "--all", "--routing-key", "k"}, "--routing-key requires --to-exchange"},
      {{"replay", "--all", "--trust-routing-keys"}, "--trust-routing-keys requires --to-exchange"},
      {{"replay", "--all", "--to-exchange", "x"},
       "--to-exchange requires --routing-key KEY, or --trust-routing-keys"},
      {{"replay", "--all", "--to-exchange", "x", "--routing-key", "k", "--trust-routing-keys"},
       "--routing-key cannot be combined with --trust-routing-keys"},
      {{"replay", "--all", "--to-queue", "orders.parked"}, "is the parked queue itself"},
      {{"replay", "--all", "--to-exchange", ""}, "--to-exchange ''"},
      {{"replay", "--all", "--rate", "0"}, "--rate: write a number from 0.001"},
      {{"replay", "--all", "--window", "10001"}, "--window '10001'"},
      {{"replay", "--all", "--body", "file"}, "--body: is for one message; name it by one --id"},
      {{"replay", "--id", "a", "--body", ""}, "--body ''"},
      {{"edit"}, "--id: name the one message to edit"},
      {{"edit", "--id", "a", "--id", "b"}, "--id: name the one message to edit"},
      {{"drop", "--yes"}, "--all is missing: no filter and no --limit is given"},
      {{"drop", "--all", "--yes", "--backup", "f", "--no-backup"},
       "--backup cannot be combined with --no-backup"},
      {{"drop", "--all", "--yes", "--backup", ""}, "--backup ''"},
  };
  for (const auto& [arguments, complaint] : kCases) {
    EXPECT_THAT(ComplaintsIn(ParseParked(With(arguments))), HasSubstr(complaint));
  }
  EXPECT_THAT(ComplaintsIn(ParseParked({"list", "--limit", "0"})),
              AllOf(HasSubstr("--queue is required"), HasSubstr("--limit '0'")));
  EXPECT_THAT(ComplaintsIn(ParseParked({"list", "--queue", std::string(249, 'q')})),
              HasSubstr("longer than 255 bytes"));
  EXPECT_THAT(ComplaintsIn(ParseParked({})), HasSubstr("list, show, replay, edit, drop"));
  EXPECT_THAT(ComplaintsIn(ParseParked({"lst"})), HasSubstr("\"lst\""));
}

TEST_F(MessagesFlags, ComplainAboutWrongWaitingArguments) {
  const std::vector<std::pair<Arguments, std::string>> kCases = {
      {{"list", "--prefix", ""}, "--prefix ''"},
      {{"list", "--by", "id"}, "--by 'id': write error, attempt or due"},
      {{"list", "--foreign"}, "--foreign: there is no such flag"},
      {{"park", "--all", "--parked", "orders"}, "--parked: is the work queue itself"},
      {{"park", "--all", "--parked", std::string(256, 'q')}, "longer than 255 bytes"},
      {{"drop", "--yes"}, "--all is missing: no filter and no --limit is given"},
  };
  for (const auto& [arguments, complaint] : kCases) {
    EXPECT_THAT(ComplaintsIn(ParseWaiting(With(arguments))), HasSubstr(complaint));
  }
  EXPECT_THAT(ComplaintsIn(ParseWaiting({"list", "--queue", std::string(256, 'q')})),
              HasSubstr("longer than 255 bytes"));
  EXPECT_THAT(ComplaintsIn(ParseWaiting({})), HasSubstr("list, show, release, park, drop"));
}

TEST_F(MessagesFlags, HaveHelpWithExamples) {
  for (const char* command : {"list", "show", "replay", "edit", "drop"}) {
    EXPECT_THAT(HelpIn(ParseParked({command, "--help"})),
                AllOf(HasSubstr("Example"), HasSubstr("Exit codes"), HasSubstr("--older-than")));
  }
  for (const char* command : {"list", "show", "release", "park", "drop"}) {
    EXPECT_THAT(HelpIn(ParseWaiting({command, "--help"})),
                AllOf(HasSubstr("Example"), HasSubstr("Exit codes"), HasSubstr("4.0 to 4.2")));
  }
}

}  // namespace messages_flags_test
}  // namespace retryq::cli
