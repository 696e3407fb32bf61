#ifndef RETRYQ_SRC_RETRY_DELAY_QUEUES_CLASSIC_LEASE_H_
#define RETRYQ_SRC_RETRY_DELAY_QUEUES_CLASSIC_LEASE_H_

#include "absl/time/time.h"
#include "retry/delay_queues/lease_clock.h"
#include "retryq/delay_queue_options.h"

namespace retryq {

// The lease of a classic queue, which every declare renews.
//
//   renewed_at                    when the last answered declares were sent
//     + window/2                  renewal is due
//     + window                    publishing stops
//     + window + margin/2         confirms no longer count; a later answer comes after a gap
//     + TTL + window + margin     the broker deletes the queue, now or later
//
// A queue whose lease is about to end can answer a declare and still be deleted. A lease is
// therefore granted on the second answer, to a declare that was sent after the first answer. Then
// each answer renews it. After a gap, two answers are needed again.
class ClassicLease final : public LeaseClock {
 public:
  ClassicLease(absl::Duration ttl, const DelayQueueOptions& options)
      : LeaseClock(Times()),
        window_(LeaseWindow(ttl, options)),
        half_window_(window_ / 2),
        coverage_(window_ + options.margin / 2),
        lifetime_(ttl + window_ + options.margin) {
    CountFrom(-absl::InfiniteDuration());
  }

  Answer Answered(absl::Duration sent_at, absl::Duration now) override {
    const bool gap = now >= times_.covered_until;
    CountFrom(sent_at);
    if (gap) {
      Withdraw();
      return Answer::kFirst;
    }
    if (granted()) return Answer::kRenewed;
    Grant();
    return Answer::kGranted;
  }

  void Break() override {
    Withdraw();
    CountFrom(-absl::InfiniteDuration());
  }

 private:
  void CountFrom(absl::Duration renewed_at) {
    times_.renewed_at = renewed_at;
    times_.renewal_due = renewed_at + half_window_;
    times_.publishable_until = renewed_at + window_;
    times_.covered_until = renewed_at + coverage_;
    // The earliest time at which the broker deletes the queue.
    times_.end = renewed_at + lifetime_;
  }

  const absl::Duration window_;
  const absl::Duration half_window_;
  const absl::Duration coverage_;
  const absl::Duration lifetime_;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELAY_QUEUES_CLASSIC_LEASE_H_
