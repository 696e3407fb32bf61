#include "retryq/testing/delivery.h"

#include <atomic>
#include <mutex>
#include <utility>

#include "retryq/broker/executor.h"
#include "testing/simulated_content.h"

namespace retryq::testing {

Delivery MakeDelivery(DeliveryFields fields) {
  // The views of its history point into it.
  struct Made {
    amqp::MessagePtr message;
    std::string last_error;
  };
  const std::string headers = fields.headers.Encode().value();
  fields.properties.headers = amqp::TableView(headers);
  const auto content = std::make_shared<const Content>(fields.exchange, fields.routing_key,
                                                       fields.properties, fields.body);
  const auto made = std::make_shared<const Made>(
      Made{MakeDelivery(content, {.generation = 1, .tag = 1}, fields.redelivered),
           std::move(fields.last_error)});
  const Delivery::History history{.failures = fields.attempt,
                                  .last_error = made->last_error,
                                  .exchange = content->exchange(),
                                  .routing_key = content->routing_key()};
  return {amqp::MessagePtr(made, made->message.get()),
          std::make_shared<const Delivery::Source>(std::move(fields.queue)), history};
}

// Runs the only work that a settlement posts at once.
class RecordedSettlement::Recorder final : public Executor {
 public:
  void Post(Work work) override { std::move(work)(); }

  mutable std::mutex mutex;
  std::optional<Outcome> outcome;  // guarded by mutex
  std::atomic<bool> abandoned = false;
};

RecordedSettlement::RecordedSettlement() : recorder_(std::make_shared<Recorder>()) {}

Settlement RecordedSettlement::Make() {
  return {recorder_,
          [recorder = recorder_](Outcome outcome) {
            const std::lock_guard<std::mutex> lock(recorder->mutex);
            recorder->outcome = std::move(outcome);
          },
          std::shared_ptr<const std::atomic<bool>>(recorder_, &recorder_->abandoned)};
}

std::optional<Outcome> RecordedSettlement::outcome() const {
  const std::lock_guard<std::mutex> lock(recorder_->mutex);
  return recorder_->outcome;
}

void RecordedSettlement::Abandon() { recorder_->abandoned = true; }

}  // namespace retryq::testing
