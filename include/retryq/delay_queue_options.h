#ifndef RETRYQ_DELAY_QUEUE_OPTIONS_H_
#define RETRYQ_DELAY_QUEUE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/duration.h"
#include "retryq/export.h"

namespace retryq {

// The longest TTL and x-expires that RabbitMQ accepts: ten years.
inline constexpr absl::Duration kMaxQueueLifetime = absl::Milliseconds(315'360'000'000);

enum class QueueType { kClassic, kQuorum };

// The names, type and limits of a client's delay queues, and how long they live after their last
// use. All clients of a vhost that share a prefix should use the same values; if they differ, the
// queues of the client that declares later get a hash in their names.
struct DelayQueueOptions {
  // Queues are named `<prefix>.<milliseconds>`. 1 to 100 bytes, no control characters,
  // not beginning with "amq.".
  std::string prefix = "retry";

  // Maximum number of TTLs, whatever delays jitter, handlers and publishers choose: half of them
  // (at least 16, at most 64) are the steps of the DelayGrid, for arbitrary delays; the others are
  // the exact delays of the policies of this client's consumers. Policies with more distinct delays
  // than that also use the grid, which costs hops but no accuracy. The limit applies to each client
  // and separately to each kind of queue: to those of a named work exchange (`.direct`), to those
  // with a hash in their names, and, unless they are shared, to the quorum queues of each work
  // queue. Clients share the grid, but if their policies differ, the queues for exact delays add
  // up: see `exact_queues`. 16 to 4096.
  std::size_t max_delay_queues = 64;

  // Whether policies have queues for their exact delays. True: a delay without jitter waits in a
  // single queue, and costs one publish; clients that share a prefix but not their policies may
  // have more delays in total than `max_delay_queues`. False: all delays use the grid, which then
  // has `max_delay_queues` steps, at most 64. If all clients set this to false, there are never
  // more delay queues than that, whatever the number of clients and policies. A delay that is not a
  // step takes several hops, each of which costs a publish, and depends on the clocks of the
  // workers that forward the message.
  bool exact_queues = true;

  // kClassic: fast, and the queues disappear soon after their last use. No fault of the network or
  // of a worker loses a message. A broker that is killed may lose messages that had just come due;
  // a restart may lose messages that come due while a quorum work queue has no leader, or (RabbitMQ
  // 4) at the very moment of the restart.
  // kQuorum: no fault of the broker loses a message either. Each message costs a write to disk on
  // most nodes, and each work queue has its own delay queues, named
  // `<prefix>.<milliseconds>.<work queue>.q0` to `.q3`, which stay for up to twice TTL plus outage.
  // Parked queues are declared with the same type.
  QueueType queue_type = QueueType::kClassic;

  // kQuorum: total downtime of the broker and the work queue after which waiting messages are lost:
  // downtime does not extend the lifetime of the queues. 5 minutes to 4 years, and at least twice
  // confirm_timeout. The clocks of the workers may differ by less than outage - confirm_timeout.
  Duration outage = absl::Hours(24);

  // kQuorum: whether all work queues share the delay queues, `<prefix>.<milliseconds>.q0` to `.q3`,
  // as they always share classic ones. False: each work queue has its own delay queues,
  // `<prefix>.<milliseconds>.<work queue>.q0` to `.q3`, so that a work queue that is missing or
  // full affects no other work queue. True: fewer queues, but RabbitMQ stops a delay queue that has
  // 32 messages it cannot deliver. If a work queue is missing or full and 32 of its messages are
  // due, the retries of all other work queues with the same delay wait too, and if this lasts until
  // the lease of the delay queue ends, they are lost (F37 in doc/rabbitmq_facts.md).
  bool share = false;

  // kClassic: the margin protects messages from the expiry of their queue. A queue lives for TTL +
  // window + margin after its last declare, and messages are published into it only for `window`
  // after that declare, so that every message expires before its queue. The margin must cover a
  // stalled connection: at least four heartbeats.
  Duration margin = absl::Minutes(1);

  // kClassic: the window is the TTL, limited to the range between these two. A longer window means
  // fewer renewals, and queues that stay longer. 0 < min_window <= max_window.
  Duration min_window = absl::Minutes(1);
  Duration max_window = absl::Minutes(10);

  // Limits of each delay queue: number of messages, and bytes of their bodies. 0: unlimited. A full
  // queue refuses copies: the originals stay unacked, so that consuming stops at `prefetch`, and
  // are tried again with growing pauses of up to 30 s. In a burst a quorum queue accepts more than
  // this, because it checks its length only from time to time.
  std::uint64_t max_length = 0;
  std::uint64_t max_length_bytes = 0;

  // False: the client declares nothing, for users without the right to configure. Delay queues,
  // their exchanges and the parked queue must exist (`retryq plan --definitions` writes a file to
  // import). Delay queues must be named `<prefix>.<milliseconds>`, or
  // `<prefix>.<milliseconds>.<work queue>.q` if they are quorum queues that are not shared, and
  // must have that TTL and no x-expires. Their leases therefore do not end, and they do not rotate.
  // The options above are then ignored, except `prefix`, `queue_type` and `share`. A missing queue
  // is reported (kDeclareFailed), and its messages stay unacked.
  bool declare = true;

  // How long to wait for the confirm of a publish before its result counts as unknown and the
  // message is published again. The time does not run while the broker blocks the connection. Above
  // zero.
  Duration confirm_timeout = absl::Seconds(30);
};

// kInvalidArgument names every invalid field, separated by "; ". `heartbeat` is that of the
// connection: zero is refused, because leases depend on detecting a dead peer.
RETRYQ_EXPORT absl::Status Validate(const DelayQueueOptions& options, absl::Duration heartbeat,
                                    const std::string& field = "delay_queues");

// Whether the queue for the longest delay in use can exist: its lifetime must not exceed
// kMaxQueueLifetime. kInvalidArgument names `field`, which sets that delay, and the longest
// possible delay.
RETRYQ_EXPORT absl::Status ValidateLease(absl::Duration longest_delay,
                                         const DelayQueueOptions& options,
                                         const std::string& field = "retry.backoff.max");

// How long after its declare retryq publishes to a classic queue for `delay`.
RETRYQ_EXPORT absl::Duration LeaseWindow(absl::Duration delay, const DelayQueueOptions& options);

// How long retryq publishes to a quorum queue for `delay` before the next one replaces it: delay +
// outage, in whole milliseconds, rounded up.
RETRYQ_EXPORT absl::Duration EpochLength(absl::Duration delay, const DelayQueueOptions& options);

// Lifetime of an unused queue for `delay`: its x-expires in whole milliseconds, rounded up.
// Classic: delay + window + margin. Quorum: twice the epoch, plus up to a second that distinguishes
// the epochs.
RETRYQ_EXPORT absl::Duration QueueLifetime(absl::Duration delay, const DelayQueueOptions& options);

}  // namespace retryq

#endif  // RETRYQ_DELAY_QUEUE_OPTIONS_H_
