#include "cli/worker/event_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "cli/text/io.h"
#include "retryq/testing/simulated_time.h"
#include "support/make_message.h"
#include "support/test.h"

namespace retryq::cli::event_log_test {

using Json = nlohmann::json;

constexpr char kTraceParent[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";

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

Delivery Traced(const std::string& traceparent) {
  return {testing::MakeMessage({.headers = amqp::Table{{"traceparent", traceparent}}}),
          std::make_shared<const std::string>("orders"),
          {}};
}

TEST(TraceId, IsTheSecondFieldOfAValidTraceparent) {
  EXPECT_EQ(TraceIdIn(kTraceParent), kTrace);
  // Later versions may have more fields.
  EXPECT_EQ(TraceIdIn("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"), kTrace);
  for (const char* malformed :
       {"", "-", "00-1-2-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
        "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "0g-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01"}) {
    EXPECT_EQ(TraceIdIn(malformed), "") << malformed;
  }
}

TEST(JsonLine, HasTheDocumentedFields) {
  EXPECT_EQ(
      JsonLine(Severity::kInfo, "retried", Retried()),
      R"({"time":"2023-11-14T22:13:20.123Z","level":"info","event":"retried","queue":"orders","attempt":2,)"
      R"("delay_ms":4000,"delay_queue":"retry.4000","id":"6f1d","error":"exit 3: no such customer"})");
  const Delivery delivery = Traced(kTraceParent);
  const Event event = {.kind = EventKind::kUnconfirmed,
                       .time = absl::UnixEpoch(),
                       .attempt = 0,
                       .cause = "nacked",
                       .lateness = absl::Microseconds(2500),
                       .handling = absl::Seconds(3),
                       .confirmed_after = absl::Milliseconds(4),
                       .in_flight = 5,
                       .delay_queues = 6,
                       .delivery = &delivery};
  EXPECT_EQ(
      Json::parse(JsonLine(Severity::kWarning, "x", event, {.url = "http://y", .repeated = 7})),
      Json({{"time", "1970-01-01T00:00:00.000Z"},
            {"level", "warning"},
            {"event", "x"},
            {"attempt", 0},
            {"trace_id", kTrace},
            {"cause", "nacked"},
            {"late_ms", 2.5},
            {"took_ms", 3000.0},
            {"confirm_ms", 4.0},
            {"in_flight", 5},
            {"delay_queues", 6},
            {"repeated", 7},
            {"url", "http://y"}}));
}

TEST(TextLine, HasTheFieldsThatAPersonReads) {
  EXPECT_EQ(TextLine(Severity::kInfo, "retried", Retried()),
            "2023-11-14T22:13:20.123Z info retried queue=orders attempt=2 delay=4s "
            "delay_queue=retry.4000 id=6f1d error=\"exit 3: no such customer\"");
  const Event event = {.kind = EventKind::kFailed,
                       .time = absl::UnixEpoch(),
                       .id = "x\x1b]0;\x7f",
                       .error = "one\ntwo\xC2\x9B\xE2\x80\xAE",
                       .lateness = absl::Microseconds(1500),
                       .handling = absl::Seconds(3)};
  EXPECT_EQ(
      TextLine(Severity::kError, "x", event, {.repeated = 13}),
      R"(1970-01-01T00:00:00.000Z error x id="x\u001b]0;\u007f" error="one\ntwo\u009b\u202e" )"
      R"(late=2ms took=3s repeated=13)");
}

TEST(EventLine, IsCutBetweenCharacters) {
  const std::string long_text(100'000, 'x');
  Event event = Retried();
  event.queue = event.delay_queue = event.id = event.error = event.cause = long_text;
  EXPECT_LT(JsonLine(Severity::kInfo, "retried", event).size(), 6 * kLongestText);
  EXPECT_LT(TextLine(Severity::kInfo, "retried", event).size(), 6 * kLongestText);
  const std::string text(kLongestText - 1, 'x');
  const std::string whole = text + "ä and more";
  event.error = whole;
  EXPECT_EQ(Json::parse(JsonLine(Severity::kInfo, "retried", event))["error"], text + "…");
}

class EventLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PrepareProcess();
    std::array<int, 2> ends;
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    read_end_ = FileDescriptor(ends[0]);
    write_end_ = FileDescriptor(ends[1]);
    outlet_.emplace(Outlet::Options{.fd = write_end_.get()});
    log_.emplace(time_, *outlet_,
                 EventLog::Options{.format = EventLog::Format::kJson, .from = Severity::kInfo});
  }

  void Happens(EventKind kind, std::string_view error = "", std::string_view queue = "orders") {
    log_->OnEvent({.kind = kind, .time = absl::UnixEpoch(), .queue = queue, .error = error});
  }
  void Says(Severity severity, std::string_view name) {
    log_->Say(severity, name, {.kind = {}, .time = {}, .queue = "orders"});
  }

  // Ends the log. Returns "event error xREPEATED" of each line.
  std::vector<std::string> Written() {
    log_.reset();
    outlet_.reset();
    write_end_.Close();
    std::vector<std::string> written;
    for (const std::string& line :
         std::vector<std::string>(absl::StrSplit(ReadAll(read_end_.get()).value(), '\n'))) {
      if (line.empty()) continue;
      lines_.push_back(Json::parse(line));
      const Json& json = lines_.back();
      std::string text = json.at("event");
      if (json.contains("error")) text += " " + json.at("error").get<std::string>();
      if (json.contains("repeated")) absl::StrAppend(&text, " x", json.at("repeated").get<int>());
      written.push_back(text);
    }
    return written;
  }

  testing::SimulatedTime time_;
  FileDescriptor read_end_;
  FileDescriptor write_end_;
  std::optional<Outlet> outlet_;
  std::optional<EventLog> log_;
  std::vector<Json> lines_;
};

TEST_F(EventLogTest, WritesEventsFromItsLevelOn) {
  Happens(EventKind::kConnected);
  Happens(EventKind::kHandled);
  Says(Severity::kError, "paused");
  EXPECT_THAT(Written(), ElementsAre("connected", "paused"));
  EXPECT_EQ(lines_.at(1).at("level"), "error");
  EXPECT_EQ(lines_.at(1).at("queue"), "orders");
}

TEST_F(EventLogTest, HasALineForDroppedLines) {
  const Json json = Json::parse(EventLog::DroppedLine(EventLog::Format::kJson, /*lines=*/7));
  EXPECT_EQ(json["event"], "log_dropped");
  EXPECT_EQ(json["error"], "7 lines of this log could not be written and were dropped");
}

TEST_F(EventLogTest, LogsTheFirstErrorAndOncePerMinuteTheLast) {
  for (int i = 0; i < 14; ++i) Happens(EventKind::kDeclareFailed, absl::StrCat("error ", i));
  time_.Advance(absl::Minutes(10));
  Happens(EventKind::kDeclareFailed, "later");
  EXPECT_THAT(Written(), ElementsAre("declare_failed error 0", "declare_failed error 13 x13",
                                     "declare_failed later"));
}

TEST_F(EventLogTest, DistinguishesQueuesAndNames) {
  Happens(EventKind::kHeld, "a", "orders");
  Happens(EventKind::kHeld, "b", "bills");
  Happens(EventKind::kReturned, "c", "orders");
  EXPECT_THAT(Written(), ElementsAre("held a", "held b", "returned c"));
}

TEST_F(EventLogTest, LogsEveryFinalOutcome) {
  for (int i = 0; i < 3; ++i) {
    for (const EventKind kind : {EventKind::kParked, EventKind::kRejected, EventKind::kDiscarded,
                                 EventKind::kFailed, EventKind::kRetried}) {
      Happens(kind);
    }
  }
  EXPECT_THAT(Written(), SizeIs(15));
}

TEST_F(EventLogTest, LogsAProblemThatIsOverAndThenReturns) {
  Happens(EventKind::kDisconnected, "first", "");
  Happens(EventKind::kDisconnected, "second", "");
  Happens(EventKind::kConnected, "", "");
  Happens(EventKind::kDisconnected, "third", "");
  EXPECT_THAT(Written(), ElementsAre("disconnected first", "disconnected second x1", "connected",
                                     "disconnected third"));
}

TEST_F(EventLogTest, DoesNotLogConsumingWhileACommandIsTriedAgain) {
  for (int i = 0; i < 3; ++i) {
    Says(Severity::kError, "paused");
    Happens(EventKind::kConsuming);
  }
  Says(Severity::kInfo, "resumed");
  Happens(EventKind::kConsuming);
  EXPECT_THAT(Written(), ElementsAre("paused", "paused x2", "resumed", "consuming"));
}

TEST_F(EventLogTest, LogsTheTraceOfTheLastMessageWhenItEnds) {
  for (const char* digit : {"1", "2", "3"}) {
    const Delivery delivery =
        Traced(absl::StrCat("00-0000000000000000000000000000000", digit, "-00f067aa0ba902b7-01"));
    log_->OnEvent({.kind = EventKind::kHeld, .time = absl::UnixEpoch(), .delivery = &delivery});
  }
  EXPECT_THAT(Written(), ElementsAre("held", "held x2"));
  EXPECT_EQ(lines_.at(1).at("trace_id"), "00000000000000000000000000000003");
}

}  // namespace retryq::cli::event_log_test
