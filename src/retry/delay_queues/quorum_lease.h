#ifndef RETRYQ_SRC_RETRY_DELAY_QUEUES_QUORUM_LEASE_H_
#define RETRYQ_SRC_RETRY_DELAY_QUEUES_QUORUM_LEASE_H_

#include <cstdint>

#include "absl/time/time.h"
#include "retry/delay_queues/lease_clock.h"
#include "retryq/delay_queue_options.h"

namespace retryq {

// For the quorum queues of one TTL, time is divided into epochs. In each epoch retryq publishes to
// another queue, because no declare renews the lease of a quorum queue.
struct Epoch {
  // Counted from the Unix epoch, so that all workers agree.
  std::int64_t number = 0;
  absl::Duration ends = absl::InfiniteDuration();  // by the boot clock

  // Returns the present epoch. Both clocks must be read at the same moment; later steps of the wall
  // clock have no effect.
  static Epoch At(absl::Time wall, absl::Duration since_boot, absl::Duration ttl,
                  const DelayQueueOptions& options) {
    const absl::Duration length = EpochLength(ttl, options);
    absl::Duration into;
    const std::int64_t number = absl::IDivDuration(wall - absl::UnixEpoch(), length, &into);
    return {.number = number, .ends = since_boot + length - into};
  }
};

// The lease of a quorum queue that is declared for one epoch. W = TTL + outage is the length of an
// epoch. Times from the start of the epoch:
//
//   0                        the queue is declared, now or later
//     + W                    publishing stops
//     + W + confirm_timeout  confirms no longer count
//     + W + confirm_timeout + TTL   all messages in the queue are due
//     + 2 W                  the broker deletes the queue, now or later
//
// The time between the last two, outage - confirm_timeout, allows for downtime of the broker or the
// work queue, and for differences of clocks.
//
// One answer is enough to grant the lease: the queue is far from its end during the whole epoch.
class QuorumLease final : public LeaseClock {
 public:
  // How long after its declaration a quorum queue may come back empty from a crash of the broker.
  // Observed up to 0.5 s after, never at 1.5 s (F27 in doc/rabbitmq_facts.md).
  static constexpr absl::Duration kSettling = absl::Seconds(2);

  // How long after the answer publishing waits. If another client is declaring the same queue, the
  // broker may answer before the queue exists. A message published then can leave the queue without
  // a timer, so that it never expires: on 3.10.8 in 5 of 200 queues, and a tenth of a second later
  // in none of 200.
  static constexpr absl::Duration kForming = absl::Seconds(1);

  QuorumLease(const Epoch& epoch, const DelayQueueOptions& options)
      : LeaseClock({.over_at = epoch.ends,
                    .end = epoch.ends + options.confirm_timeout,
                    .usable_from = absl::InfiniteDuration(),
                    .safe_from = absl::InfiniteDuration(),
                    .publishable_until = epoch.ends,
                    .covered_until = epoch.ends + options.confirm_timeout}) {}

  Answer Answered(absl::Duration sent_at, absl::Duration now) override {
    times_.renewed_at = sent_at;
    if (granted()) return Answer::kRenewed;
    Grant();
    times_.usable_from = now + kForming;
    times_.safe_from = now + kSettling;
    return Answer::kGranted;
  }
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELAY_QUEUES_QUORUM_LEASE_H_
