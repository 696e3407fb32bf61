#include "cli/text/json_line.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace retryq::cli {
namespace json_line_test {

std::string Nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

TEST(ParseJson, LimitsTheDepth) {
  EXPECT_FALSE(ParseJson(Nested(kMaxJsonDepth)).is_discarded());
  EXPECT_FALSE(ParseOrderedJson(Nested(kMaxJsonDepth)).is_discarded());
  for (const std::size_t levels : {std::size_t{kMaxJsonDepth} + 1, std::size_t{1'000'000}}) {
    EXPECT_TRUE(ParseJson(Nested(levels)).is_discarded());
    EXPECT_TRUE(ParseOrderedJson(Nested(levels)).is_discarded());
    EXPECT_TRUE(ParseJson(std::string(levels, '[')).is_discarded());
    EXPECT_EQ(WhyNotJson(Nested(levels)), "JSON that nests deeper than 100 levels");
  }
}

TEST(ParseJson, CountsNoBracketsOfTexts) {
  const std::string many(1000, '[');
  EXPECT_EQ(ParseJson(R"(["\"\\)" + many + "\"]").at(0), "\"\\" + many);
  std::string list = "[";
  for (int i = 0; i < 1000; ++i) list += "[{}],";
  EXPECT_EQ(ParseJson(list + "0]").size(), 1001U);
}

TEST(ParseJson, KnowsWhatIsNone) {
  for (const char* text : {"", "]", "]]]][[[[", "\"", "\"\\", "{\"a\"", "[1,]", "1e999"}) {
    EXPECT_TRUE(ParseJson(text).is_discarded()) << text;
    EXPECT_EQ(WhyNotJson(text), "not JSON");
  }
}

}  // namespace json_line_test
}  // namespace retryq::cli
