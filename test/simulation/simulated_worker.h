#ifndef RETRYQ_TEST_SIMULATION_SIMULATED_WORKER_H_
#define RETRYQ_TEST_SIMULATION_SIMULATED_WORKER_H_

#include "retryq/client.h"
#include "retryq/observer.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_broker.h"
#include "retryq/testing/simulated_time.h"
#include "support/test.h"

namespace retryq::simulation {

// A process that consumes: the real client on a simulated broker, with its own clock. It can be
// killed and started again.
class Worker : private Observer {
 public:
  struct Options {
    ClientOptions client = {};
    ConsumerOptions consumer = {};
    absl::Duration skew = absl::ZeroDuration();  // of its wall clock
    std::function<absl::Duration()> latency;
    std::function<void(Delivery, Settlement)> handler;
    Observer* observer = nullptr;  // outlives it
  };

  // All must outlive it.
  Worker(testing::SimulatedTime& time, testing::SeededRandom& random,
         testing::SimulatedRabbitMq& rabbit, Options options)
      : time_(time),
        random_(random),
        rabbit_(rabbit),
        options_(std::move(options)),
        clock_(time, options_.skew) {}

  void Start() {
    Environment environment = testing::EnvironmentOf(time_, random_, this);
    environment.clock = &clock_;
    broker_.emplace(rabbit_);
    broker_->SetLatency(options_.latency);
    failed_ = false;
    breaker_is_open_ = false;
    client_.emplace(environment, *broker_, options_.client,
                    [this](const absl::Status&) { failed_ = true; });
    absl::StatusOr<Consumer> consumer = client_->Consume(
        options_.consumer, AsyncHandler([this](Delivery delivery, Settlement settlement) {
          OnDelivery(std::move(delivery), std::move(settlement));
        }));
    ASSERT_TRUE(consumer.ok()) << consumer.status();
    consumer_.emplace(*std::move(consumer));
  }
  void Kill() {
    consumer_.reset();
    client_.reset();
    broker_.reset();
  }
  bool runs() const { return client_.has_value(); }
  // If an object is missing at its start, the process exits, and is started again.
  bool failed() const { return failed_; }
  testing::SimulatedBroker& broker() { return *broker_; }  // while it runs
  // Handlers that were called between the opening of its circuit breaker and the first try.
  std::uint64_t calls_while_open() const { return calls_while_open_; }

 private:
  void OnEvent(const Event& event) override {
    if (event.kind == EventKind::kBreakerOpened) breaker_is_open_ = true;
    if (event.kind == EventKind::kBreakerProbing) breaker_is_open_ = false;
    if (options_.observer != nullptr) options_.observer->OnEvent(event);
  }
  void OnDelivery(Delivery delivery, Settlement settlement) {
    if (breaker_is_open_) ++calls_while_open_;
    options_.handler(std::move(delivery), std::move(settlement));
  }

  testing::SimulatedTime& time_;
  testing::SeededRandom& random_;
  testing::SimulatedRabbitMq& rabbit_;
  const Options options_;
  const testing::SkewedClock clock_;

  bool failed_ = false;
  bool breaker_is_open_ = false;
  std::uint64_t calls_while_open_ = 0;
  std::optional<testing::SimulatedBroker> broker_;
  std::optional<Client> client_;
  std::optional<Consumer> consumer_;
};

}  // namespace retryq::simulation

#endif  // RETRYQ_TEST_SIMULATION_SIMULATED_WORKER_H_
