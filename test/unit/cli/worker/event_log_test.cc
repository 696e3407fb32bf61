#include "cli/worker/event_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/text/io.h"
#include "retryq/testing/simulated_time.h"

namespace retryq::cli {
namespace event_log_test {

class EventLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PrepareProcess();
    std::array<int, 2> ends;
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    read_end_ = FileDescriptor(ends[0]);
    write_end_ = FileDescriptor(ends[1]);
    outlet_.emplace(Outlet::Options{.fd = write_end_.get()});
  }

  // Ends the log.
  std::string Written() {
    outlet_.reset();
    write_end_.Close();
    return ReadAll(read_end_.get()).value();
  }

  static Event At(EventKind kind) { return {.kind = kind, .time = absl::UnixEpoch()}; }

  testing::SimulatedTime time_;
  FileDescriptor read_end_;
  FileDescriptor write_end_;
  std::optional<Outlet> outlet_;
};

TEST_F(EventLogTest, WritesALineForEachEvent) {
  EventLog log(time_, *outlet_, {.format = EventLog::Format::kJson, .from = Severity::kDebug});
  log.OnEvent(At(EventKind::kConnected));
  log.OnEvent(At(EventKind::kHandled));
  EXPECT_EQ(Written(),
            "{\"time\":\"1970-01-01T00:00:00.000Z\",\"level\":\"info\",\"event\":\"connected\"}\n"
            "{\"time\":\"1970-01-01T00:00:00.000Z\",\"level\":\"debug\",\"event\":\"acked\"}\n");
}

TEST_F(EventLogTest, LeavesOutWhatMattersTooLittle) {
  EventLog log(time_, *outlet_, {});
  log.OnEvent(At(EventKind::kHandled));
  log.OnEvent(At(EventKind::kRenewed));
  log.OnEvent(At(EventKind::kParked));
  EXPECT_EQ(Written(), "1970-01-01T00:00:00.000Z warning parked\n");
}

TEST_F(EventLogTest, KeepsRoutineIfAskedTo) {
  EventLog log(time_, *outlet_, {.from = Severity::kDebug});
  log.OnEvent(At(EventKind::kHandled));
  EXPECT_EQ(Written(), "1970-01-01T00:00:00.000Z debug acked\n");
}

TEST_F(EventLogTest, HasWordsOfItsOwn) {
  EventLog log(time_, *outlet_, {.format = EventLog::Format::kJson});
  log.Say(Severity::kError, "paused", "orders", "why");
  const auto json = nlohmann::json::parse(Written());
  EXPECT_EQ(json["level"], "error");
  EXPECT_EQ(json["event"], "paused");
  EXPECT_EQ(json["queue"], "orders");
  EXPECT_EQ(json["error"], "why");
  EXPECT_FALSE(json.contains("id"));
}

TEST_F(EventLogTest, SaysHowManyLinesAreMissing) {
  const auto json =
      nlohmann::json::parse(EventLog::DroppedLine(EventLog::Format::kJson, /*lines=*/7));
  EXPECT_EQ(json["event"], "log_dropped");
  EXPECT_EQ(json["error"], "7 lines of this log could not be written and were dropped");
}

TEST_F(EventLogTest, LogsATroubleThatRepeatsOnceAMinuteWithACount) {
  {
    EventLog log(time_, *outlet_, {});
    for (int i = 0; i < 100; ++i) log.Say(Severity::kError, "held", "orders", "no way");
    time_.Advance(absl::Seconds(90));
  }
  const std::string written = Written();
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 2) << written;
  EXPECT_NE(written.find("repeated=99"), std::string::npos) << written;
}

}  // namespace event_log_test
}  // namespace retryq::cli
