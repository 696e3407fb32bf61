#ifndef RETRYQ_TEST_UNIT_RETRY_RETRIER_RETRIER_FIXTURE_H_
#define RETRYQ_TEST_UNIT_RETRY_RETRIER_RETRIER_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "retryq/broker/retrier.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_time.h"
#include "support/make_message.h"
#include "support/recorded_events.h"
#include "support/scripted_broker.h"

namespace retryq::testing {

class RetrierTest : public ::testing::Test {
 protected:
  // A retrier on a connected broker, and its callback around `handler`.
  void Start(RetrierOptions options, Handler handler) {
    MakeRetrier(std::move(options));
    deliver_ = retrier_->Wrap(std::move(handler));
  }
  void Start(RetrierOptions options, AsyncHandler handler) {
    MakeRetrier(std::move(options));
    deliver_ = retrier_->Wrap(std::move(handler));
  }

  void MakeRetrier(RetrierOptions options) {
    shared_ = Retrier::Shared::Create(broker_, EnvironmentOf(time_, random_, &events_)).value();
    retrier_ = Retrier::Create(shared_, std::move(options)).value();
    broker_.Ready();
  }

  // Delivers with the next tag, and lets the declares be answered.
  void Deliver(const MessageParts& parts = {}) {
    auto message = std::const_pointer_cast<amqp::Message>(MakeMessage(parts));
    message->delivery_tag = {.generation = 1, .tag = ++tag_};
    deliver_(std::move(message));
    time_.RunReady();
  }

  // As a quorum queue delivers what it has delivered before.
  void Redeliver(std::int64_t count, amqp::Table headers = {}) {
    headers.Set("x-delivery-count", count);
    auto message = std::const_pointer_cast<amqp::Message>(MakeMessage({.headers = headers}));
    message->delivery_tag = {.generation = 1, .tag = ++tag_};
    message->redelivered = true;
    deliver_(std::move(message));
    time_.RunReady();
  }

  ScriptedBroker::Published& LastPublish() { return broker_.publishes.back(); }

  SimulatedTime time_;
  SeededRandom random_{1};
  RecordedEvents events_;
  ScriptedBroker broker_{time_};
  std::shared_ptr<Retrier::Shared> shared_;
  std::unique_ptr<Retrier> retrier_;
  DeliveryHandler deliver_;
  std::uint64_t tag_ = 0;
};

inline Outcome Fails(const Delivery&) { return absl::UnavailableError("down"); }

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_UNIT_RETRY_RETRIER_RETRIER_FIXTURE_H_
