#include "cli/event_line.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace retryq::cli {
namespace {

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
      JsonLine("retried", Retried()),
      R"({"time":"2023-11-14T22:13:20.123Z","event":"retried","queue":"orders","attempt":2,)"
      R"("delay_ms":4000,"delay_queue":"retry.4000","id":"6f1d","error":"exit 3: no such customer"})");
}

TEST(JsonLine, LeavesOutWhatIsNotSet) {
  EXPECT_EQ(JsonLine("connected", {.kind = EventKind::kConnected, .time = absl::UnixEpoch()}),
            R"({"time":"1970-01-01T00:00:00.000Z","event":"connected"})");
}

TEST(JsonLine, TellsTheFirstAttemptFromNone) {
  const Event first = {.kind = EventKind::kFailed, .time = absl::UnixEpoch(), .attempt = 0};
  EXPECT_EQ(nlohmann::json::parse(JsonLine("failed", first))["attempt"], 0);
}

TEST(JsonLine, IsOneLineOfUtf8WhateverTheError) {
  const Event event = {
      .kind = EventKind::kFailed, .time = absl::UnixEpoch(), .error = "a\n\"b\"\x1b[31m\xff\xc3"};
  const std::string line = JsonLine("failed", event);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(line)["error"], "a\n\"b\"\x1b[31m\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(TextLine, ReadsAsASentenceOfFields) {
  EXPECT_EQ(TextLine("retried", Retried()),
            "2023-11-14T22:13:20.123Z retried queue=orders attempt=2 delay=4s "
            "delay_queue=retry.4000 id=6f1d error=\"exit 3: no such customer\"");
}

TEST(TextLine, KeepsControlCharactersFromTheTerminal) {
  const Event event = {
      .kind = EventKind::kFailed, .time = absl::UnixEpoch(), .id = "x\x1b]0;", .error = "one\ntwo"};
  const std::string line = TextLine("failed", event);
  EXPECT_EQ(line, R"(1970-01-01T00:00:00.000Z failed id="x\u001b]0;" error="one\ntwo")");
}

}  // namespace
}  // namespace retryq::cli
