#ifndef RETRYQ_SRC_RETRY_RETRIER_GATED_RETRIER_H_
#define RETRYQ_SRC_RETRY_RETRIER_GATED_RETRIER_H_

#include <functional>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "retryq/breaker.h"
#include "retryq/broker.h"
#include "retryq/retrier.h"

namespace retryq {

// What a consumer needs of its retrier beside Retrier. For the end of the flow of deliveries: it
// can hold what goes back to the queue. For a circuit breaker: it is told how calls end, and has a
// gate in front of the handler.
class GatedRetrier : public Retrier {
 public:
  // kInvalidArgument names the wrong fields.
  static absl::StatusOr<std::unique_ptr<GatedRetrier>> Create(std::shared_ptr<Shared> shared,
                                                              RetrierOptions options);

  // See SubscriptionListener: to the parked queue, where that is what would become of `message`.
  virtual bool PassOn(const amqp::MessagePtr& message, PublishParams* copy) = 0;

  // While they are held, no copy goes to the work queue itself: a queue that was asked to send no
  // more could still take it for one of its last deliveries, and count it as failed (F61 in
  // doc/rabbitmq_facts.md). Observers are told of those that are let go.
  virtual void HoldReturns() = 0;
  virtual void LetReturnsGo() = 0;

  // `on_call` hears how each call of the handler ended, and with which error, except of calls that
  // began before the gate was closed last. It is called amid the work on a delivery: it must not
  // call a user's code, and must not destroy the retrier.
  using OnCall = std::function<void(CallResult result, std::string_view error)>;
  virtual void Watch(OnCall on_call) = 0;

  // Closed: no handler is called, and what would be handled goes back to the queue. The broker must
  // have been asked before to send no more, or it sends the same again.
  virtual void CloseGate() = 0;
  virtual void OpenGate() = 0;

  // Gives back what is on its way to another thread and has not begun there. Observers are told.
  virtual void GiveBackUnbegun() = 0;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_RETRIER_GATED_RETRIER_H_
