#include "cli/flags/flag_parser.h"

#include "support/test.h"
#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli::flag_parser_test {

TEST(FlagParser, DescribesItsFlagsWhenAskedTo) {
  FlagParser parser(HelpText{});
  std::optional<std::string> type, body;
  std::vector<std::string> headers;
  bool json = false;
  parser.AddPositional("BODY", &body, "The body. - is stdin");
  parser.Add("--type", "classic|quorum", &type, "The kind of\nqueue (default: classic)");
  parser.Add("--header", "NAME=VALUE", &headers, "A header; again for more");
  parser.Add("--json", &json, "For programs");
  FlagReader reader;
  const auto answer = parser.Parse({kDescribeFlags}, reader);
  ASSERT_TRUE(answer.ok() && answer->has_value());
  const std::vector<FlagDescription>& flags = (*answer)->flags;
  ASSERT_THAT(flags, SizeIs(5));
  EXPECT_THAT(flags[0].names, IsEmpty());
  EXPECT_EQ(flags[0].value, "BODY");
  EXPECT_EQ(flags[0].help, "The body");
  EXPECT_THAT(flags[1].names, ElementsAre("--type"));
  EXPECT_EQ(flags[1].value, "classic|quorum");
  EXPECT_EQ(flags[1].help, "The kind of queue");
  EXPECT_FALSE(flags[1].repeats);
  EXPECT_EQ(flags[2].help, "A header");
  EXPECT_TRUE(flags[2].repeats);
  EXPECT_EQ(flags[3].value, "");
  EXPECT_THAT(flags[4].names, ElementsAre("-h", "--help"));
}

struct Values {
  absl::Duration wait;
  std::uint32_t count = 3;
  std::string name;
};

absl::StatusOr<std::variant<Values, Answer>> ParseValues(const Arguments& arguments) {
  Values values;
  FlagParser parser(HelpText{});
  parser.Add("--wait", "DURATION", &values.wait, "");
  parser.AddNumber("--count", 1, 9, &values.count, "");
  parser.Add("--name", "NAME", &values.name, "");
  parser.Check([](FlagReader& reader) {
    reader.RefuseTogether("--count", "--wait", "which counts itself");
    reader.RequireFor("--count", false, "luck");
    reader.Require("--name", "name it");
  });
  return parser.ParseInto(arguments, values);
}

TEST(FlagParser, ConvertsValuesAndKeepsThoseThatAreNotGiven) {
  const Values values = OptionsIn(ParseValues({"--wait", "2s", "--name", "a"}));
  EXPECT_EQ(values.wait, absl::Seconds(2));
  EXPECT_EQ(values.count, 3);
  EXPECT_EQ(values.name, "a");
}

TEST(FlagParser, ReportsAllErrorsOfConversionsAndChecksTogether) {
  EXPECT_EQ(ComplaintsIn(ParseValues({"--wait", "2", "--count", "10"})),
            "--wait '2': write a duration such as 500ms, 30s, 10m, 1h30m or 1d\n"
            "--count '10': write a whole number from 1 to 9\n"
            "--count cannot be combined with --wait, which counts itself\n"
            "--count requires luck\n"
            "--name is required: name it");
}

}  // namespace retryq::cli::flag_parser_test
