#ifndef RETRYQ_SRC_RETRY_DELAY_QUEUES_QUORUM_LEASE_H_
#define RETRYQ_SRC_RETRY_DELAY_QUEUES_QUORUM_LEASE_H_

#include <cstdint>

#include "absl/time/time.h"
#include "retry/delay_queues/lease_clock.h"
#include "retryq/delay_queue_options.h"

namespace retryq {

// One of the epochs that time is cut into for the quorum queues of one TTL: publishing goes to
// another queue in each, as no declare keeps a quorum queue alive.
struct Epoch {
  // Counts from the Unix epoch on, so that all workers mean the same.
  std::int64_t number = 0;
  absl::Duration ends = absl::InfiniteDuration();  // by the boot clock

  // The present one. Both clocks are read at the same moment; later steps of the wall clock do
  // not count.
  static Epoch At(absl::Time wall, absl::Duration since_boot, absl::Duration ttl,
                  const DelayQueueOptions& options) {
    const absl::Duration length = EpochLength(ttl, options);
    absl::Duration into;
    const std::int64_t number = absl::IDivDuration(wall - absl::UnixEpoch(), length, &into);
    return {.number = number, .ends = since_boot + length - into};
  }
};

// The lease of a quorum queue that is made for one epoch. With W = TTL + outage for the length of
// an epoch, counted from the epoch's start:
//
//   0                        the queue is made, here or later
//     + W                    nothing is published from here on
//     + W + confirm_timeout  confirms no longer count
//     + W + confirm_timeout + TTL   what is in it is due by now
//     + 2 W                  the broker deletes the queue, here or later
//
// What lies between the last two, outage - confirm_timeout, is for the time that the broker or the
// work queue is down and for clocks that differ.
//
// One answer is enough: the queue of an epoch is far from its end throughout.
class QuorumLease final : public LeaseClock {
 public:
  // How long after its making a quorum queue may come back empty from a crash: seen up to half a
  // second after, never at 1.5 s (F27 in doc/rabbitmq_facts.md).
  static constexpr absl::Duration kSettling = absl::Seconds(2);

  // How long after the answer nothing is published. The declare of a queue that another client is
  // making at this very moment is answered before the queue is there; what is published into it
  // then can leave it without a timer, so that it never lets a message go: on 3.10.8 with 5 of 200
  // queues, and with none of 200 a tenth of a second later.
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
