#ifndef RETRYQ_TEST_UNIT_RETRY_RETRIER_RETRIER_FIXTURE_H_
#define RETRYQ_TEST_UNIT_RETRY_RETRIER_RETRIER_FIXTURE_H_

#include "retryq/broker/retrier.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_time.h"
#include "support/make_message.h"
#include "support/recorded_events.h"
#include "support/scripted_broker.h"
#include "support/test.h"

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

  // A message with the next tag.
  std::shared_ptr<amqp::Message> Next(MessageParts parts = {}) {
    parts.delivery_tag = {.generation = channel_, .tag = ++tag_};
    return MakeMessage(parts);
  }

  // Delivers the message, and answers the declares.
  void Deliver(const MessageParts& parts = {}) {
    deliver_(Next(parts));
    time_.RunReady();
  }

  // Like a redelivery of a quorum queue.
  void Redeliver(std::int64_t count, amqp::Table headers = {}) {
    headers.Set("x-delivery-count", count);
    Deliver({.headers = headers, .redelivered = true});
  }

  ScriptedBroker::Published& LastPublish() { return broker_.publishes.back(); }

  SimulatedTime time_;
  SeededRandom random_{1};
  RecordedEvents events_;
  ScriptedBroker broker_{time_};
  std::shared_ptr<Retrier::Shared> shared_;
  std::unique_ptr<Retrier> retrier_;
  DeliveryHandler deliver_;
  std::uint64_t channel_ = 1;
  std::uint64_t tag_ = 0;
};

inline Outcome Fails(const Delivery&) { return absl::UnavailableError("down"); }

}  // namespace retryq::testing

namespace retryq {
using testing::Fails;
using testing::RetrierTest;
}  // namespace retryq

#endif  // RETRYQ_TEST_UNIT_RETRY_RETRIER_RETRIER_FIXTURE_H_
