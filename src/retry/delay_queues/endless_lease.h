#ifndef RETRYQ_SRC_RETRY_DELAY_QUEUES_ENDLESS_LEASE_H_
#define RETRYQ_SRC_RETRY_DELAY_QUEUES_ENDLESS_LEASE_H_

#include "absl/time/time.h"
#include "retry/delay_queues/lease_clock.h"

namespace retryq {

// The lease of a queue that another user has made, without x-expires: one answer, which says that
// it is there, is good for ever.
class EndlessLease final : public LeaseClock {
 public:
  EndlessLease() : LeaseClock(Times()) {}

  Answer Answered(absl::Duration sent_at, absl::Duration /*now*/) override {
    times_.renewed_at = sent_at;
    if (granted()) return Answer::kRenewed;
    Grant();
    return Answer::kGranted;
  }
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELAY_QUEUES_ENDLESS_LEASE_H_
