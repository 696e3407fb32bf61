#include "cli/messages/messages_command.h"
#include "support/test.h"
#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli::messages_flags_test {

using MessagesFlags = FlagsTest;

Arguments With(const Arguments& more) {
  Arguments all = {more.front(), "--queue", "orders", "--url", "amqp://u:secret@h/v"};
  all.insert(all.end(), more.begin() + 1, more.end());
  return all;
}

MessagesOptions Parked(const Arguments& arguments) {
  return OptionsIn(ParseParked(With(arguments)));
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

TEST_F(MessagesFlags, RefuseAgesThatNoMessageHas) {
  const auto parsed = ParseParked(With({"list", "--older-than", "2h", "--newer-than", "1h"}));
  EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("--older-than must be less"));
  EXPECT_TRUE(ParseParked(With({"list", "--older-than", "1h", "--newer-than", "2h"})).ok());
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

}  // namespace retryq::cli::messages_flags_test
