#include "cli/worker/event_line.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "support/make_message.h"

namespace retryq::cli {
namespace event_line_test {

Event Retried() {
  return {.kind = EventKind::kRetried,
          .time = absl::FromUnixMillis(1'700'000'000'123),
          .queue = "orders",
          .attempt = 2,
          .delay = absl::Seconds(4),
          .delay_queue = "retry.4000",
          .id = "6f1d",
          .error = "exit 3: no such customer"};
}

TEST(JsonLine, HasTheKeysOfTheContract) {
  EXPECT_EQ(
      JsonLine(Severity::kInfo, "retried", Retried()),
      R"({"time":"2023-11-14T22:13:20.123Z","level":"info","event":"retried","queue":"orders","attempt":2,)"
      R"("delay_ms":4000,"delay_queue":"retry.4000","id":"6f1d","error":"exit 3: no such customer"})");
}

TEST(JsonLine, LeavesOutWhatIsNotSet) {
  EXPECT_EQ(JsonLine(Severity::kInfo, "connected",
                     {.kind = EventKind::kConnected, .time = absl::UnixEpoch()}),
            R"({"time":"1970-01-01T00:00:00.000Z","level":"info","event":"connected"})");
}

TEST(JsonLine, TellsTheFirstAttemptFromNone) {
  const Event first = {.kind = EventKind::kFailed, .time = absl::UnixEpoch(), .attempt = 0};
  EXPECT_EQ(nlohmann::json::parse(JsonLine(Severity::kInfo, "failed", first))["attempt"], 0);
}

TEST(JsonLine, IsOneLineOfUtf8WhateverTheError) {
  const Event event = {
      .kind = EventKind::kFailed, .time = absl::UnixEpoch(), .error = "a\n\"b\"\x1b[31m\xff\xc3"};
  const std::string line = JsonLine(Severity::kInfo, "failed", event);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(line)["error"], "a\n\"b\"\x1b[31m\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(JsonLine, HasTheFiguresThatAreKnown) {
  Event event = {.kind = EventKind::kUnconfirmed, .time = absl::UnixEpoch(), .cause = "nacked"};
  event.lateness = absl::Microseconds(2500);
  event.handling = absl::Seconds(3);
  event.confirmed_after = absl::Milliseconds(4);
  event.in_flight = 5;
  event.delay_queues = 6;
  const auto json = nlohmann::json::parse(
      JsonLine(Severity::kWarning, "x", event, {.url = "http://y", .repeated = 7}));
  EXPECT_EQ(json["level"], "warning");
  EXPECT_EQ(json["cause"], "nacked");
  EXPECT_EQ(json["late_ms"], 2.5);
  EXPECT_EQ(json["took_ms"], 3000);
  EXPECT_EQ(json["confirm_ms"], 4);
  EXPECT_EQ(json["in_flight"], 5);
  EXPECT_EQ(json["delay_queues"], 6);
  EXPECT_EQ(json["repeated"], 7);
  EXPECT_EQ(json["url"], "http://y");
}

TEST(JsonLine, HasTheTraceIdOfTheMessage) {
  const auto line_of = [](const char* traceparent) {
    const Delivery delivery(
        testing::MakeMessage({.headers = amqp::Table{{"traceparent", traceparent}}}),
        std::make_shared<const std::string>("orders"), {});
    Event event = Retried();
    event.delivery = &delivery;
    return nlohmann::json::parse(JsonLine(Severity::kInfo, "retried", event));
  };
  EXPECT_EQ(line_of("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")["trace_id"],
            "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_FALSE(line_of("00-4bf92f35-00f067aa0ba902b7-01").contains("trace_id"));
}

TEST(JsonLine, HasTheTraceIdOfAMessageThatIsGone) {
  EXPECT_EQ(nlohmann::json::parse(
                JsonLine(Severity::kInfo, "held", Retried(), {.trace_id = "4bf9"}))["trace_id"],
            "4bf9");
}

TEST(TextLine, SaysHowLateAndHowLong) {
  Event event = {.kind = EventKind::kFailed, .time = absl::UnixEpoch()};
  event.lateness = absl::Microseconds(1500);
  event.handling = absl::Seconds(3);
  EXPECT_EQ(TextLine(Severity::kError, "x", event),
            "1970-01-01T00:00:00.000Z error x late=2ms took=3s");
}

TEST(TextLine, ReadsAsASentenceOfFields) {
  EXPECT_EQ(TextLine(Severity::kInfo, "retried", Retried()),
            "2023-11-14T22:13:20.123Z info retried queue=orders attempt=2 delay=4s "
            "delay_queue=retry.4000 id=6f1d error=\"exit 3: no such customer\"");
}

TEST(TextLine, KeepsControlCharactersFromTheTerminal) {
  const Event event = {.kind = EventKind::kFailed,
                       .time = absl::UnixEpoch(),
                       .id = "x\x1b]0;\x7f",
                       .error = "one\ntwo\xC2\x9B\xE2\x80\xAE"};
  const std::string line = TextLine(Severity::kInfo, "failed", event);
  EXPECT_EQ(
      line,
      R"(1970-01-01T00:00:00.000Z info failed id="x\u001b]0;\u007f" error="one\ntwo\u009b\u202e")");
}

TEST(EventLine, IsLimitedInLength) {
  const std::string long_text(100'000, 'x');
  Event event = Retried();
  event.queue = event.delay_queue = event.id = event.error = event.cause = long_text;
  EXPECT_LT(JsonLine(Severity::kInfo, "retried", event).size(), 6 * kLongestText);
  EXPECT_LT(TextLine(Severity::kInfo, "retried", event).size(), 6 * kLongestText);
}

TEST(EventLine, CutsNoCharacterInTwo) {
  Event event = Retried();
  const std::string text(kLongestText - 1, 'x');
  const std::string whole = text + "ä and more";
  event.error = whole;
  EXPECT_EQ(nlohmann::json::parse(JsonLine(Severity::kInfo, "retried", event))["error"],
            text + "…");
}

TEST(TextLine, HasTheNumberOfThoseThatWereNotLogged) {
  const Event event = {.kind = EventKind::kHeld, .time = absl::UnixEpoch()};
  EXPECT_EQ(TextLine(Severity::kError, "held", event, {.repeated = 13}),
            "1970-01-01T00:00:00.000Z error held repeated=13");
}

}  // namespace event_line_test
}  // namespace retryq::cli
