#ifndef RETRYQ_TEST_UNIT_RETRY_DELAY_QUEUES_DELAY_QUEUES_FIXTURE_H_
#define RETRYQ_TEST_UNIT_RETRY_DELAY_QUEUES_DELAY_QUEUES_FIXTURE_H_

#include "retry/delay_queues/delay_queues.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_time.h"
#include "support/scripted_broker.h"
#include "support/test.h"

namespace retryq {

inline constexpr DelayRoute kRoute{.ttl = absl::Seconds(1)};
inline constexpr DelayRoute kWorkRoute{.ttl = absl::Seconds(1), .dead_letter_exchange = "work"};
inline constexpr absl::Duration kWindow = absl::Minutes(1);
inline constexpr absl::Duration kCoverage = absl::Seconds(90);
inline constexpr absl::Duration kLifetime = absl::Seconds(121);

// Delay queues on a broker whose declares the test answers one by one.
class DelayQueuesTest : public ::testing::Test, public testing::ScriptedBroker, public Observer {
 protected:
  struct Sent {
    DeclareParams params;
    Broker::DeclareCallback done;
  };

  DelayQueuesTest() : ScriptedBroker(time_) { Use({}); }

  void Use(const DelayQueueOptions& options) {
    queues_ =
        std::make_unique<DelayQueues>(*this, testing::EnvironmentOf(time_, random_, this), options);
  }

  void Declare(DeclareParams params, DeclareCallback done) override {
    declares_.push_back({std::move(params), std::move(done)});
  }
  void OnEvent(const Event& event) override {
    events_.push_back(std::string(EventName(event.kind)) + " " + std::string(event.delay_queue));
    errors_.emplace_back(event.error);
    EXPECT_EQ(event.delay, absl::Seconds(1));
    EXPECT_EQ(event.time, time_.Now());
  }

  // Answers the oldest open declare.
  void Answer(absl::StatusOr<DeclareOk> answer) {
    ASSERT_FALSE(declares_.empty());
    const Broker::DeclareCallback done = std::move(declares_.front().done);
    declares_.pop_front();
    done(std::move(answer));
  }
  void AnswerOk(std::uint32_t messages = 0) { Answer(DeclareOk{.message_count = messages}); }

  // Acquires a lease whose second declares are sent now; `is_hashed`: under the hashed name.
  Lease Grant(const DelayRoute& route = kRoute, bool is_hashed = false) {
    std::optional<Lease> lease;
    queues_->Acquire(route, [&](absl::StatusOr<Lease> acquired) { lease = acquired.value(); });
    if (is_hashed) Answer(absl::FailedPreconditionError("inequivalent arg"));
    AnswerOk();
    AnswerOk();
    EXPECT_TRUE(lease.has_value());
    return lease.value_or(Lease());
  }

  // Keeps the result of `Acquire`.
  std::function<void(absl::StatusOr<Lease>)> Keep() {
    return [this](absl::StatusOr<Lease> lease) { acquired_.push_back(std::move(lease)); };
  }

  bool Holds(const DelayRoute& route = kRoute) {
    return queues_->CurrentLease(route, time_.SinceBoot()).name != nullptr;
  }

  std::string NameOfLastDeclare() const { return declares_.back().params.queue.name; }

  testing::SimulatedTime time_;
  testing::SeededRandom random_;
  std::deque<Sent> declares_;
  std::vector<std::string> events_;
  std::vector<std::string> errors_;
  std::vector<absl::StatusOr<Lease>> acquired_;
  std::unique_ptr<DelayQueues> queues_;
};

}  // namespace retryq

#endif  // RETRYQ_TEST_UNIT_RETRY_DELAY_QUEUES_DELAY_QUEUES_FIXTURE_H_
