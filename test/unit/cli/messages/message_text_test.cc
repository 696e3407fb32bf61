#include "cli/messages/message_text.h"

#include <nlohmann/json.hpp>

#include "cli/text/json_line.h"
#include "support/make_message.h"
#include "support/test.h"

namespace retryq::cli::message_text_test {

const absl::Time kNow = absl::FromUnixMillis(1'700'000'700'000);

amqp::MessagePtr Parked() {
  return MakeMessage(
      {.body = "12345",
       .headers = amqp::Table{{"x-retry-count", std::int64_t{8}},
                              {"x-retry-first-failure", std::int64_t{1'700'000'000'123}},
                              {"x-retry-parked", std::int64_t{1'700'000'600'456}},
                              {"x-retry-error", "no\tpaper"},
                              {"x-retry-queue", "orders"},
                              {"x-retry-exchange", "shop"},
                              {"x-retry-routing-key", "order.placed"},
                              {"x-retry-id", "5f0c"}}});
}

TEST(MessageTable, FitsIntoEightyColumns) {
  const auto long_error = MakeMessage(
      {.headers = testing::Copied({{"x-retry-error", std::string(300, 'e')},
                                   {"x-retry-id", "0123456789abcdef0123456789abcdef"}})});
  const std::string table = MessageTable(MessageTableHead(false, {}),
                                         {MessageTableRow(*Parked(), nullptr, {}, kNow),
                                          MessageTableRow(*long_error, nullptr, {}, kNow)},
                                         80);
  EXPECT_EQ(table,
            "parked (UTC)    attempt  id                                error\n"
            "11-14 22:23:20  8        5f0c                              no\\u{9}paper\n"
            "-               0        0123456789abcdef0123456789abcdef  eeeeeeeeeeeeeeeeee...\n");
}

TEST(MessageTable, ShowsTheYearOfOldMessages) {
  EXPECT_THAT(MessageTableRow(*Parked(), nullptr, {}, kNow + absl::Hours(24 * 200)),
              ::testing::StartsWith("2023-11-14\t"));
}

TEST(CountsText, HasNumbersOfAttempts) {
  EXPECT_EQ(CountsText({{"1", 1}, {"", 2}}, "attempt", true),
            "{\"count\":2}\n{\"count\":1,\"attempt\":1}\n");
}

std::string Body(std::string_view body, BodyFormat format = BodyFormat::kAuto,
                 std::size_t max = std::numeric_limits<std::size_t>::max()) {
  const auto text = MessageText(*MakeMessage({.body = body}), nullptr, format, max);
  return text.ok() ? *text : std::string(text.status().message());
}

TEST(MessageText, ShowsABodyInTheRequestedFormat) {
  EXPECT_THAT(Body("{}", BodyFormat::kText), HasSubstr("2 bytes, text\n\n{}\n"));
  EXPECT_THAT(Body("\x1b\xff", BodyFormat::kText), HasSubstr("\\u{1B}\\xFF\n"));
  EXPECT_THAT(Body("0123456789abcde\n!", BodyFormat::kHex),
              HasSubstr("00000000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 0a  "
                        "0123456789abcde.\n"
                        "00000010  21                                               !\n"));
  EXPECT_EQ(Body("{}\x01", BodyFormat::kRaw), "{}\x01");
  EXPECT_THAT(Body("{", BodyFormat::kJson), HasSubstr("the body is not JSON"));
}

TEST(MessageText, CutsALongBodyBetweenCharacters) {
  EXPECT_THAT(
      Body("abc\xc3\xa4"
           "d",
           BodyFormat::kAuto, 4),
      HasSubstr("6 bytes, text\n\nabc\n\nThe body is cut after 4 bytes; --full shows all."));
  EXPECT_THAT(Body("[1,2,3]", BodyFormat::kAuto, 4), HasSubstr("JSON\n\n[\n  \n\nThe body is cut"));
  EXPECT_THAT(Body("\x01\x02\x03", BodyFormat::kHex, 2),
              AllOf(HasSubstr("00000000  01 02 "), Not(HasSubstr("03"))));
  EXPECT_THAT(Body("abcd", BodyFormat::kAuto, 4), Not(HasSubstr("is cut")));
}

TEST(MessageText, ShowsWhereAMessageWasDeadLettered) {
  const amqp::Table death = {{"count", std::int64_t{3}}, {"queue", "orders"}};
  const auto message =
      MakeMessage({.headers = amqp::Table{{"tenant", "blue"}, {"x-death", amqp::Array{death}}}});
  EXPECT_THAT(*MessageText(*message, nullptr, BodyFormat::kAuto, 100),
              HasSubstr("headers           {\"tenant\":\"blue\"}\n"
                        "x-death           [{\"count\":3,\"queue\":\"orders\"}]\n"));
  const auto json = nlohmann::json::parse(MessageJson(*message, nullptr));
  EXPECT_EQ(json.at("x_death").at(0).at("queue"), "orders");
  EXPECT_FALSE(json.at("headers").contains("x-death"));
  EXPECT_FALSE(nlohmann::json::parse(MessageJson(*MakeMessage(), nullptr)).contains("x_death"));
}

TEST(MessageText, OmitsHeadersThatNestTooDeeply) {
  const std::string deep = NestedTableBytes(900);
  std::string death = "\x07x-deathF";
  for (int shift = 24; shift >= 0; shift -= 8) {
    death.push_back(static_cast<char>(deep.size() >> shift & 0xFF));
  }
  death += deep;
  for (const std::string& bytes : {deep, death}) {
    const auto message = MakeMessage({.properties = {.headers = amqp::TableView(bytes)}});
    EXPECT_THAT(*MessageText(*message, nullptr, BodyFormat::kAuto, 100),
                HasSubstr("retryq-omitted"));
    EXPECT_THAT(MessageJson(*message, nullptr), HasSubstr("retryq-omitted"));
    EXPECT_EQ(SendLine(*message, "q"), std::nullopt);
  }
}

TEST(SendLine, HasAllPropertiesAndHeadersExceptThoseOfTheBroker) {
  const auto message = MakeMessage({.body = "b\xff",
                                    .properties = {.content_type = "text/x",
                                                   .delivery_mode = 2,
                                                   .priority = 3,
                                                   .correlation_id = "c",
                                                   .expiration = "5000",
                                                   .message_id = "m",
                                                   .timestamp = 7,
                                                   .user_id = "guest",
                                                   .cluster_id = "x"},
                                    .headers = amqp::Table{{"small", std::int16_t{7}},
                                                           {"x-retry-count", "twice"},
                                                           {"x-delivery-count", std::int64_t{9}}}});
  EXPECT_EQ(SendLine(*message, "orders.parked"),
            R"({"id":"m","queue":"orders.parked","content_type":"text/x","priority":3,)"
            R"("correlation_id":"c","expiration":"5000","message_id":"m","timestamp":7,)"
            R"("user_id":"guest","headers":{"small":7,"x-retry-count":"twice"},)"
            R"("body_base64":"Yv8="})"
            "\n");
  EXPECT_EQ(SendLine(*MakeMessage({.body = "b"}), "q"),
            R"({"queue":"q","transient":true,"body":"b"})"
            "\n");
}

TEST(SendLine, FitsUnlessATextIsNotUtf8OrAHeaderIsTooDeepOrTwice) {
  const auto fits = [](const amqp::MessagePtr& message) {
    return SendLine(*message, "q").has_value();
  };
  EXPECT_TRUE(fits(MakeMessage({.body = "\xff"})));
  EXPECT_TRUE(fits(MakeMessage(
      {.properties = {.timestamp = std::numeric_limits<std::int64_t>::max()},
       .headers = amqp::Table{{"bytes", amqp::Bytes{"\xff"}},
                              {"list", amqp::Array{"a", amqp::Table{{"b", std::int64_t{1}}}}}}})));
  EXPECT_FALSE(fits(MakeMessage({.properties = {.correlation_id = "\xff"}})));
  EXPECT_FALSE(
      fits(MakeMessage({.properties = {.timestamp = std::numeric_limits<std::uint64_t>::max()}})));
  for (const amqp::Table& headers :
       {amqp::Table{{"a", "\xff"}}, amqp::Table{{"\xff", "a"}},
        amqp::Table{{"a", amqp::Array{amqp::Table{{"b", "\xff"}}}}},
        amqp::Table{{"a", std::string((std::size_t{1} << 20) + 1, 'x')}},
        amqp::Table{{"a", "1"}, {"a", "2"}}, amqp::Table{{"t", amqp::Table{{"a", 1}, {"a", 2}}}}}) {
    EXPECT_FALSE(fits(MakeMessage({.headers = headers})));
  }
}

TEST(JsonLayout, KeepsEveryToken) {
  EXPECT_EQ(LayOutJson(R"( {"b":1.10, "a" :["x, {\"}",[ ],{}, 12345678901234567890]} )"),
            "{\n  \"b\": 1.10,\n  \"a\": [\n    \"x, {\\\"}\",\n    [],\n    {},\n"
            "    12345678901234567890\n  ]\n}");
  EXPECT_EQ(LayOutJson("7"), "7");
}

