#ifndef RETRYQ_SRC_RETRY_ENDLESS_LEASE_H_
#define RETRYQ_SRC_RETRY_ENDLESS_LEASE_H_

#include "absl/time/time.h"
#include "retry/lease_clock.h"

namespace retryq {

// The lease of a queue that somebody else has made, without x-expires: one answer, which says that
// it is there, is good for ever.
class EndlessLease final : public LeaseClock {
 public:
  Answer Answered(absl::Duration sent_at, absl::Duration /*now*/) override {
    renewed_at_ = sent_at;
    if (granted()) return Answer::kRenewed;
    Grant();
    return Answer::kGranted;
  }

  absl::Duration renewed_at() const override { return renewed_at_; }
  absl::Duration renewal_due() const override { return absl::InfiniteDuration(); }
  absl::Duration over_at() const override { return absl::InfiniteDuration(); }
  absl::Duration end() const override { return absl::InfiniteDuration(); }
  absl::Duration usable_from() const override { return -absl::InfiniteDuration(); }
  absl::Duration safe_from() const override { return -absl::InfiniteDuration(); }

 private:
  absl::Duration publishable_until() const override { return absl::InfiniteDuration(); }
  absl::Duration covered_until() const override { return absl::InfiniteDuration(); }

  absl::Duration renewed_at_ = -absl::InfiniteDuration();
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_ENDLESS_LEASE_H_
