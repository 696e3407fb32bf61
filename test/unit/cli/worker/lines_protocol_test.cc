#include <nlohmann/json.hpp>

#include "cli/worker/command_pool.h"
#include "support/make_message.h"
#include "support/test.h"

namespace retryq::cli::lines_protocol_test {

using Json = nlohmann::json;
using Kind = Outcome::Kind;
using retryq::testing::MessageParts;

Json Line(const MessageParts& parts, const Delivery::History& history = {}) {
  const Delivery delivery(MakeMessage(parts), std::make_shared<const std::string>("orders"),
                          history);
  const std::string line = LineFor(7, delivery, 9);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  return Json::parse(line);
}

TEST(LinesProtocol, DescribesTheMessage) {
  EXPECT_EQ(
      Line({.body = "two\nlines \"quoted\"",
            .properties = {.content_type = "text/plain",
                           .content_encoding = "gzip",
                           .priority = 3,
                           .correlation_id = "c",
                           .reply_to = "answers",
                           .expiration = "30000",
                           .message_id = "m",
                           .timestamp = 1'700'000'000,
                           .type = "order",
                           .app_id = "shop"},
            .headers = testing::Copied({{"tenant", "blue"},
                                        {"traceparent", "00-1-2-01"},
                                        {"tracestate", "a=b"},
                                        {"x-retry-count", std::int64_t{2}}})},
           {.failures = 2,
            .last_error = "before",
            .id = "r-1",
            .exchange = "shop",
            .routing_key = "order.placed"}),
      Json({{"id", 7},
            {"attempt", 2},
            {"max_attempts", 9},
            {"last_error", "before"},
            {"retry_id", "r-1"},
            {"queue", "orders"},
            {"exchange", "shop"},
            {"routing_key", "order.placed"},
            {"message_id", "m"},
            {"correlation_id", "c"},
            {"content_type", "text/plain"},
            {"content_encoding", "gzip"},
            {"reply_to", "answers"},
            {"type", "order"},
            {"app_id", "shop"},
            {"expiration", "30000"},
            {"priority", 3},
            {"timestamp", 1'700'000'000},
            {"redelivered", false},
            {"traceparent", "00-1-2-01"},
            {"tracestate", "a=b"},
            {"headers", {{"tenant", "blue"}, {"traceparent", "00-1-2-01"}, {"tracestate", "a=b"}}},
            {"body", "two\nlines \"quoted\""}}));
}

TEST(LinesProtocol, EncodesABodyThatIsNotUtf8InBase64) {
  const Json line = Line({.body = "\xff\x01", .properties = {.message_id = "caf\xe9"}});
  EXPECT_EQ(line.at("body_base64"), "/wE=");
  EXPECT_FALSE(line.contains("body"));
  EXPECT_EQ(line.at("message_id"), "caf\xEF\xBF\xBD");
}

LinesAnswer Read(std::string_view line) {
  const auto answer = ParseAnswer(line);
  EXPECT_TRUE(answer.ok()) << line << answer.status();
  return answer.value_or(LinesAnswer());
}

TEST(LinesProtocol, ReadsEachAnswer) {
  EXPECT_EQ(Read(R"({"id":7,"ok":true})").id, 7U);
  EXPECT_TRUE(Read(R"({"id":7,"ok":true})").outcome.status().ok());

  const Outcome failed = Read(R"( {"error":"busy","id":18446744073709551615} )").outcome;
  EXPECT_EQ(failed.kind(), Kind::kByStatus);
  EXPECT_EQ(failed.status(), absl::UnknownError("busy"));

  for (const char* line : {R"({"id":7,"error":"busy","retry_after":"1m30s"})",
                           R"({"id":7,"error":"busy","retry_after":90})",
                           R"({"id":7,"error":"busy","retry_after":90.0})"}) {
    const Outcome later = Read(line).outcome;
    EXPECT_EQ(later.kind(), Kind::kRetryAfter);
    EXPECT_EQ(later.delay(), absl::Seconds(90));
    EXPECT_EQ(later.status(), absl::UnknownError("busy"));
  }

  const Outcome parked = Read(R"({"id":7,"park":"no such customer"})").outcome;
  EXPECT_EQ(parked.kind(), Kind::kPark);
  EXPECT_EQ(parked.status(), absl::UnknownError("no such customer"));

  const Outcome discarded = Read(R"({"id":7,"discard":"too late"})").outcome;
  EXPECT_EQ(discarded.kind(), Kind::kDiscard);
  EXPECT_EQ(discarded.status(), absl::UnknownError("too late"));

  const Outcome snoozed = Read(R"({"id":7,"snooze":"30s","reason":"closed"})").outcome;
  EXPECT_EQ(snoozed.kind(), Kind::kSnooze);
  EXPECT_EQ(snoozed.delay(), absl::Seconds(30));
  EXPECT_EQ(snoozed.status().message(), "closed");
  EXPECT_EQ(Read(R"({"snooze":5,"id":7})").outcome.delay(), absl::Seconds(5));
}

TEST(LinesProtocol, IgnoresUnknownFields) {
  const LinesAnswer answer = Read(R"({"id":7,"error":"e","retry-after":"30s"})");
  EXPECT_EQ(answer.outcome.kind(), Kind::kByStatus);
  EXPECT_EQ(answer.ignored, "retry-after");
  EXPECT_EQ(Read(R"({"id":7,"ok":true})").ignored, "");
  EXPECT_TRUE(Read(R"({"id":7,"ok":true,"extra":{"deep":[1]}})").outcome.status().ok());
  EXPECT_THAT(IgnoredFieldWarning("a\x1b[2J"),
              AllOf(HasSubstr("retry_after"), Not(HasSubstr("\x1b"))));
}

TEST(LinesProtocol, RefusesOtherLinesWithTheReason) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "it is not JSON; write only answers to stdout"},
      {"hello", "it is not JSON; write only answers to stdout"},
      {R"({"id":7,"ok":true)", "it is not JSON"},
      {R"({"id":7}{"id":8})", "it is not JSON"},
      {"[]", "it is not a JSON object; write only answers to stdout"},
      {"7", "it is not a JSON object"},
      {std::string(100'000, '['), "it is JSON that nests deeper than 100 levels"},
      {R"({"id":7,"error":"\ud83d"})", "not JSON: it has a lone surrogate"},
      {"{\"id\":7,\"error\":\"\xed\xa0\xbd\"}", "not JSON: it is not UTF-8"},
      {R"({"ok":true})", "it has no \"id\""},
      {R"({"id":"7","ok":true})", "\"id\" must be the number of a message"},
      {R"({"id":-7,"ok":true})", "\"id\" must be"},
      {R"({"id":7.5,"ok":true})", "\"id\" must be"},
      {R"({"id":null,"ok":true})", "\"id\" must be"},
      {R"({"id":7,"ok":false})", "\"ok\" must be true"},
      {R"({"id":7})", "exactly one of"},
      {R"({"id":7,"okay":true})", "exactly one of"},
      {R"({"id":7,"ok":true,"error":"e"})", "exactly one of"},
      {R"({"id":7,"error":"e","park":"p"})", "exactly one of"},
      {R"({"id":7,"discard":"d","park":"p"})", "exactly one of"},
      {R"({"id":7,"snooze":"5s","ok":true})", "exactly one of"},
      {R"({"id":7,"error":5})", "\"error\" must be a string"},
      {R"({"id":7,"park":true})", "\"park\" must be a string"},
      {R"({"id":7,"discard":1})", "\"discard\" must be a string"},
      {R"({"id":7,"error":"e","retry_after":"soon"})", "\"retry_after\" must be a duration"},
      {R"({"id":7,"error":"e","retry_after":-1})", "must be a duration"},
      {R"({"id":7,"error":"e","retry_after":1e300})", "must be a duration"},
      {R"({"id":7,"error":"e","retry_after":null})", "must be a duration"},
      {R"({"id":7,"error":"e","retry_after":"30"})", "must be a duration"},
      {R"({"id":7,"snooze":"soon"})", "\"snooze\" must be a duration"},
      {R"({"id":7,"ok":true,"retry_after":3})", "\"retry_after\" requires \"error\""},
      {R"({"id":7,"reason":"r","park":"p"})", "\"reason\" requires \"snooze\""}};
  for (const auto& [line, why] : cases) {
    const absl::Status status = ParseAnswer(line).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << line;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why)) << line;
  }
}

}  // namespace retryq::cli::lines_protocol_test
