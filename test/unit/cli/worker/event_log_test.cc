#include "cli/worker/event_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/text/io.h"
#include "cli/worker/spawn.h"
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
  }

  // Ends the log.
  std::string Written() {
    write_end_.Close();
    return ReadAll(read_end_.get()).value();
  }

  static Event At(EventKind kind) { return {.kind = kind, .time = absl::UnixEpoch()}; }

  testing::SimulatedTime time_;
  FileDescriptor read_end_;
  FileDescriptor write_end_;
};

TEST_F(EventLogTest, WritesALineForEachEvent) {
  EventLog log(
      time_, {.fd = write_end_.get(), .format = EventLog::Format::kJson, .from = Severity::kDebug});
  log.OnEvent(At(EventKind::kConnected));
  log.OnEvent(At(EventKind::kHandled));
  EXPECT_EQ(Written(),
            "{\"time\":\"1970-01-01T00:00:00.000Z\",\"level\":\"info\",\"event\":\"connected\"}\n"
            "{\"time\":\"1970-01-01T00:00:00.000Z\",\"level\":\"debug\",\"event\":\"acked\"}\n");
}

TEST_F(EventLogTest, LeavesOutWhatMattersTooLittle) {
  EventLog log(time_, {.fd = write_end_.get()});
  log.OnEvent(At(EventKind::kHandled));
  log.OnEvent(At(EventKind::kRenewed));
  log.OnEvent(At(EventKind::kParked));
  EXPECT_EQ(Written(), "1970-01-01T00:00:00.000Z warning parked\n");
}

TEST_F(EventLogTest, KeepsRoutineIfAskedTo) {
  EventLog log(time_, {.fd = write_end_.get(), .from = Severity::kDebug});
  log.OnEvent(At(EventKind::kHandled));
  EXPECT_EQ(Written(), "1970-01-01T00:00:00.000Z debug acked\n");
}

TEST_F(EventLogTest, HasWordsOfItsOwn) {
  EventLog log(time_, {.fd = write_end_.get(), .format = EventLog::Format::kJson});
  log.Say(Severity::kError, "paused", "orders", "why");
  const auto json = nlohmann::json::parse(Written());
  EXPECT_EQ(json["level"], "error");
  EXPECT_EQ(json["event"], "paused");
  EXPECT_EQ(json["queue"], "orders");
  EXPECT_EQ(json["error"], "why");
  EXPECT_FALSE(json.contains("id"));
}

// The first lines that fit are there whole, then those since it reads again, and a word between.
TEST_F(EventLogTest, DropsLinesWhileNobodyReads) {
  EventLog log(time_, {.fd = write_end_.get(),
                       .format = EventLog::Format::kJson,
                       .from = Severity::kDebug,
                       .patience = absl::ZeroDuration()});
  const std::string long_text(10'000, 'x');
  constexpr int kLines = 1000;
  for (int i = 0; i < kLines; ++i) log.Say(Severity::kInfo, "first", "orders", long_text);
  const std::size_t dropped = log.dropped();
  EXPECT_GT(dropped, 900U);
  std::string read(200'000, '\0');
  const ssize_t size = ::read(read_end_.get(), read.data(), read.size());
  ASSERT_GT(size, 0);
  read.resize(static_cast<std::size_t>(size));
  log.Say(Severity::kInfo, "second", "orders", "");
  EXPECT_EQ(log.dropped(), 0U);
  read += Written();
  int first = 0;
  int second = 0;
  std::string said;
  for (std::size_t at = 0; at < read.size(); at = read.find('\n', at) + 1) {
    const auto line = nlohmann::json::parse(read.substr(at, read.find('\n', at) - at));
    first += line.at("event") == "first";
    second += line.at("event") == "second";
    if (line.at("event") == "log_dropped") said = line.at("error");
  }
  EXPECT_EQ(static_cast<std::size_t>(first) + dropped, static_cast<std::size_t>(kLines));
  EXPECT_EQ(second, 1);
  EXPECT_EQ(said,
            std::to_string(dropped) + " lines of this log could not be written and were dropped");
}

TEST_F(EventLogTest, SaysAtMostOnceAMinuteThatTheDiskIsFull) {
  const FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full.is_open());
  EventLog log(time_, {.fd = full.get(), .from = Severity::kDebug});
  for (int i = 0; i < 100; ++i) log.OnEvent(At(EventKind::kConnected));
  EXPECT_GE(log.dropped(), 100U);
  EXPECT_LE(log.dropped(), 102U);
}

TEST_F(EventLogTest, ComplainsElsewhereOnceAMinuteOfWhatCannotBeWritten) {
  const FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  EventLog log(time_, {.fd = full.get(), .complaints_fd = write_end_.get()});
  for (int i = 0; i < 100; ++i) log.OnEvent(At(EventKind::kConnected));
  EXPECT_EQ(Written(),
            "retryq work: cannot write to stdout: No space left on device; dropped lines of the "
            "log: 1\n");
}

TEST_F(EventLogTest, ComplainsElsewhereThatTheReaderHasGone) {
  Pipe log_pipe;
  ASSERT_EQ(OpenPipe(&log_pipe), 0);
  EventLog log(time_, {.fd = log_pipe.write_end.get(), .complaints_fd = write_end_.get()});
  log_pipe.read_end.Close();
  for (int i = 0; i < 3; ++i) log.OnEvent(At(EventKind::kParked));
  EXPECT_EQ(Written(),
            "retryq work: cannot write to stdout: Broken pipe; nothing more is logged\n");
}

TEST_F(EventLogTest, SurvivesAReaderThatGoesAway) {
  EventLog log(time_, {.fd = write_end_.get()});
  read_end_.Close();
  log.OnEvent(At(EventKind::kParked));
  log.OnEvent(At(EventKind::kParked));
}

TEST_F(EventLogTest, LogsATroubleThatRepeatsOnceAMinuteWithACount) {
  {
    EventLog log(time_, {.fd = write_end_.get()});
    for (int i = 0; i < 100; ++i) log.Say(Severity::kError, "held", "orders", "no way");
    time_.Advance(absl::Seconds(90));
  }
  const std::string written = Written();
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 2) << written;
  EXPECT_NE(written.find("repeated=99"), std::string::npos) << written;
}

}  // namespace event_log_test
}  // namespace retryq::cli
