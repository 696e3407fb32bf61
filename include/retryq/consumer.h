#ifndef RETRYQ_CONSUMER_H_
#define RETRYQ_CONSUMER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/amqp/table.h"
#include "retryq/breaker.h"
#include "retryq/duration.h"
#include "retryq/export.h"
#include "retryq/retry_options.h"
#include "retryq/work_queue.h"

namespace retryq {

struct ConsumerOptions {
  // The work queue. It must exist, unless `declare` is set. Required.
  std::string queue;

  // The exchange through which messages return. "" (the default exchange): to exactly `queue`. A
  // named exchange must exist at the start. A message that came through it, as the broker reports,
  // returns through it with the same routing key, and consumers of other queues that are bound to
  // the exchange skip it, see `share_retries`. Any other message, and any message that has returned
  // directly, returns to exactly `queue`. Headers have no influence on this.
  std::string work_exchange = {};

  RetryOptions retry = {};

  // Queue for messages that are given up. Empty: `<queue>.parked`. Declared (durable) if missing.
  std::string parked_queue = {};

  // Maximum number of unacked deliveries. 1 to 65535. Together with `max_body` it limits memory.
  // Slow handlers need less: see doc/consumers.md.
  std::uint16_t prefetch = 256;

  // Bytes of the largest body that is kept in memory, 1 to 512 MiB. A message with a larger body is
  // not handled: RetryOptions::on_limit decides whether it is rejected, discarded or parked. To
  // park it, the consumer publishes the body while it arrives, on a separate connection, with a few
  // MiB at most in memory, and acks the message once that publish is confirmed. If this fails, the
  // message stays in the queue, unacked, takes one place of `prefetch`, and the observer receives
  // kHeld; if the broker is known not to count requeues, the message is requeued after a minute and
  // delivered again.
  //
  // All bodies of this consumer in memory together take at most twice `max_body`; bodies below 32
  // KiB do not count, and there are at most `prefetch` of them. Further messages that the broker
  // has already sent are read but not kept, and are requeued. Consuming pauses until half of the
  // memory is free, and continues with a smaller prefetch for a while. Quorum queues before 4.3
  // count these requeues as deliveries, and so as failed attempts: choose `prefetch` and `max_body`
  // so that they are rare.
  std::uint64_t max_body = std::uint64_t{128} << 20;

  // Threads for blocking handlers, at most 1024. 0: handlers run on the loop's thread.
  int handler_threads = 0;

  // A retry through a work exchange reaches every queue to which the exchange routes it. If false,
  // only consumers of the queue in which the message failed handle it; those of the other queues
  // ack it without calling a handler (kSkipped). If true, this consumer handles retries of other
  // queues too, and the attempts of all queues are counted together: see RetryOptions::max_attempts
  // for the number of calls.
  bool share_retries = false;

  // Previous names of `queue`. A message that failed under one of them keeps its attempt count; a
  // message that failed in any other queue starts at 0 here. Set it as long as messages of the
  // former queue still arrive: workers of the former queue, and messages that wait for it in delay
  // queues, still use the former name. Up to 16 names.
  std::vector<std::string> former_queues = {};

  // How long a delivery may stay unsettled before RabbitMQ requeues it, which counts as a failure:
  // see RetryOptions::count_redeliveries. In whole milliseconds, above zero. 0: the setting of the
  // broker or of the queue, 30 minutes by default. Only quorum queues of RabbitMQ 4.3 or newer
  // apply it. The time for which a prefetched delivery waits for its handler counts too.
  Duration consumer_timeout = absl::ZeroDuration();

  // Consumer tag in the management UI. Empty: host and process id.
  std::string consumer_tag = {};

  // The consumer priority (x-priority). RabbitMQ delivers to the consumer with the highest priority
  // that has room in its prefetch.
  int priority = 0;

  // Whether this consumer must be the only one of the queue. RabbitMQ refuses it while the queue
  // has another consumer, and refuses others while it consumes. A refused consumer waits and tries
  // again, as after any interruption (kInterrupted), so that it can stand by for a worker on
  // another machine. Quorum queues ignore it: declare the queue with x-single-active-consumer
  // instead, which also hands over without a pause.
  bool exclusive = false;

