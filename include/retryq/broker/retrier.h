#ifndef RETRYQ_BROKER_RETRIER_H_
#define RETRYQ_BROKER_RETRIER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "retryq/broker/broker.h"
#include "retryq/broker/clock.h"
#include "retryq/broker/executor.h"
#include "retryq/broker/random.h"
#include "retryq/broker/timers.h"
#include "retryq/delay_queue_options.h"
#include "retryq/delivery.h"
#include "retryq/export.h"
#include "retryq/observer.h"
#include "retryq/outcome.h"
#include "retryq/retry_options.h"
#include "retryq/settlement.h"
#include "retryq/tracing.h"

namespace retryq {

// Handles one message and returns its outcome. Called on the loop's thread, or on a thread of the
// pool if `handler_threads` is set, then by several threads at once. A thrown exception causes a
// retry.
using Handler = absl::AnyInvocable<Outcome(const Delivery&)>;

// Handles one message and settles it later, from any thread.
using AsyncHandler = absl::AnyInvocable<void(Delivery, Settlement)>;

// Receives messages from a Broker.
using DeliveryHandler = std::function<void(amqp::MessagePtr)>;

// The objects through which retrying gets time, timers, randomness and access to the loop's thread.
// Not owned, except the executor; all must outlive every object that is made with them. `observer`
// and `tracer` may be null.
struct Environment {
  const Clock* clock = nullptr;
  Timers* timers = nullptr;
  Random* random = nullptr;
  std::shared_ptr<Executor> executor = nullptr;
  Observer* observer = nullptr;
  Tracer* tracer = nullptr;
};

struct RetrierOptions {
  // The work queue that the messages come from. Required.
  std::string queue;

  // The exchange through which messages return. "" is the default exchange: the copy returns to
  // exactly `queue`. A named exchange must exist. It routes the copy of a message that came through
  // it, as the broker reports, by the same routing key to every queue that its bindings match.
  // Headers have no influence on this.
  std::string work_exchange = {};

  RetryOptions retry = {};

  // Queue for messages that are given up. Empty: `<queue>.parked`.
  std::string parked_queue = {};

  // Whether to handle retries of other queues too: see ConsumerOptions.
  bool share_retries = false;

  // Previous names of `queue`: see ConsumerOptions.
  std::vector<std::string> former_queues = {};
};

// Wraps the consumer callback of a program that uses its own Broker, so that failures are retried.
// `Client::Consume` does this and also consumes.
//
// Delivery guarantee: at least once. Each delivery ends in exactly one Ack or Reject at the broker,
// after its copy, if it needs one, is confirmed and not returned.
//
// Used on the loop's thread. The destructor drops open deliveries (the broker requeues them when
// their channel closes); functions that `Wrap` has made do nothing from then on.
class RETRYQ_EXPORT Retrier {
 public:
  // State that all retriers on one broker share: delay queues with their leases, and publishing
  // with its confirms. It registers itself as the broker's listener, so there can be only one for
  // each broker. Retriers keep it alive. Used on the loop's thread.
  class Shared {
   public:
    // kInvalidArgument names the invalid fields. `broker` must outlive it. A `Broker::heartbeat` of
    // zero is refused, because leases depend on detecting a dead peer.
    static absl::StatusOr<std::shared_ptr<Shared>> Create(Broker& broker, Environment environment,
                                                          DelayQueueOptions options = {});
    virtual ~Shared() = default;
  };

  // kInvalidArgument names the invalid fields.
  static absl::StatusOr<std::unique_ptr<Retrier>> Create(std::shared_ptr<Shared> shared,
                                                         RetrierOptions options);

  ~Retrier();
  Retrier(const Retrier&) = delete;
  Retrier& operator=(const Retrier&) = delete;

  // Checks that the queues and the exchange that consuming needs exist: the work queue, the work
  // exchange, and the parked queue, which is declared if it is missing. Errors name the object and
  // the remedy.
  void Prepare(std::function<void(absl::Status)> done);

  // Returns the callback to pass to your consumer.
  DeliveryHandler Wrap(Handler handler);
  DeliveryHandler Wrap(AsyncHandler handler);
  // For a handler that blocks: it is called on `threads`, for several messages at once if there are
  // several threads. Objects that the handler captures must outlive its last call. If `threads`
  // drops work without running it, the delivery stays open.
  DeliveryHandler Wrap(Handler handler, std::shared_ptr<Executor> threads);

  // Number of deliveries received and not yet settled, including those whose copies are in flight.
  std::size_t open() const;

  // Number of open deliveries whose handler is running or about to be called.
  std::size_t handling() const;

  // Drops all open deliveries, because their channel is gone and the broker has requeued them. The
  // outcomes of their handlers are ignored.
  void Abandon();
  // Like `Abandon()`, with the reason, as in SubscriptionListener::OnInterrupted. kAborted: the
  // broker has cancelled the consumer. A message that its handler had for the whole consumer
  // timeout counts as failed once, when it is delivered again: see
  // RetryOptions::count_redeliveries. kInternal: the broker has failed on another message, and the
  // redelivery of the open ones does not count.
  void Abandon(const absl::Status& why);

  // Calls `idle` once no delivery is open: in the next turn of the loop, or 200 ms later for a
  // quorum queue, which loses acks that are still under way when the channel closes. Only one call
  // may be pending.
  void WhenIdle(std::function<void()> idle);

  // For Consumer.
  class RETRYQ_NO_EXPORT Impl;
  Impl& impl() { return *impl_; }

 private:
  explicit Retrier(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace retryq

#endif  // RETRYQ_BROKER_RETRIER_H_
