#include "cli/text/json_line.h"

#include <nlohmann/json.hpp>

#include "support/make_message.h"
#include "support/test.h"

namespace retryq::cli::json_line_test {

using Json = nlohmann::json;

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

TEST(ParseJson, IgnoresBracketsInTexts) {
  const std::string many(1000, '[');
  EXPECT_EQ(ParseJson(R"(["\"\\)" + many + "\"]").at(0), "\"\\" + many);
  std::string list = "[";
  for (int i = 0; i < 1000; ++i) list += "[{}],";
  EXPECT_EQ(ParseJson(list + "0]").size(), 1001U);
}

TEST(ParseJson, RefusesTextThatIsNotJson) {
  for (const char* text : {"", "]", "]]]][[[[", "\"", "\"\\", "{\"a\"", "[1,]", "1e999"}) {
    EXPECT_TRUE(ParseJson(text).is_discarded()) << text;
    EXPECT_EQ(WhyNotJson(text), "not JSON");
  }
}

constexpr std::size_t kPlenty = 64 * 1024;

std::string JsonOf(const amqp::Table& table, std::size_t max_size = kPlenty) {
  const std::string bytes = table.Encode().value();
  return HeadersJson(Headers(amqp::TableView(bytes)), max_size);
}

// Returns the JSON of a header with this value.
std::string JsonOf(amqp::Value value) { return JsonOf(amqp::Table{{"v", std::move(value)}}); }

// An encoded header with nested arrays, more levels than a Table may have.
std::string DeepField(std::string_view name, int levels) {
  std::string value;
  for (int i = 0; i < levels; ++i) {
    const auto size = static_cast<std::uint32_t>(value.size());
    std::string outer = "A";
    for (const int shift : {24, 16, 8, 0}) outer.push_back(static_cast<char>(size >> shift));
    value = outer + value;
  }
  return std::string(1, static_cast<char>(name.size())).append(name).append(value);
}

TEST(HeadersJson, ConvertsEachType) {
  EXPECT_EQ(JsonOf(amqp::Void()), R"({"v":null})");
  EXPECT_EQ(JsonOf(true), R"({"v":true})");
  EXPECT_EQ(JsonOf(std::int8_t{-128}), R"({"v":-128})");
  EXPECT_EQ(JsonOf(std::uint8_t{255}), R"({"v":255})");
  EXPECT_EQ(JsonOf(std::int16_t{-2}), R"({"v":-2})");
  EXPECT_EQ(JsonOf(std::uint16_t{65535}), R"({"v":65535})");
  EXPECT_EQ(JsonOf(std::int32_t{-3}), R"({"v":-3})");
  EXPECT_EQ(JsonOf(std::uint32_t{4294967295U}), R"({"v":4294967295})");
  EXPECT_EQ(JsonOf(std::numeric_limits<std::int64_t>::min()), R"({"v":-9223372036854775808})");
  EXPECT_EQ(JsonOf(0.5F), R"({"v":0.5})");
  EXPECT_EQ(JsonOf(-0.25), R"({"v":-0.25})");
  EXPECT_EQ(JsonOf(amqp::Timestamp{1700000000}), R"({"v":1700000000})");
  EXPECT_EQ(JsonOf(std::string("a \"text\"")), R"({"v":"a \"text\""})");
  EXPECT_EQ(JsonOf(amqp::Bytes{std::string("\0\xff", 2)}), R"({"v":"AP8="})");
  EXPECT_EQ(JsonOf(amqp::Array{amqp::Value("one"), amqp::Value(std::int64_t{2})}),
            R"({"v":["one",2]})");
  EXPECT_EQ(JsonOf(std::make_shared<const amqp::Table>(amqp::Table{{"inner", true}})),
            R"({"v":{"inner":true}})");
}

TEST(HeadersJson, WritesDecimalsExactly) {
  EXPECT_EQ(JsonOf(amqp::Decimal{2, 1250}), R"({"v":"12.50"})");
  EXPECT_EQ(JsonOf(amqp::Decimal{2, -5}), R"({"v":"-0.05"})");
  EXPECT_EQ(JsonOf(amqp::Decimal{0, 7}), R"({"v":"7"})");
  EXPECT_EQ(JsonOf(amqp::Decimal{0, std::numeric_limits<std::int32_t>::min()}),
            R"({"v":"-2147483648"})");
}

TEST(HeadersJson, WritesNumbersWithoutAJsonFormAsText) {
  EXPECT_EQ(JsonOf(std::nan("")), R"({"v":"NaN"})");
  EXPECT_EQ(JsonOf(HUGE_VAL), R"({"v":"Infinity"})");
  EXPECT_EQ(JsonOf(-HUGE_VALF), R"({"v":"-Infinity"})");
}

TEST(HeadersJson, OmitsHeadersOfRetriesAndOfTheBroker) {
  EXPECT_EQ(JsonOf(testing::Copied({{"x-retry-error", "no"}, {"x-death", "…"}, {"mine", true}})),
            R"({"mine":true})");
  EXPECT_EQ(JsonOf(amqp::Table{{"x-retry-count", std::int64_t{3}}}), R"({"x-retry-count":3})");
}

TEST(HeadersJson, UsesTheFirstOfEqualNames) {
  amqp::Table table;
  table.Append("twice", "first");
  table.Append("twice", "second");
  EXPECT_EQ(JsonOf(table), R"({"twice":"first"})");
}

TEST(HeadersJson, OmitsOnlyTheHeaderThatNestsTooDeep) {
  const std::string bytes =
      DeepField("deep", 900) + amqp::Table{{"flat", "shown"}}.Encode().value();
  const auto json = nlohmann::json::parse(HeadersJson(Headers(amqp::TableView(bytes)), kPlenty));
  EXPECT_TRUE(json["deep"].contains("retryq-omitted")) << json;
  EXPECT_EQ(json["flat"], "shown");
}

TEST(HeadersJson, OmitsHeadersThatAreTooLong) {
  const amqp::Table table{{"h", std::string(100, 'x')}};
  EXPECT_EQ(JsonOf(table, 108), R"({"h":")" + std::string(100, 'x') + R"("})");
  EXPECT_EQ(JsonOf(table, 107), R"({"retryq-omitted":"longer than 107 bytes"})");
  EXPECT_EQ(JsonOf(table, 10), R"({"retryq-omitted":"longer than 10 bytes"})");
}

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

TEST(TypedValue, RefusesValuesThatAmqpCannotCarry) {
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

TEST(ScalarOrText, ReadsScalarsAndKeepsOtherText) {
  EXPECT_EQ(ScalarOrText("1000"), amqp::Value(std::int64_t{1000}));
  EXPECT_EQ(ScalarOrText("1.5"), amqp::Value(1.5));
  EXPECT_EQ(ScalarOrText("true"), amqp::Value(true));
  EXPECT_EQ(ScalarOrText("\"1000\""), amqp::Value("1000"));
  for (const char* text : {"reject-publish", "", "[1]", "{}", "1 2", "18446744073709551615"}) {
    EXPECT_EQ(ScalarOrText(text), amqp::Value(text));
  }
}

}  // namespace retryq::cli::json_line_test
