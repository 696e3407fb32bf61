#include "simulation/simulated_worker.h"

#include "support/test.h"

namespace retryq::simulation {

Worker::Worker(testing::SimulatedTime& time, testing::SeededRandom& random,
               testing::SimulatedRabbitMq& rabbit, Options options)
    : time_(time),
      random_(random),
      rabbit_(rabbit),
      options_(std::move(options)),
      clock_(time, options_.skew) {}

void Worker::Start() {
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

void Worker::OnEvent(const Event& event) {
  if (event.kind == EventKind::kBreakerOpened) breaker_is_open_ = true;
  if (event.kind == EventKind::kBreakerProbing) breaker_is_open_ = false;
  if (options_.observer != nullptr) options_.observer->OnEvent(event);
}

void Worker::OnDelivery(Delivery delivery, Settlement settlement) {
  if (breaker_is_open_) ++calls_while_open_;
  options_.handler(std::move(delivery), std::move(settlement));
}

void Worker::Kill() {
  consumer_.reset();
  client_.reset();
  broker_.reset();
}

}  // namespace retryq::simulation
