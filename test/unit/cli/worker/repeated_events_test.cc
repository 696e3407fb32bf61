#include "cli/worker/repeated_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "retryq/testing/simulated_time.h"
#include "support/make_message.h"

namespace retryq::cli {
namespace repeated_events_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RepeatedEventsTest : public ::testing::Test {
 protected:
  void Happens(EventKind kind, std::string_view error = "", std::string_view queue = "orders") {
    const Event event = {
        .kind = kind, .time = absl::UnixEpoch(), .queue = queue, .id = "id", .error = error};
    if (events_->Pass(SeverityOf(kind), EventName(kind), event)) {
      log_.push_back(absl::StrCat(std::string(EventName(kind)), " ", std::string(error)));
    }
  }

  testing::SimulatedTime time_;
  std::vector<std::string> log_;
  std::optional<RepeatedEvents> events_{
      std::in_place, time_,
      [this](Severity, std::string_view name, const Event& event, const LineExtras& extras) {
        log_.push_back(
            absl::StrCat(std::string(name), " ", std::string(event.error), " x", extras.repeated));
      }};
};

TEST_F(RepeatedEventsTest, LogsTheFirstAndCountsThoseOfTheMinuteAfterIt) {
  for (int i = 0; i < 14; ++i) Happens(EventKind::kDeclareFailed, absl::StrCat("error ", i));
  EXPECT_THAT(log_, ElementsAre("declare_failed error 0"));
  time_.Advance(absl::Minutes(1));
  EXPECT_THAT(log_, ElementsAre("declare_failed error 0", "declare_failed error 13 x13"));
}

TEST_F(RepeatedEventsTest, LogsAtMostOneLineAMinuteHoweverLongItLasts) {
  for (int second = 0; second < 600; ++second) {
    Happens(EventKind::kHeld, "no way");
    Happens(EventKind::kUnconfirmed, "nacked");
    time_.Advance(absl::Seconds(1));
  }
  EXPECT_LE(log_.size(), 22U);
  EXPECT_GE(log_.size(), 20U);
}

TEST_F(RepeatedEventsTest, IsSilentAboutATroubleThatDoesNotRepeatAndLogsItAnew) {
  Happens(EventKind::kHeld, "first");
  time_.Advance(absl::Minutes(10));
  EXPECT_THAT(log_, ElementsAre("held first"));
  Happens(EventKind::kHeld, "second");
  EXPECT_THAT(log_, ElementsAre("held first", "held second"));
}

TEST_F(RepeatedEventsTest, TellsQueuesAndTroublesApart) {
  Happens(EventKind::kHeld, "a", "orders");
  Happens(EventKind::kHeld, "b", "bills");
  Happens(EventKind::kReturned, "c", "orders");
  EXPECT_THAT(log_, ElementsAre("held a", "held b", "returned c"));
}

TEST_F(RepeatedEventsTest, HoldsBackNothingThatBecomesOfAMessageForGood) {
  for (int i = 0; i < 3; ++i) {
    for (const EventKind kind : {EventKind::kParked, EventKind::kRejected, EventKind::kDiscarded,
                                 EventKind::kFailed, EventKind::kRetried, EventKind::kHandled}) {
      Happens(kind);
    }
  }
  EXPECT_EQ(log_.size(), 18U);
}

TEST_F(RepeatedEventsTest, ReportsATroubleThatIsOverAndLogsItAnewWhenItIsBack) {
  Happens(EventKind::kDisconnected, "first", "");
  Happens(EventKind::kDisconnected, "second", "");
  Happens(EventKind::kConnected, "", "");
  Happens(EventKind::kDisconnected, "third", "");
  EXPECT_THAT(log_, ElementsAre("disconnected first", "disconnected second x1", "connected ",
                                "disconnected third"));
}

TEST_F(RepeatedEventsTest, LogsNoConsumingWhileACommandIsTriedAgainAndAgain) {
  const auto says = [this](Severity severity, std::string_view name) {
    const Event event = {.kind = {}, .time = absl::UnixEpoch(), .queue = "orders"};
    if (events_->Pass(severity, name, event)) log_.emplace_back(name);
  };
  for (int i = 0; i < 3; ++i) {
    says(Severity::kError, "paused");
    Happens(EventKind::kConsuming);
  }
  says(Severity::kInfo, "resumed");
  Happens(EventKind::kConsuming);
  EXPECT_THAT(log_, ElementsAre("paused", "paused  x2", "resumed", "consuming "));
}

TEST_F(RepeatedEventsTest, ReportsTheTraceOfTheLastMessageThatMayBeGoneByThen) {
  std::vector<std::string> traces;
  RepeatedEvents events(
      time_, [&traces](Severity, std::string_view, const Event& event, const LineExtras& extras) {
        EXPECT_EQ(event.delivery, nullptr);
        traces.emplace_back(extras.trace_id);
      });
  for (const char* trace : {"00000000000000000000000000000001", "00000000000000000000000000000002",
                            "00000000000000000000000000000003"}) {
    const std::string traceparent = absl::StrCat("00-", trace, "-00f067aa0ba902b7-01");
    const Delivery delivery(
        testing::MakeMessage({.headers = amqp::Table{{"traceparent", traceparent}}}),
        std::make_shared<const std::string>("orders"), {});
    events.Pass(Severity::kError, "held",
                {.kind = EventKind::kHeld, .time = absl::UnixEpoch(), .delivery = &delivery});
  }
  time_.Advance(absl::Minutes(1));
  EXPECT_THAT(traces, ElementsAre("00000000000000000000000000000003"));
}

TEST_F(RepeatedEventsTest, ReportsWhatItHoldsBackAtTheEnd) {
  Happens(EventKind::kHeld, "first");
  Happens(EventKind::kHeld, "second");
  events_.reset();
  EXPECT_THAT(log_, ElementsAre("held first", "held second x1"));
}

}  // namespace repeated_events_test
}  // namespace retryq::cli
