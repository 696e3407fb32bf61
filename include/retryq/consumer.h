#ifndef RETRYQ_CONSUMER_H_
#define RETRYQ_CONSUMER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "retryq/breaker.h"
#include "retryq/export.h"
#include "retryq/retry_options.h"
#include "retryq/work_queue.h"

namespace retryq {

struct ConsumerOptions {
  // The work queue. It must exist, unless `declare` is set. Required.
  std::string queue;

  // The exchange that messages return through. "" (the default exchange): to
  // exactly `queue`. A named one must exist at the start. A message that came
  // through it, as the broker reports it, returns through it with the same
  // routing key, and is skipped by the other queues that its bindings lead to, see
  // `share_retries`; any other message, and one that has returned directly, returns to exactly
  // `queue`. Headers do not count.
  std::string work_exchange = {};

  RetryOptions retry = {};

  // Messages that are given up wait here. Empty: `<queue>.parked`. Declared
  // (durable) if missing.
  std::string parked_queue = {};

  // Unacked deliveries at a time. 1 to 65535. Together with `max_body` it bounds memory.
  std::uint16_t prefetch = 64;

  // Bytes of the largest body that is kept in memory, 1 to 512 MiB. A message with a larger one is
  // not handled. RetryOptions::on_limit says what becomes of it: it is rejected, discarded, or
  // parked. To be parked its body is published as it arrives, on a connection of its own, of which
  // a few MiB at most are in memory; it is acked once that publish is confirmed. If that fails it
  // stays in the queue, unacked, in one place of `prefetch`, and the observer hears kHeld; where
  // the broker is known not to count that, it is given back after a minute and comes again.
  //
  // The bodies of this consumer's messages that are in memory take at most twice as much together;
  // those below 32 KiB do not count, of which there are `prefetch` at most. What else the broker
  // has sent is read and left out, and goes back into the queue. Consuming pauses until half of
  // the memory is free, and goes on with a smaller prefetch for a while. Quorum queues before 4.3
  // count such a return as a delivery, and so as a failed attempt: choose `prefetch` and `max_body`
  // so that it is an exception.
  std::uint64_t max_body = std::uint64_t{128} << 20;

  // Threads for blocking handlers, at most 1024. 0: handlers run on the loop's thread.
  int handler_threads = 0;

  // A retry through a work exchange goes to every queue that the exchange leads to, and normally
  // only the queue that failed takes it: consumers of the others ack it unseen (kSkipped). Set,
  // this consumer handles retries of other queues too, and the attempts of all queues count
  // together: RetryOptions::max_attempts says how many calls that can be.
  bool share_retries = false;

  // Names that `queue` had before. The attempts of a message that failed under one of them go on;
  // of others they begin at 0, as a message that failed in another queue starts anew here. For the
  // time that messages of the former queue still come: its workers, and what waits for it in delay
  // queues, go on by the former name. Up to 16 names.
  std::vector<std::string> former_queues = {};

  // How long a delivery may stay unsettled until RabbitMQ takes it back, which counts as a failure:
  // see RetryOptions::count_redeliveries. In whole milliseconds, above zero; 0: what the broker or
  // the queue is configured for, 30 minutes by default. Only quorum queues of RabbitMQ 4.3 or newer
  // go by it. What is prefetched and not begun counts into that time as well.
  absl::Duration consumer_timeout = absl::ZeroDuration();

  // Shown in the management UI. Empty: host and process id.
  std::string consumer_tag = {};

  // Pauses consuming while most calls fail with errors that are retried, as the service that they
  // call is down: messages keep their attempts and wait in `queue`, and the service is left alone.
  // After the pause one message at a time is tried (prefetch 1). Messages that were prefetched and
  // not begun go back without being counted; with an asynchronous handler all have begun, unless
  // it settles them by Outcome::Requeue when the observer hears kBreakerOpened. Each consumer has a
  // breaker of its own. Nothing: none.
  std::optional<BreakerOptions> breaker = std::nullopt;

  // Declares `queue` so if it is missing, with its bindings: at the start, and whenever it is found
  // to be gone later. A queue that is there is consumed as it is, whatever its arguments. The name
  // in it is empty, or `queue`.
  std::optional<WorkQueue> declare = std::nullopt;
};

// A running consumer, made by Client::Consume, which says what is guaranteed. Move-only. Used on
// the loop's thread.
//
// Destroying it, which may be inside any callback, stops at once: what is open goes back to the
// queue, and the outcomes of its handlers are ignored. With `handler_threads` the handlers that are
// running see `abandoned()`; what they have published or declared by way of the loop's executor is
// answered with kCancelled, and what they have posted there and has not begun is destroyed. Then
// the destructor waits for them, a second at most (not inside an observer), and the loop's
// destructor for those that run longer. So a handler that waits for its own publish ends, and one
// that waits for something else must watch `abandoned()`; what it uses must live until then.
class RETRYQ_EXPORT Consumer {
 public:
  class RETRYQ_NO_EXPORT Impl;
  explicit Consumer(std::unique_ptr<Impl> impl);
  Consumer(Consumer&&) noexcept;
  Consumer& operator=(Consumer&&) noexcept;
  ~Consumer();

  // Stops gracefully: no new deliveries, running handlers finish, all is settled; then calls
  // `drained` with true. Calls it with false, and requeues the rest, at `deadline`, or when no
  // handler has run for twelve seconds, or for three in which the broker confirmed no copy (nine if
  // copies are published and unconfirmed). May be called again: each `drained` is called, and the
  // earliest deadline applies. An infinite deadline means none.
  void Drain(absl::Duration deadline, std::function<void(bool)> drained);

  // Stops and resumes the flow of deliveries; what is open goes on.
  void Pause();
  void Resume();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace retryq

#endif  // RETRYQ_CONSUMER_H_
