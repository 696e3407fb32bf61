#include "simulation/simulated_worker.h"

#include <gtest/gtest.h>

#include <utility>

namespace retryq::simulation {

Worker::Worker(testing::SimulatedTime& time, testing::SeededRandom& random,
               testing::SimulatedRabbitMq& rabbit, Options options)
    : time_(time),
      random_(random),
      rabbit_(rabbit),
      options_(std::move(options)),
      clock_(time, options_.skew) {}

void Worker::Start() {
  Environment environment = testing::EnvironmentOf(time_, random_, options_.observer);
  environment.clock = &clock_;
  broker_.emplace(rabbit_);
  broker_->SetLatency(options_.latency);
  failed_ = false;
  client_.emplace(environment, *broker_, options_.client,
                  [this](const absl::Status&) { failed_ = true; });
  absl::StatusOr<Consumer> consumer = client_->Consume(options_.consumer, options_.handler);
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  consumer_.emplace(*std::move(consumer));
}

void Worker::Kill() {
  consumer_.reset();
  client_.reset();
  broker_.reset();
}

}  // namespace retryq::simulation
