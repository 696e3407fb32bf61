// The simulation of an outage compared with a consumer on a broker in memory.

#include "cli/plan/plan_command.h"
#include "retryq/retryq.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_broker.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "retryq/testing/simulated_time.h"
#include "support/test.h"

namespace retryq::cli::outage_of_consumer_test {

// A consumer with the same outage.
class ConsumerInOutage {
 public:
  explicit ConsumerInOutage(const RetryOptions& retry,
                            const std::optional<BreakerOptions>& breaker = std::nullopt) {
    rabbit_.DeclareQueue("orders");
    auto consumer =
        client_.Consume({.queue = "orders", .retry = retry, .prefetch = 10'000, .breaker = breaker},
                        [this](const Delivery&) -> Outcome {
                          ++calls;
                          if (time_.SinceBoot() < outage_end_)
                            return absl::UnavailableError("it is down");
                          ++handled;
                          return Outcome::Ok();
                        });
    EXPECT_TRUE(consumer.ok()) << consumer.status();
    consumer_.emplace(*std::move(consumer));
    time_.Advance(absl::Seconds(1));  // to connect
  }

  // The outage begins now; messages arrive until it ends, and none afterwards.
  void LiveThrough(const OutageOptions& outage) {
    const absl::Duration begin = time_.SinceBoot();
    outage_end_ = begin + outage.outage;
    const absl::Duration between = absl::Seconds(1) / outage.rate;
    for (absl::Duration at; at < outage.outage; at += between) {
      time_.Advance(begin + at - time_.SinceBoot());
      ASSERT_TRUE(rabbit_.Publish("", "orders", {}, "order"));
      ++arrived;
    }
    time_.Advance(outage_end_ - time_.SinceBoot());
    waiting_at_outage_end = arrived - parked();
    time_.Advance(absl::Minutes(10));
  }

  std::uint64_t parked() const { return rabbit_.Count("orders.parked"); }

  std::uint64_t arrived = 0;
  std::uint64_t calls = 0;
  std::uint64_t handled = 0;
  std::uint64_t waiting_at_outage_end = 0;

 private:
  testing::SimulatedTime time_;
  testing::SeededRandom random_;
  testing::SimulatedRabbitMq rabbit_{time_, random_};
  testing::SimulatedBroker broker_{rabbit_};
  Client client_{
      testing::EnvironmentOf(time_, random_), broker_, {}, [](const absl::Status& fatal) {
        ADD_FAILURE() << fatal;
      }};
  absl::Duration outage_end_ = absl::InfiniteDuration();
  std::optional<Consumer> consumer_;
};

// Calls are at multiples of half a second, except for the time that a broker takes: the outage ends
// between two of them.
OutageOptions Outage() { return {.outage = absl::Milliseconds(30'450), .rate = 2}; }

RetryOptions Doubling() {
  return {.backoff = {.base = absl::Seconds(1), .max = absl::Seconds(8)}, .max_attempts = 6};
}

TEST(OutageOfConsumer, IsLikeTheSimulation) {
  const auto simulated = SimulateOutage(Outage(), Doubling());
  ASSERT_TRUE(simulated.ok()) << simulated.status();
  ConsumerInOutage consumer(Doubling());
  consumer.LiveThrough(Outage());
  EXPECT_EQ(consumer.arrived, 61U);
  EXPECT_EQ(consumer.parked(), simulated->parked);
  EXPECT_EQ(consumer.parked(), 15U) << "attempts at 0, 1, 3, 7, 15 and 23 s";
  EXPECT_EQ(consumer.handled, consumer.arrived - 15U);
  EXPECT_EQ(consumer.waiting_at_outage_end, simulated->waiting_at_outage_end);
  // Each message that arrives afterwards is handled by one call.
  EXPECT_EQ(consumer.calls, simulated->calls - (simulated->arrived - consumer.arrived));
}

// Five failures open it at 1.5 s, and messages are tried at 11.5 s and 21.5 s.
TEST(OutageOfConsumer, IsLikeTheSimulationWithABreaker) {
  const BreakerOptions breaker{.calls = 5, .ratio = 1, .pause = absl::Seconds(10)};
  const auto simulated = SimulateOutage(Outage(), Doubling(), breaker);
  ASSERT_TRUE(simulated.ok()) << simulated.status();
  ConsumerInOutage consumer(Doubling(), breaker);
  consumer.LiveThrough(Outage());
  EXPECT_EQ(consumer.calls - consumer.handled, 7U);
  EXPECT_EQ(simulated->failures, 7U);
  EXPECT_EQ(consumer.handled, consumer.arrived);
  EXPECT_EQ(simulated->parked, 0U);
  EXPECT_EQ(consumer.waiting_at_outage_end, simulated->waiting_at_outage_end);
}

TEST(OutageOfConsumer, IsLikeTheSimulationWithJitterOnAverage) {
  RetryOptions retry = Doubling();
  retry.backoff.jitter = 1.0;
  retry.max_attempts = 0;
  OutageOptions outage = Outage();
  outage.rate = 20;
  const auto simulated = SimulateOutage(outage, retry);
  ASSERT_TRUE(simulated.ok()) << simulated.status();
  ConsumerInOutage consumer(retry);
  consumer.LiveThrough(outage);
  EXPECT_EQ(consumer.arrived, 609U);
  EXPECT_EQ(consumer.handled, consumer.arrived);
  const auto calls =
      static_cast<double>(simulated->calls - (simulated->arrived - consumer.arrived));
  EXPECT_NEAR(static_cast<double>(consumer.calls), calls, 0.05 * calls);
}

}  // namespace retryq::cli::outage_of_consumer_test
