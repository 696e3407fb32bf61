// The figures that events carry, for metrics, in a simulated RabbitMQ, and the names of events.

#include "support/simulated_world.h"
#include "support/test.h"

namespace retryq::event_figures_test {

using testing::RecordedEvents;

class EventFigures : public testing::SimulatedTest {
 protected:
  void SetUp() override { rabbit_.DeclareQueue("orders"); }

  Consumer& Consume(Handler handler, const ConsumerOptions& options = {.queue = "orders"}) {
    return process_.Consume(options, std::move(handler));
  }

  // The handler settles when the test calls it.
  void ConsumeSlowly() {
    process_.Consume({.queue = "orders"}, [this](const Delivery&, Settlement settlement) {
      open_.push_back(std::move(settlement));
    });
  }

  const RecordedEvents::Entry& Last(EventKind kind) const {
    static const RecordedEvents::Entry kNone = {};
    const RecordedEvents::Entry* const entry = events_.Last(kind);
    EXPECT_NE(entry, nullptr) << EventName(kind);
    return entry == nullptr ? kNone : *entry;
  }

  std::vector<std::optional<std::size_t>> InFlight() const {
    std::vector<std::optional<std::size_t>> all;
    for (const RecordedEvents::Entry& entry : events_.entries) {
      if (entry.in_flight) all.push_back(entry.in_flight);
    }
    return all;
  }

  std::vector<Settlement> open_;
};

TEST_F(EventFigures, ReportTheTimeOfAHandler) {
  ConsumeSlowly();
  rabbit_.Publish("", "orders");
  time_.Advance(absl::Seconds(5));
  ASSERT_EQ(open_.size(), 1U);
  EXPECT_EQ(events_.Count(EventKind::kDelivered), 1U);
  time_.Advance(absl::Seconds(7));
  std::move(open_.front()).Settle(Outcome::Ok());
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(Last(EventKind::kHandled).handling,
              ::testing::Optional(AllOf(Ge(absl::Seconds(11)), Le(absl::Seconds(12)))));
}

TEST_F(EventFigures, UseTheTimeThatAHandlerReports) {
  ConsumeSlowly();
  rabbit_.Publish("", "orders");
  time_.Advance(absl::Seconds(12));
  ASSERT_EQ(open_.size(), 1U);
  std::move(open_.front()).Settle(Outcome::Ok().Took(absl::Seconds(2)));
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(Last(EventKind::kHandled).handling, absl::Seconds(2));
}

TEST_F(EventFigures, ReportTheLatenessOfARetry) {
  bool fail = true;
  Consumer& consumer = Consume([&](const Delivery&) -> Outcome {
    return std::exchange(fail, false) ? absl::UnavailableError("down") : absl::OkStatus();
  });
  rabbit_.Publish("", "orders");
  time_.Advance(absl::Milliseconds(500));
  EXPECT_FALSE(Last(EventKind::kDelivered).lateness) << "it has waited for nothing";
  consumer.Pause();
  time_.Advance(absl::Seconds(30));
  consumer.Resume();
  time_.Advance(absl::Seconds(1));
  ASSERT_EQ(events_.Count(EventKind::kDelivered), 2U);
  EXPECT_THAT(Last(EventKind::kDelivered).lateness,
              ::testing::Optional(AllOf(Ge(absl::Seconds(29)), Le(absl::Seconds(30)))));
}

TEST_F(EventFigures, ReportTheTimeOfAConfirm) {
  broker_.SetLatency([] { return absl::Milliseconds(100); });
  Consume([](const Delivery&) -> Outcome { return absl::UnavailableError("down"); });
  time_.Advance(absl::Seconds(2));
  rabbit_.Publish("", "orders");
  time_.Advance(absl::Seconds(2));
  ASSERT_EQ(events_.Count(EventKind::kRetried), 1U);
  EXPECT_THAT(Last(EventKind::kRetried).confirmed_after,
              ::testing::Optional(AllOf(Ge(absl::Milliseconds(200)), Le(absl::Milliseconds(250)))));
  EXPECT_FALSE(Last(EventKind::kFailed).confirmed_after);
}

TEST_F(EventFigures, CountNothingInFlightAfterTheChannelCloses) {
  ConsumeSlowly();
  for (int i = 0; i < 3; ++i) rabbit_.Publish("", "orders");
  time_.Advance(absl::Seconds(1));
  broker_.CutConsuming({.broker_notices = absl::Hours(1)});
  time_.Advance(absl::Milliseconds(10));
  EXPECT_EQ(Last(EventKind::kInterrupted).in_flight, 0U);
}

TEST_F(EventFigures, ReportWhyACopyIsPublishedAgain) {
  bool silence = false;
  Consume(
      [&](const Delivery&) -> Outcome {
        if (silence) broker_.SetLatency([] { return absl::Hours(1); });
        return absl::UnavailableError("down");
      },
      {.queue = "orders", .retry = {.backoff = {.factor = 1}}});
  rabbit_.Publish("", "orders");
  time_.Advance(absl::Seconds(2));
  rabbit_.RefusePublishes(true);
  time_.Advance(absl::Seconds(10));
  EXPECT_EQ(Last(EventKind::kUnconfirmed).cause, "nacked");
  rabbit_.RefusePublishes(false);
  silence = true;
  time_.Advance(absl::Minutes(10));
  EXPECT_EQ(Last(EventKind::kUnconfirmed).cause, "timeout");
}

TEST_F(EventFigures, CountTheDelayQueuesWithALease) {
  Consume([](const Delivery& delivery) -> Outcome {
    return delivery.attempt() < 3 ? absl::UnavailableError("down") : absl::OkStatus();
  });
  rabbit_.Publish("", "orders");
  time_.Advance(absl::Seconds(20));
  EXPECT_EQ(Last(EventKind::kDeclared).delay_queues, 3U) << "1 s, 2 s and 4 s";
  time_.Advance(absl::Hours(1));
  ASSERT_EQ(events_.Count(EventKind::kLapsed), 3U);
  EXPECT_EQ(Last(EventKind::kLapsed).delay_queues, 0U);
}

constexpr int kKinds = static_cast<int>(EventKind::kBreakerClosed) + 1;

TEST(EventName, IsUniqueAndLowerCase) {
  std::set<std::string> names;
  for (int kind = 0; kind < kKinds; ++kind) {
    const std::string name(EventName(static_cast<EventKind>(kind)));
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos) << name;
    EXPECT_NE(name, "unknown") << kind;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

}  // namespace retryq::event_figures_test