TEST(JsonLayout, HandlesAnyDepthAndTextThatIsNotJson) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_LT(LayOutJson(deep).size(), 20'000'000U);
  for (const char* text : {"\"", "\"\\", "]]}", "{", ",:"}) {
    EXPECT_FALSE(LayOutJson(text).empty());
  }
}

TEST(MessageFilter, MatchesAMessageWithoutMessageIdByItsCorrelationId) {
  const MessageFilter filter = {.ids = {"task"}};
  const amqp::Table ours = testing::Copied({{"x-retry-id", "ours"}});
  EXPECT_TRUE(filter.Matches(
      *MakeMessage({.properties = {.correlation_id = "task"}, .headers = ours}), kNow));
  EXPECT_FALSE(filter.Matches(
      *MakeMessage({.properties = {.correlation_id = "task", .message_id = "m"}, .headers = ours}),
      kNow));
}

TEST(MessageFilter, CountsAgeFromTheTimeOfParkingIfItIsKnown) {
  const auto message =
      MakeMessage({.headers = testing::Copied(
                       {{"x-retry-first-failure", absl::ToUnixMillis(kNow - absl::Hours(30))},
                        {"x-retry-parked", absl::ToUnixMillis(kNow - absl::Minutes(1))}})});
  EXPECT_FALSE((MessageFilter{.older_than = absl::Hours(1)}).Matches(*message, kNow));
  EXPECT_TRUE((MessageFilter{.newer_than = absl::Hours(1)}).Matches(*message, kNow));
}

TEST(MessageFilter, MatchesNoAgeOfAMessageWithoutATime) {
  const auto message =
      MakeMessage({.headers = testing::Copied({{"x-retry-first-failure", "then"}})});
  EXPECT_FALSE((MessageFilter{.older_than = absl::ZeroDuration()}).Matches(*message, kNow));
  EXPECT_FALSE((MessageFilter{.newer_than = absl::Hours(1)}).Matches(*message, kNow));
}

}  // namespace retryq::cli::message_text_test