  // Further arguments of the consumer, passed to RabbitMQ as they are. Not x-priority and
  // x-consumer-timeout, which have options of their own.
  amqp::Table arguments = {};

  // Pauses consuming while most calls fail with errors that are retried, because the service that
  // they call is down: messages use up no attempts and wait in `queue`, and the service gets no
  // calls. After the pause, messages are tried one at a time (prefetch 1). Prefetched messages
  // whose handler has not been called are requeued without being counted. An asynchronous handler
  // has been called for all of them: it can requeue them by Outcome::Requeue when the observer
  // receives kBreakerOpened. Each consumer has its own breaker. nullopt: no breaker.
  std::optional<BreakerOptions> breaker = std::nullopt;

  // If set, `queue` is declared with these properties and bindings if it is missing: at the start,
  // and whenever it turns out to be missing later. An existing queue is consumed as it is, whatever
  // its arguments. WorkQueue::name must be empty or equal to `queue`.
  std::optional<WorkQueue> declare = std::nullopt;

  // Called at most once, on the loop's thread, if consuming fails before its first success in a way
  // that waiting does not fix: the queue is missing (kNotFound), access is refused
  // (kPermissionDenied), …. The consumer then does nothing more; the callback may destroy it.
  // Empty: the error ends the loop, and `Run` returns it (or it goes to the callback `fatal` of the
  // client).
  std::function<void(absl::Status)> on_failed = nullptr;
};

// A running consumer, made by Client::Consume, which documents the guarantees. Move-only. Used on
// the loop's thread; a call on another thread ends the process, as for Client.
//
// The destructor, which may run inside any callback, stops the consumer at once: open deliveries
// are requeued, and the outcomes of their handlers are ignored. With `handler_threads`, running
// handlers see `abandoned()`; their publishes and declares through the loop's executor fail with
// kCancelled, and work that they posted there and that has not begun is destroyed. Then the
// destructor waits for these handlers for at most a second (not inside an observer), and the loop's
// destructor waits for those that run longer. So a handler that waits for its own publish returns;
// one that waits for anything else must check `abandoned()`, and the objects that it uses must live
// until it returns.
class RETRYQ_EXPORT Consumer {
 public:
  class RETRYQ_NO_EXPORT Impl;
  // Makes an object that consumes nothing until a consumer is assigned to it.
  Consumer() noexcept;
  explicit Consumer(std::unique_ptr<Impl> impl);
  Consumer(Consumer&&) noexcept;
  Consumer& operator=(Consumer&&) noexcept;
  ~Consumer();

  // Stops gracefully: takes no new deliveries, lets running handlers finish and settles all
  // deliveries; then calls `drained` with true. Calls it with false, and requeues the remaining
  // deliveries, at `deadline`, or when no handler has run for twelve seconds, or when no handler
  // has run and the broker has confirmed no copy for three seconds (nine if copies are published
  // and unconfirmed). May be called again: each `drained` is called, and the earliest deadline
  // applies. An infinite deadline is no deadline.
  void Drain(Duration deadline, absl::AnyInvocable<void(bool) &&> drained);

  // Stops the flow of deliveries. From this call on, no handler is called, except by a thread of
  // `handler_threads` that is about to call it. Running calls continue, asynchronous handlers keep
  // their deliveries, and their outcomes are carried out. All other deliveries are requeued without
  // being counted: those that wait for a thread, those that arrive after this call, and, once their
  // delay is over, those whose delay is not over yet. See doc/returns.md for quorum queues before
  // 4.3.
  void Pause();
  // Consumes again. Does nothing if the consumer is not paused.
  void Resume();

  // `ready` is called on the loop's thread each time the broker has accepted the consumer: at the
  // start, and after each interruption, but not after `Resume`; in the next turn of the loop if it
  // is accepted now. Replaces the callback of an earlier call. It may destroy the consumer.
  void OnReady(absl::AnyInvocable<void()> ready);

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace retryq

#endif  // RETRYQ_CONSUMER_H_
