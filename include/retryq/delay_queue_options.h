#ifndef RETRYQ_DELAY_QUEUE_OPTIONS_H_
#define RETRYQ_DELAY_QUEUE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/export.h"

namespace retryq {

// The longest TTL and x-expires that RabbitMQ takes: ten years.
inline constexpr absl::Duration kMaxQueueLifetime = absl::Milliseconds(315'360'000'000);

enum class QueueType { kClassic, kQuorum };

// How the delay queues of a client look and how long they outlive their last
// use. All clients of a vhost that share a prefix should have the same values;
// where they differ, the later one's queues get a hash in their names.
struct DelayQueueOptions {
  // Queues are named `<prefix>.<milliseconds>`. 1 to 100 bytes, no control characters,
  // not beginning with "amq.".
  std::string prefix = "retry";

  // How many TTLs there are, at the most, whatever delays chance, handlers and publishers choose:
  // half of them (at least 16, at most 64) are the steps of the DelayGrid that arbitrary delays go
  // through, the others the exact delays of the policies of this client's consumers. Policies with
  // more distinct delays than fit go by the grid too, which costs hops and no accuracy. Counted for
  // each client and for each kind of queue: those beside a named work exchange (`.direct`) again,
  // those with a hash in their names, and, unless they are shared, the quorum queues of each work
  // queue. Clients share the grid, but their policies' exact
  // delays add up where they differ: see `exact_queues`. 16 to 4096.
  std::size_t max_delay_queues = 64;

  // Whether policies have queues for their exact delays. True: a delay without jitter waits in a
  // single queue, at the price of one message published; several clients of a prefix with
  // different policies may have more delays in all than `max_delay_queues`. False: all delays go by
  // the grid, which then has `max_delay_queues` steps, 64 at the most; so there are never more,
  // however many clients have whatever policies, if all of them say the same here. A delay that is
  // no step then takes several hops, each one more message, and goes by the clocks of the workers
  // that send it on.
  bool exact_queues = true;

  // kClassic: fast, and gone soon after its last use. No fault of the network or of a worker loses
  // a message; a broker that is killed may lose those that had just come due, and a restart those
  // that come due while a quorum work queue has no leader, or (RabbitMQ 4) at that very moment.
  // kQuorum: no fault of the broker loses one either. Costs a write to disk on most nodes for each
  // message, and queues of each work queue's own, named `<prefix>.<milliseconds>.<work queue>.q0`
  // to `.q3`, that stay for up to twice TTL and outage. Parked queues are of the same type where
  // they are declared.
  QueueType queue_type = QueueType::kClassic;

  // kQuorum: how long the broker and the work queue may be down in all before waiting messages
  // are lost: downtime counts, as the queues' time runs on. 5 minutes to 4 years, and at
  // least twice confirm_timeout. The clocks of the workers may differ by less than
  // outage - confirm_timeout.
  absl::Duration outage = absl::Hours(24);

  // kQuorum: whether all work queues share the delay queues, `<prefix>.<milliseconds>.q0` to `.q3`,
  // as they always share classic ones. False: each work queue has delay queues of its own,
  // `<prefix>.<milliseconds>.<work queue>.q0` to `.q3`, so that a work queue that is gone or full
  // affects no other. True: fewer queues, at a price: RabbitMQ holds at most 32 messages of a delay
  // queue that it cannot deliver. If a work queue is gone or full and 32 of its messages are due,
  // the retries of all other work queues with the same delay wait too, and if that lasts until the
  // delay queue's lease ends, they are lost (F37 in doc/rabbitmq_facts.md).
  bool share = false;

  // kClassic: what protects a message from a queue that expires: a queue lives for
  // TTL + window + margin after its last declare, and nothing is published into
  // it later than `window` after that, so that every message expires before its queue.
  // The margin must cover a stalled connection: at least four heartbeats.
  absl::Duration margin = absl::Minutes(1);

  // kClassic: the window is the TTL, held between these two. A longer one means
  // fewer renewals and queues that linger longer. 0 < min_window <= max_window.
  absl::Duration min_window = absl::Minutes(1);
  absl::Duration max_window = absl::Minutes(10);

  // Limits of each delay queue: messages, and bytes of their bodies. 0 = none. A full queue refuses
  // copies: their originals stay unacked, so that consuming ends at `prefetch`, and are tried again
  // with growing pauses of up to 30 s. A queue of type quorum takes more than this in a burst, as
  // it looks at its length only now and then.
  std::uint64_t max_length = 0;
  std::uint64_t max_length_bytes = 0;

  // False: nothing is declared, for users without the right to configure. Delay queues, their
  // exchanges and the parked queue must be there (`retryq plan --definitions` makes a file to
  // import them from). They are named `<prefix>.<milliseconds>`, quorum queues that are not shared
  // `<prefix>.<milliseconds>.<work queue>.q`; must have that TTL and no x-expires: so no lease
  // ends, and nothing rotates. The options above are ignored then, except `prefix`, `queue_type`
  // and `share`. A queue that is missing is reported (kDeclareFailed), its messages stay unacked.
  bool declare = true;

  // How long to wait for a publish's confirm before it counts as unknown and the message is
  // published again. Stands still while the broker blocks the connection. Above zero.
  absl::Duration confirm_timeout = absl::Seconds(30);
};

// kInvalidArgument naming every wrong field, separated by "; ". `heartbeat` is the
// connection's: zero is refused, since leases depend on noticing a dead peer.
RETRYQ_EXPORT absl::Status Validate(const DelayQueueOptions& options, absl::Duration heartbeat,
                                    const std::string& field = "delay_queues");

// Whether the queue for the longest delay in use can be had: its lifetime must not be above
// kMaxQueueLifetime. kInvalidArgument names `field`, which that delay comes from, and
// the longest one possible.
RETRYQ_EXPORT absl::Status ValidateLease(absl::Duration longest_delay,
                                         const DelayQueueOptions& options,
                                         const std::string& field = "retry.backoff.max");

// For how long after its declares a classic queue for `delay` is published into.
RETRYQ_EXPORT absl::Duration LeaseWindow(absl::Duration delay, const DelayQueueOptions& options);

// For how long a quorum queue for `delay` is published into before another one takes over:
// delay + outage, whole milliseconds, rounded up.
RETRYQ_EXPORT absl::Duration EpochLength(absl::Duration delay, const DelayQueueOptions& options);

// How long the queue for `delay` lives, unused: its x-expires in whole milliseconds, rounded up.
// Classic: delay + window + margin. Quorum: twice the epoch, to which up to a second is added that
// tells the epochs apart.
RETRYQ_EXPORT absl::Duration QueueLifetime(absl::Duration delay, const DelayQueueOptions& options);

}  // namespace retryq

#endif  // RETRYQ_DELAY_QUEUE_OPTIONS_H_
