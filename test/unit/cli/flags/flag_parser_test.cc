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

}  // namespace retryq::cli::flag_parser_test
