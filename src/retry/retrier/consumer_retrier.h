#ifndef RETRYQ_SRC_RETRY_RETRIER_CONSUMER_RETRIER_H_
#define RETRYQ_SRC_RETRY_RETRIER_CONSUMER_RETRIER_H_

#include <functional>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "retryq/breaker.h"
#include "retryq/broker/broker.h"
#include "retryq/broker/retrier.h"

namespace retryq {

// The part of a retrier that only its consumer uses. When the consumer stops the flow of
// deliveries, it can postpone copies to the work queue. For the circuit breaker, the retrier
// reports how calls of the handler end, and can stop calling the handler.
class ConsumerRetrier : public Retrier {
 public:
  // Errors: kInvalidArgument, naming all wrong fields.
  static absl::StatusOr<std::unique_ptr<ConsumerRetrier>> Create(std::shared_ptr<Shared> shared,
                                                                 RetrierOptions options);

  // See SubscriptionListener. Returns true, and fills `copy` in, if `message` is to be parked.
  virtual bool PassOn(const amqp::MessagePtr& message, PublishParams* copy) = 0;

  // While returns are paused, no copy is published to the work queue itself: the broker could still
  // deliver it to a consumer that is being cancelled, and count that as a failure (F61 in
  // doc/rabbitmq_facts.md). `ResumeReturns` reports the messages that are returned to the observer.
  virtual void PauseReturns() = 0;
  virtual void ResumeReturns() = 0;

  // `on_call` is called with the result and the error of each call of the handler, except of calls
  // that began before handling was last stopped. It is called while a delivery is processed: it
  // must not call the user's code, and must not destroy the retrier.
  using OnCall = std::function<void(CallResult result, std::string_view error)>;
  virtual void Watch(OnCall on_call) = 0;

  // While handling is stopped, no handler is called, and deliveries are requeued. Cancel the
  // consumer before, or the broker delivers the same messages again.
  virtual void StopHandling() = 0;
  virtual void ResumeHandling() = 0;

  // Requeues the deliveries that were posted to another thread and have not begun there, and
  // reports each to the observer.
  virtual void RequeueUnbegun() = 0;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_RETRIER_CONSUMER_RETRIER_H_
