#ifndef RETRYQ_RETRIER_H_
#define RETRYQ_RETRIER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "retryq/broker.h"
#include "retryq/clock.h"
#include "retryq/delay_queue_options.h"
#include "retryq/delivery.h"
#include "retryq/executor.h"
#include "retryq/export.h"
#include "retryq/observer.h"
#include "retryq/outcome.h"
#include "retryq/random.h"
#include "retryq/retry_options.h"
#include "retryq/settlement.h"
#include "retryq/timers.h"

namespace retryq {

// Handles one message and says what became of it. Called on the loop's
// thread, or on a pool's thread where `handler_threads` says so. A thrown
// exception is a retry.
using Handler = std::function<Outcome(const Delivery&)>;

// Handles one message and says later, from any thread, what became of it.
using AsyncHandler = std::function<void(Delivery, Settlement)>;

// Takes messages as a Broker delivers them.
using DeliveryHandler = std::function<void(amqp::MessagePtr)>;

// What retrying takes from its surroundings. None is owned but the executor;
// all must outlive whatever was made with them. `observer` may be null.
struct Environment {
  const Clock* clock = nullptr;
  Timers* timers = nullptr;
  Random* random = nullptr;
  std::shared_ptr<Executor> executor = nullptr;
  Observer* observer = nullptr;
};

struct RetrierOptions {
  // The work queue that the messages come from. Required.
  std::string queue;

  // The exchange that messages return through. "" is the default exchange: the
  // copy returns to exactly `queue`. A named one must exist, and leads the copy
  // of a message that the broker reports to have come through it wherever its
  // bindings lead the same routing key. Headers do not count.
  std::string work_exchange = {};

  RetryOptions retry = {};

  // Messages that are given up. Empty: `<queue>.parked`.
  std::string parked_queue = {};

  // Handle retries of other queues, too: see ConsumerOptions.
  bool share_retries = false;

  // Names that `queue` had before: see ConsumerOptions.
  std::vector<std::string> former_queues = {};
};

class DelayQueues;
class Publisher;

// Wraps a consumer callback of yours so that failures are retried: for those
// who bring their own Broker. `Client::Consume` does this and the consuming
// too.
//
// Delivery guarantee: at least once. Each delivery ends in exactly one Ack or Reject at the broker,
// after its copy, if it needs one, is confirmed and not returned.
//
// Used on the loop's thread. The destructor forgets what is open (the broker requeues it when its
// channel closes); functions that `Wrap` has made do nothing from then on.
class RETRYQ_EXPORT Retrier {
 public:
  // What all retriers on one broker share: delay queues with their leases, and
  // the publishing with its confirms. Registers itself as the broker's
  // listener, so there is one for each broker. Retriers keep it alive. Used on the loop's thread.
  class Shared {
   public:
    // kInvalidArgument names the wrong fields. `broker` must outlive it. Leases depend on noticing
    // a dead peer, so a `Broker::heartbeat` of zero is refused.
    static absl::StatusOr<std::shared_ptr<Shared>> Create(Broker& broker, Environment environment,
                                                          DelayQueueOptions options = {});
    virtual ~Shared() = default;
  };

  // kInvalidArgument names the wrong fields.
  static absl::StatusOr<std::unique_ptr<Retrier>> Create(std::shared_ptr<Shared> shared,
                                                         RetrierOptions options);

  virtual ~Retrier() = default;

  // Looks for what must be there before consuming: the work queue, the work exchange, and the
  // parked queue, which is declared if it is missing. Errors name the object and the remedy.
  virtual void Prepare(std::function<void(absl::Status)> done) = 0;

  // The callback to give to your consumer.
  virtual DeliveryHandler Wrap(Handler handler) = 0;
  virtual DeliveryHandler Wrap(AsyncHandler handler) = 0;
  // For a handler that blocks: it is called on `threads`, for several messages at once if those are
  // several. What it captures must outlive the last call. Work that is dropped unrun leaves its
  // delivery open.
  virtual DeliveryHandler Wrap(Handler handler, std::shared_ptr<Executor> threads) = 0;

  // Deliveries taken and not settled yet, copies in flight included.
  virtual std::size_t open() const = 0;

  // Of those, how many are with the handler, or on their way to it.
  virtual std::size_t handling() const = 0;

  // Forgets all open deliveries: their channel is gone and the broker has
  // requeued them. Results of their handlers are dropped.
  virtual void Abandon() = 0;
  // The same, where it is known why: as SubscriptionListener::OnInterrupted says it. With kAborted
  // the broker has ended the consumer, and a message that its handler had for as long as that takes
  // counts as failed once, when it comes again: RetryOptions::count_redeliveries. With kInternal
  // the broker has failed on another message, and this end of what is open does not count.
  virtual void Abandon(const absl::Status& why) = 0;

  // Calls `idle` once nothing is open (at the next turn of the loop, if so
  // already). One at a time.
  virtual void WhenIdle(std::function<void()> idle) = 0;
};

}  // namespace retryq

#endif  // RETRYQ_RETRIER_H_
