#include "cli/text/typed_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace retryq::cli {
namespace typed_value_test {

using ::testing::HasSubstr;
using Json = nlohmann::json;

TEST(TypedValue, KeepsTheTypes) {
  const absl::StatusOr<amqp::Value> value = TypedValue(Json::parse(
      R"({"i": -7, "u": 7, "d": 1.5, "t": "text", "b": true, "n": null, "a": [1, "x"], "o": {}})"));
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(*value, amqp::Value(amqp::Table{{"a", amqp::Array{std::int64_t{1}, "x"}},
                                            {"b", true},
                                            {"d", 1.5},
                                            {"i", std::int64_t{-7}},
                                            {"n", amqp::Value()},
                                            {"o", amqp::Table()},
                                            {"t", "text"},
                                            {"u", std::int64_t{7}}}));
}

TEST(TypedValue, RefusesWhatAmqpCannotCarry) {
  const auto refusal = [](const Json& json) {
    const absl::Status status = TypedValue(json).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_TRUE(TypedValue(INT64_MAX).ok());
  EXPECT_THAT(refusal(std::uint64_t{INT64_MAX} + 1), HasSubstr("9223372036854775808"));
  EXPECT_THAT(refusal({{std::string(256, 'n'), 1}}), HasSubstr("256 bytes"));
  Json deep = 1;
  for (int level = 1; level < amqp::kMaxTableDepth; ++level) deep = Json::array({deep});
  EXPECT_TRUE(TypedValue(deep).ok());
  EXPECT_THAT(refusal(Json::array({deep})), HasSubstr("deeper than 32"));
}

TEST(ScalarOrText, ReadsScalarsAndTakesTheRestAsText) {
  EXPECT_EQ(ScalarOrText("1000"), amqp::Value(std::int64_t{1000}));
  EXPECT_EQ(ScalarOrText("1.5"), amqp::Value(1.5));
  EXPECT_EQ(ScalarOrText("true"), amqp::Value(true));
  EXPECT_EQ(ScalarOrText("\"1000\""), amqp::Value("1000"));
  for (const char* text : {"reject-publish", "", "[1]", "{}", "1 2", "18446744073709551615"}) {
    EXPECT_EQ(ScalarOrText(text), amqp::Value(text));
  }
}

}  // namespace typed_value_test
}  // namespace retryq::cli
