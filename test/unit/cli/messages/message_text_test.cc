#include "cli/messages/message_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/messages/json_layout.h"
#include "support/make_message.h"

namespace retryq::cli {
namespace message_text_test {

using retryq::testing::MakeMessage;
using retryq::testing::NestedTableBytes;
using ::testing::HasSubstr;

std::string Body(std::string_view body, BodyFormat format = BodyFormat::kAuto) {
  const auto text = MessageText(*MakeMessage({.body = body}), format);
  return text.ok() ? *text : std::string(text.status().message());
}

std::string Json(const amqp::Message& message) { return MessageJson(message, {{"id", "m"}}); }

TEST(MessageText, GuessesWhatABodyIs) {
  EXPECT_THAT(Body(R"({"a":1})"), HasSubstr("7 bytes, JSON\n\n{\n  \"a\": 1\n}\n"));
  EXPECT_THAT(Body("some text\n"), HasSubstr("10 bytes, text\n\nsome text\n"));
  EXPECT_THAT(Body("\x01\x02"), HasSubstr("2 bytes, hex\n\n00000000  01 02"));
  EXPECT_THAT(Body(""), HasSubstr("body              empty\n"));
}

TEST(MessageText, ShowsABodyAsItIsTold) {
  EXPECT_THAT(Body("{}", BodyFormat::kText), HasSubstr("2 bytes, text\n\n{}\n"));
  EXPECT_THAT(Body("\x1b\xff", BodyFormat::kText), HasSubstr("\\u{1B}\\xFF\n"));
  EXPECT_THAT(Body("{}", BodyFormat::kHex), HasSubstr("00000000  7b 7d"));
  EXPECT_EQ(Body("{}\x01", BodyFormat::kRaw), "{}\x01");
  EXPECT_THAT(Body("{", BodyFormat::kJson), HasSubstr("the body is no JSON"));
}

TEST(MessageText, SaysOfABodyThatIsNoUtf8InBase64) {
  const auto json = nlohmann::json::parse(Json(*MakeMessage({.body = "\xff\x01"})));
  EXPECT_EQ(json.at("body_base64"), "/wE=");
  EXPECT_FALSE(json.contains("body"));
}

TEST(MessageText, ShowsWhereAMessageWasDeadLettered) {
  const amqp::Table death = {{"count", std::int64_t{3}}, {"queue", "orders"}};
  const auto message =
      MakeMessage({.headers = amqp::Table{{"tenant", "blue"}, {"x-death", amqp::Array{death}}}});
  EXPECT_THAT(*MessageText(*message, BodyFormat::kAuto),
              HasSubstr("headers           {\"tenant\":\"blue\"}\n"
                        "x-death           [{\"count\":3,\"queue\":\"orders\"}]\n"));
  const auto json = nlohmann::json::parse(Json(*message));
  EXPECT_EQ(json.at("x_death").at(0).at("queue"), "orders");
  EXPECT_FALSE(json.at("headers").contains("x-death"));
  EXPECT_FALSE(nlohmann::json::parse(Json(*MakeMessage())).contains("x_death"));
}

TEST(MessageText, ShowsDeathsOfAnyDepth) {
  const std::string deep = NestedTableBytes(900);
  std::string bytes = "\x07x-deathF";
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(deep.size() >> shift & 0xFF));
  }
  bytes += deep;
  const auto message = MakeMessage({.properties = {.headers = amqp::TableView(bytes)}});
  EXPECT_THAT(*MessageText(*message, BodyFormat::kAuto),
              HasSubstr("x-death           {\"retryq-omitted\""));
}

TEST(MessageText, SurvivesHeadersOfAnyDepth) {
  const std::string deep = NestedTableBytes(900);
  const auto message = MakeMessage({.properties = {.headers = amqp::TableView(deep)}});
  EXPECT_THAT(*MessageText(*message, BodyFormat::kAuto), HasSubstr("retryq-omitted"));
  EXPECT_THAT(Json(*message), HasSubstr("retryq-omitted"));
}

TEST(MessageText, DumpsBytes) {
  EXPECT_EQ(HexDump("0123456789abcde\n!"),
            "00000000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 0a  0123456789abcde.\n"
            "00000010  21                                               !\n");
}

TEST(JsonLayout, KeepsEveryToken) {
  EXPECT_EQ(LayOutJson(R"( {"b":1.10, "a" :["x, {\"}",[ ],{}, 12345678901234567890]} )"),
            "{\n  \"b\": 1.10,\n  \"a\": [\n    \"x, {\\\"}\",\n    [],\n    {},\n"
            "    12345678901234567890\n  ]\n}");
  EXPECT_EQ(LayOutJson("7"), "7");
}

TEST(JsonLayout, CopesWithAnyDepth) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  ASSERT_TRUE(IsJson(deep));
  EXPECT_LT(LayOutJson(deep).size(), 20'000'000U);
}

TEST(JsonLayout, CopesWithWhatIsNoJson) {
  for (const char* text : {"\"", "\"\\", "]]}", "{", ",:"}) {
    EXPECT_FALSE(IsJson(text));
    EXPECT_FALSE(LayOutJson(text).empty());
  }
}

}  // namespace message_text_test
}  // namespace retryq::cli
