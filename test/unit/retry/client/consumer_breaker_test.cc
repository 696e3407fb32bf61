#include "support/simulated_world.h"
#include "support/test.h"

// A consumer with a circuit breaker, on a RabbitMQ in memory.

namespace retryq::consumer_breaker_test {

using testing::RecordedEvents;

const absl::Status kDown = absl::UnavailableError("the bank is down");

// The handler, which the test controls.
class Watcher final : public Observer {
 public:
  void OnEvent(const Event& event) override {
    if (then != nullptr) then(event);
  }
  std::function<void(const Event&)> then;
};

class ConsumerBreaker : public ::testing::TestWithParam<const char*>,
                        protected testing::SimulatedWorld {
 protected:
  ConsumerBreaker() : SimulatedWorld(1, {.version = "4.0.5"}) {
    rabbit_.DeclareQueue("work", {{"x-queue-type", GetParam()}});
    observer_.then = [this](const Event& event) {
      events_.OnEvent(event);
      if (on_event_ != nullptr) on_event_(event);
    };
    Connect();
  }
  ~ConsumerBreaker() override { processes_.clear(); }

  void Connect() { process_ = &Start({.observer = &observer_}); }

  static ConsumerOptions Options() {
    return {.queue = "work",
            .retry = {.backoff = {.base = absl::Seconds(1), .factor = 1}, .max_attempts = 0},
            .breaker = BreakerOptions{.calls = 10, .pause = absl::Seconds(30), .probes = 3}};
  }

  template <typename SomeHandler>
  Consumer& Consume(ConsumerOptions options, SomeHandler handler) {
    Consumer& consumer = process_->Consume(std::move(options), std::move(handler));
    time_.Advance(absl::Seconds(1));
    return consumer;
  }

  Handler Handles() {
    return [this](const Delivery& delivery) -> Outcome { return Call(delivery); };
  }
  Outcome Call(const Delivery& delivery) {
    ++calls_;
    most_attempts_ = std::max(most_attempts_, delivery.attempt() + 1);
    if (down_) return kDown;
    ++handled_[std::string(delivery.body())];
    return Outcome::Ok();
  }

  void SendMany(int messages) {
    for (int i = 0; i < messages; ++i) Send("work", absl::StrCat(sent_++));
  }

  int TakeCalls() { return std::exchange(calls_, 0); }

  void ExpectAllHandledOnce() {
    time_.Advance(absl::Minutes(10));
    EXPECT_EQ(handled_.size(), static_cast<std::size_t>(sent_));
    for (const auto& [body, times] : handled_) EXPECT_EQ(times, 1) << body;
    ExpectNothingLeft();
  }

  std::size_t Count(EventKind kind) const { return events_.Count(kind); }

  Watcher observer_;
  RecordedEvents events_;
  std::function<void(const Event&)> on_event_;
  testing::SimulatedProcess* process_ = nullptr;
  bool down_ = true;
  int sent_ = 0;
  int calls_ = 0;
  std::uint64_t most_attempts_ = 0;
  std::map<std::string, int> handled_;
};

TEST_P(ConsumerBreaker, OpensProbesAndClosesAndLosesNothing) {
  Consume(Options(), Handles());
  SendMany(500);
  time_.Advance(absl::Seconds(5));
  // Ten calls that failed, and not one more.
  EXPECT_EQ(TakeCalls(), 10);
  ASSERT_EQ(Count(EventKind::kBreakerOpened), 1U);
  const RecordedEvents::Entry& opened = *events_.Last(EventKind::kBreakerOpened);
  EXPECT_EQ(opened.queue, "work");
  EXPECT_THAT(opened.error, HasSubstr("the bank is down"));
  EXPECT_EQ(opened.delay, absl::Seconds(30));
  // All messages are ready in their queue, for other consumers.
  EXPECT_EQ(rabbit_.Count("work"), 500U);

  // One call for each pause.
  time_.Advance(absl::Minutes(5));
  EXPECT_GE(calls_, 9);
  EXPECT_LE(TakeCalls(), 10);
  EXPECT_EQ(Count(EventKind::kBreakerProbing), Count(EventKind::kBreakerOpened) - 1);
  EXPECT_EQ(Count(EventKind::kBreakerClosed), 0U);

  down_ = false;
  time_.Advance(absl::Seconds(31));
  EXPECT_EQ(Count(EventKind::kBreakerClosed), 1U);
  EXPECT_EQ(events_.Last(EventKind::kBreakerClosed)->error, "");
  ExpectAllHandledOnce();
  EXPECT_EQ(Count(EventKind::kParked), 0U);
}

TEST_P(ConsumerBreaker, CountsNoAttemptForMessagesReturnedUnstarted) {
  ConsumerOptions options = Options();
  options.retry.count_redeliveries = CountRedeliveries::kWhereCounted;
  Consume(std::move(options), Handles());
  SendMany(64);
  time_.Advance(absl::Minutes(10));
  const int failed_calls = TakeCalls();
  down_ = false;
  std::uint64_t attempts = 0;
  on_event_ = [&](const Event& event) {
    if (event.kind == EventKind::kHandled) attempts += *event.attempt;
  };
  ExpectAllHandledOnce();
  // All failures that messages carry are failed calls.
  EXPECT_EQ(attempts, static_cast<std::uint64_t>(failed_calls));
}

TEST_P(ConsumerBreaker, TriesOneMessageAtATime) {
  std::vector<Settlement> open;
  std::size_t most_open = 0;
  bool fail = true;
  on_event_ = [&](const Event& event) {
    if (event.kind != EventKind::kBreakerOpened) return;
    for (Settlement& settlement : std::exchange(open, {})) {
      std::move(settlement).Settle(Outcome::Requeue());
    }
  };
  ConsumerOptions options = Options();
  options.prefetch = 64;
  Consume(options, AsyncHandler([&](const Delivery&, Settlement settlement) {
            ++calls_;
            if (fail) return std::move(settlement).Settle(kDown);
            open.push_back(std::move(settlement));
            most_open = std::max(most_open, open.size());
          }));
  SendMany(200);
  time_.Advance(absl::Seconds(29));
  ASSERT_EQ(Count(EventKind::kBreakerOpened), 1U);
  fail = false;
  for (int probe = 0; probe < 3; ++probe) {
    EXPECT_THAT(open, SizeIs(probe == 0 ? 0 : 1));
    time_.Advance(absl::Seconds(3));
    ASSERT_THAT(open, SizeIs(1));
    if (probe == 2) break;
    std::move(std::exchange(open, {}).front()).Settle(Outcome::Ok());
    time_.Advance(absl::Milliseconds(100));
  }
  EXPECT_EQ(most_open, 1U);
  std::move(std::exchange(open, {}).front()).Settle(Outcome::Ok());
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(Count(EventKind::kBreakerClosed), 1U);
  EXPECT_THAT(open, SizeIs(64));  // the full prefetch
}

TEST_P(ConsumerBreaker, StaysPausedByItsCallerRegardlessOfTheBreaker) {
  Consumer& consumer = Consume(Options(), Handles());
  SendMany(100);
  time_.Advance(absl::Seconds(5));
  ASSERT_EQ(Count(EventKind::kBreakerOpened), 1U);
  TakeCalls();
  consumer.Pause();
  time_.Advance(absl::Minutes(2));
  EXPECT_EQ(TakeCalls(), 0);
  EXPECT_EQ(Count(EventKind::kBreakerProbing), 1U);
  consumer.Resume();
  time_.Advance(absl::Seconds(5));
  EXPECT_EQ(TakeCalls(), 1);  // a probe
  consumer.Pause();
  consumer.Resume();
  time_.Advance(absl::Seconds(5));
  EXPECT_EQ(TakeCalls(), 0);  // it is open
  down_ = false;
  ExpectAllHandledOnce();
}

TEST_P(ConsumerBreaker, DrainsWhileItIsOpenAndDoesNothingAfterwards) {
  Consumer& consumer = Consume(Options(), Handles());
  SendMany(100);
  time_.Advance(absl::Seconds(5));
  TakeCalls();
  std::vector<bool> drained;
  consumer.Drain(absl::Minutes(1), [&](bool complete) { drained.push_back(complete); });
  time_.Advance(absl::Seconds(2));
  EXPECT_THAT(drained, ElementsAre(true));
  time_.Advance(absl::Minutes(5));
  EXPECT_EQ(TakeCalls(), 0);
  EXPECT_EQ(Count(EventKind::kBreakerProbing), 0U);
  EXPECT_EQ(rabbit_.Count("work"), 100U);
}

TEST_P(ConsumerBreaker, StaysOpenOverALostConnectionAndProbesOnTheNext) {
  Consume(Options(), Handles());
  SendMany(100);
  time_.Advance(absl::Seconds(5));
  TakeCalls();
  process_->broker.CutConsuming({});
  time_.Advance(absl::Seconds(20));
  EXPECT_EQ(TakeCalls(), 0);
  time_.Advance(absl::Seconds(10));
  EXPECT_EQ(TakeCalls(), 1);
  process_->broker.SetReachable(false);
  process_->broker.CutConsuming({});
  time_.Advance(absl::Minutes(5));
  down_ = false;
  process_->broker.SetReachable(true);
  ExpectAllHandledOnce();
  EXPECT_EQ(Count(EventKind::kBreakerClosed), 1U);
}

TEST_P(ConsumerBreaker, ProbesAfterTheConnectionIsLostDuringTheCancel) {
  Consume(Options(), Handles());
  on_event_ = [this](const Event& event) {
    if (event.kind == EventKind::kBreakerOpened && Count(EventKind::kBreakerOpened) == 1) {
      process_->broker.CutConsuming({});
    }
  };
  SendMany(100);
  time_.Advance(absl::Seconds(5));
  ASSERT_EQ(Count(EventKind::kBreakerOpened), 1U);
  down_ = false;
  ExpectAllHandledOnce();
}

TEST_P(ConsumerBreaker, MayBeDestroyedInEachOfItsEvents) {
  for (const EventKind kind :
       {EventKind::kBreakerOpened, EventKind::kBreakerProbing, EventKind::kBreakerClosed}) {
    for (const bool client_too : {false, true}) {
      SCOPED_TRACE(EventName(kind));
      down_ = true;
      bool gone = false;
      on_event_ = [&](const Event& event) {
        if (event.kind == EventKind::kBreakerProbing) down_ = false;
        if (event.kind != kind || std::exchange(gone, true)) return;
        process_->consumers.clear();
        if (client_too) process_->client.reset();
        EXPECT_EQ(event.queue, "work");
        EXPECT_EQ(event.error.empty(), kind == EventKind::kBreakerClosed);
      };
      process_->Consume(Options(), Handles());
      SendMany(100);
      time_.Advance(absl::Minutes(2));
      EXPECT_TRUE(gone);
      on_event_ = nullptr;
      if (client_too) Connect();
    }
  }
  down_ = false;
  Consume(Options(), Handles());
  ExpectAllHandledOnce();
}

TEST_P(ConsumerBreaker, AffectsOnlyItsConsumer) {
  rabbit_.DeclareQueue("other", {{"x-queue-type", GetParam()}});
  Consume(Options(), Handles());
  int others = 0;
  ConsumerOptions options = Options();
  options.queue = "other";
  Consume(std::move(options), Handler([&](const Delivery&) {
            ++others;
            return Outcome::Ok();
          }));
  SendMany(100);
  time_.Advance(absl::Seconds(5));
  EXPECT_EQ(Count(EventKind::kBreakerOpened), 1U);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(rabbit_.Publish("", "other"));
  time_.Advance(absl::Seconds(5));
  EXPECT_EQ(others, 100);
  EXPECT_EQ(TakeCalls(), 10);
}

TEST_P(ConsumerBreaker, IgnoresCallsThatBeganBeforeItOpened) {
  std::vector<Settlement> slow;
  Consume(Options(), AsyncHandler([&](const Delivery& delivery, Settlement settlement) {
            ++calls_;
            if (delivery.attempt() == 0 && slow.size() < 5) {
              slow.push_back(std::move(settlement));
            } else {
              std::move(settlement).Settle(kDown);
            }
          }));
  SendMany(60);
  time_.Advance(absl::Seconds(5));
  ASSERT_EQ(Count(EventKind::kBreakerOpened), 1U);
  time_.Advance(absl::Seconds(20));
  for (Settlement& settlement : slow) std::move(settlement).Settle(Outcome::Ok());
  time_.Advance(absl::Seconds(20));
  EXPECT_EQ(Count(EventKind::kBreakerClosed), 0U);
  EXPECT_EQ(Count(EventKind::kBreakerOpened), 2U);  // by the probe
}

INSTANTIATE_TEST_SUITE_P(WorkQueues, ConsumerBreaker, ::testing::Values("classic", "quorum"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace retryq::consumer_breaker_test
