#ifndef RETRYQ_SRC_RETRY_CLASSIC_LEASE_H_
#define RETRYQ_SRC_RETRY_CLASSIC_LEASE_H_

#include "absl/time/time.h"
#include "retry/lease_clock.h"
#include "retryq/delay_queue_options.h"

namespace retryq {

// The lease of a classic queue, which every declare renews.
//
//   renewed_at                    the last answered declares were sent
//     + window/2                  renewal is due
//     + window                    nothing is published from here on
//     + window + margin/2         confirms no longer count; what is answered from here on is a gap
//     + TTL + window + margin     the broker deletes the queue, here or later
//
// A queue at the edge of its lease can answer a declare and still go. So it takes
// two answers to get a lease, the second asked for after the first had come; from
// then on one answer renews it. An answer after a gap is a first one again.
class ClassicLease final : public LeaseClock {
 public:
  ClassicLease(absl::Duration ttl, const DelayQueueOptions& options)
      : window_(LeaseWindow(ttl, options)),
        half_window_(window_ / 2),
        coverage_(window_ + options.margin / 2),
        lifetime_(ttl + window_ + options.margin) {}

  Answer Answered(absl::Duration sent_at, absl::Duration now) override {
    const bool gap = now >= renewed_at_ + coverage_;
    renewed_at_ = sent_at;
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
    renewed_at_ = -absl::InfiniteDuration();
  }

  absl::Duration renewed_at() const override { return renewed_at_; }
  absl::Duration renewal_due() const override { return renewed_at_ + half_window_; }
  absl::Duration over_at() const override { return absl::InfiniteDuration(); }
  // When the broker deletes the queue, at the earliest.
  absl::Duration end() const override { return renewed_at_ + lifetime_; }
  absl::Duration usable_from() const override { return -absl::InfiniteDuration(); }
  absl::Duration safe_from() const override { return -absl::InfiniteDuration(); }

 private:
  absl::Duration publishable_until() const override { return renewed_at_ + window_; }
  absl::Duration covered_until() const override { return renewed_at_ + coverage_; }

  absl::Duration window_;
  absl::Duration half_window_;
  absl::Duration coverage_;
  absl::Duration lifetime_;
  absl::Duration renewed_at_ = -absl::InfiniteDuration();
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_CLASSIC_LEASE_H_
