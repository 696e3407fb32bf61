#include "cli/worker/event_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/text/io.h"

namespace retryq::cli {
namespace {

class EventLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PrepareProcess();
    std::array<int, 2> ends;
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    read_end_ = FileDescriptor(ends[0]);
    write_end_ = FileDescriptor(ends[1]);
  }

  // Ends the log.
  std::string Written() {
    write_end_.Close();
    return ReadAll(read_end_.get()).value();
  }

  static Event At(EventKind kind) { return {.kind = kind, .time = absl::UnixEpoch()}; }

  FileDescriptor read_end_;
  FileDescriptor write_end_;
};

TEST_F(EventLogTest, WritesALineForEachEvent) {
  EventLog log(
      {.fd = write_end_.get(), .format = EventLog::Format::kJson, .from = Severity::kDebug});
  log.OnEvent(At(EventKind::kConnected));
  log.OnEvent(At(EventKind::kHandled));
  EXPECT_EQ(Written(),
            "{\"time\":\"1970-01-01T00:00:00.000Z\",\"level\":\"info\",\"event\":\"connected\"}\n"
            "{\"time\":\"1970-01-01T00:00:00.000Z\",\"level\":\"debug\",\"event\":\"acked\"}\n");
}

TEST_F(EventLogTest, LeavesOutWhatMattersTooLittle) {
  EventLog log({.fd = write_end_.get()});
  log.OnEvent(At(EventKind::kHandled));
  log.OnEvent(At(EventKind::kRenewed));
  log.OnEvent(At(EventKind::kParked));
  EXPECT_EQ(Written(), "1970-01-01T00:00:00.000Z warning parked\n");
}

TEST_F(EventLogTest, KeepsRoutineIfAskedTo) {
  EventLog log({.fd = write_end_.get(), .from = Severity::kDebug});
  log.OnEvent(At(EventKind::kHandled));
  EXPECT_EQ(Written(), "1970-01-01T00:00:00.000Z debug acked\n");
}

TEST_F(EventLogTest, HasWordsOfItsOwn) {
  EventLog log({.fd = write_end_.get(), .format = EventLog::Format::kJson});
  log.Say(Severity::kError, "paused", "orders", "why");
  const auto json = nlohmann::json::parse(Written());
  EXPECT_EQ(json["level"], "error");
  EXPECT_EQ(json["event"], "paused");
  EXPECT_EQ(json["queue"], "orders");
  EXPECT_EQ(json["error"], "why");
  EXPECT_FALSE(json.contains("id"));
}

TEST_F(EventLogTest, SurvivesAReaderThatGoesAway) {
  EventLog log({.fd = write_end_.get()});
  read_end_.Close();
  log.OnEvent(At(EventKind::kParked));
  log.OnEvent(At(EventKind::kParked));
}

}  // namespace
}  // namespace retryq::cli
