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
         testing::SimulatedRabbitMq& rabbit, Options options);

  void Start();
  void Kill();
  bool runs() const { return client_.has_value(); }
  // If an object is missing at its start, the process exits, and is started again.
  bool failed() const { return failed_; }
  testing::SimulatedBroker& broker() { return *broker_; }  // while it runs
  // Handlers that were called between the opening of its circuit breaker and the first try.
  std::uint64_t calls_while_open() const { return calls_while_open_; }

 private:
  void OnEvent(const Event& event) override;
  void OnDelivery(Delivery delivery, Settlement settlement);

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
