#include "cli/text/headers_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "retryq/amqp/table.h"
#include "support/make_message.h"

namespace retryq::cli {
namespace headers_json_test {

constexpr std::size_t kPlenty = 64 * 1024;

std::string JsonOf(const amqp::Table& table, std::size_t max_size = kPlenty) {
  const std::string bytes = table.Encode().value();
  return HeadersJson(Headers(amqp::TableView(bytes)), max_size);
}

// The JSON of one value of the given kind.
std::string JsonOf(amqp::Value value) { return JsonOf(amqp::Table{{"v", std::move(value)}}); }

// An array in an array in an array …, on the wire: more levels than any Table may have.
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

TEST(HeadersJson, ShowsEachKind) {
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

TEST(HeadersJson, WritesNumbersThatJsonLacksAsText) {
  EXPECT_EQ(JsonOf(std::nan("")), R"({"v":"NaN"})");
  EXPECT_EQ(JsonOf(HUGE_VAL), R"({"v":"Infinity"})");
  EXPECT_EQ(JsonOf(-HUGE_VALF), R"({"v":"-Infinity"})");
}

TEST(HeadersJson, IsOneLineOfUtf8WhateverTheTexts) {
  const std::string line = JsonOf(amqp::Table{{"bad\xff", "a\nb\xc3(\x80"}});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(line)["bad\xEF\xBF\xBD"], "a\nb\xEF\xBF\xBD(\xEF\xBF\xBD");
}

TEST(HeadersJson, LeavesOutWhatRetryingAndTheBrokerAdd) {
  EXPECT_EQ(JsonOf(testing::Copied({{"x-retry-error", "no"}, {"x-death", "…"}, {"mine", true}})),
            R"({"mine":true})");
  EXPECT_EQ(JsonOf(amqp::Table{{"x-retry-count", std::int64_t{3}}}), R"({"x-retry-count":3})");
}

TEST(HeadersJson, TakesTheFirstOfEqualNames) {
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

TEST(HeadersJson, OmitsAllOfWhatIsTooLong) {
  const amqp::Table table{{"h", std::string(100, 'x')}};
  EXPECT_EQ(JsonOf(table, 108), R"({"h":")" + std::string(100, 'x') + R"("})");
  EXPECT_EQ(JsonOf(table, 107), R"({"retryq-omitted":"longer than 107 bytes"})");
  EXPECT_EQ(JsonOf(table, 10), R"({"retryq-omitted":"longer than 10 bytes"})");
}

TEST(HeadersJson, OfNoHeadersIsAnEmptyObject) { EXPECT_EQ(JsonOf(amqp::Table()), "{}"); }

}  // namespace headers_json_test
}  // namespace retryq::cli
