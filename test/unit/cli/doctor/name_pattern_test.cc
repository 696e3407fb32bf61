#include "cli/doctor/name_pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace retryq::cli {
namespace name_pattern_test {

bool IsFound(std::string_view expression, std::string_view name) {
  const auto pattern = NamePattern::Create(expression);
  EXPECT_TRUE(pattern.has_value()) << expression;
  return pattern && pattern->IsFoundIn(name);
}

TEST(NamePattern, IsFoundAnywhereInAName) {
  EXPECT_TRUE(IsFound("der", "orders"));
  EXPECT_TRUE(IsFound("", "orders"));
  EXPECT_TRUE(IsFound("^$", std::string()));
  EXPECT_FALSE(IsFound("^der", "orders"));
}

TEST(NamePattern, SpeaksPerl) {
  EXPECT_TRUE(IsFound("(?i)^ORDERS", "orders"));
  EXPECT_TRUE(IsFound(R"(\Aorders\z)", "orders"));
  EXPECT_FALSE(IsFound(R"(\Aorders\z)", "orders.parked"));
  EXPECT_TRUE(IsFound("(?<=retry)[.]", "retry.1000"));
  EXPECT_FALSE(IsFound("(?<!retry)[.]", "retry.1000"));
  EXPECT_FALSE(IsFound("^o.*+s", "orders"));
  EXPECT_TRUE(IsFound("^(?<a>or)ders$", "orders"));
}

TEST(NamePattern, GoesByBytes) {
  EXPECT_TRUE(IsFound("^..$", "\xC3\xA9"));
  EXPECT_TRUE(IsFound("\xFF", "a\xFF"));
  EXPECT_TRUE(IsFound("^a.b$", std::string_view("a\0b", 3)));
}

TEST(NamePattern, IsNothingWhereItIsNoExpression) {
  for (const char* text : {"(", "[", "*", "a{2,1}", "(?<=x)("}) {
    EXPECT_FALSE(NamePattern::Create(text).has_value()) << text;
  }
}

TEST(NamePattern, GivesUpInTheEnd) {
  EXPECT_FALSE(IsFound("^(a|a)*$", std::string(254, 'a') + "b"));
}

}  // namespace name_pattern_test
}  // namespace retryq::cli
