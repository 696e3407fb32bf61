#include "retryq/testing/delivery.h"

#include <atomic>
#include <mutex>
#include <utility>

#include "retryq/broker/executor.h"
#include "testing/simulated_content.h"

namespace retryq::testing {

Delivery MakeDelivery(DeliveryFields fields) {
  // Its views point into the members, which it therefore owns.
  struct Made : amqp::Message {
    ContentPtr shown;
    std::string last_error;
  };
  const std::string headers = fields.headers.Encode().value();
  fields.properties.headers = amqp::TableView(headers);
  auto message = std::make_shared<Made>();
  message->shown = std::make_shared<const Content>(fields.exchange, fields.routing_key,
                                                   fields.properties, fields.body);
  message->last_error = std::move(fields.last_error);
  message->delivery_tag = {.generation = 1, .tag = 1};
  message->redelivered = fields.redelivered;
  message->exchange = message->shown->exchange();
  message->routing_key = message->shown->routing_key();
  message->properties = message->shown->properties();
  message->body = message->shown->body();
  const Delivery::History history{.failures = fields.attempt,
                                  .last_error = message->last_error,
                                  .exchange = message->exchange,
                                  .routing_key = message->routing_key};
  return {message, std::make_shared<const Delivery::Source>(std::move(fields.queue)), history};
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
