#ifndef RETRYQ_SRC_RETRY_DELAY_QUEUES_LEASE_CLOCK_H_
#define RETRYQ_SRC_RETRY_DELAY_QUEUES_LEASE_CLOCK_H_

#include <cstdint>

#include "absl/time/time.h"

namespace retryq {

// Determines when a queue may be used, from the answers to its declares. All times are since boot.
// The kinds of queues differ in their times: see ClassicLease and QuorumLease. These times are
// computed at each answer, and compared for each message.
class LeaseClock {
 public:
  virtual ~LeaseClock() = default;

  enum class Answer {
    kFirst,    // no lease yet: declare once more
    kGranted,  // a new lease
    kRenewed,  // the same lease, for its whole length again
  };

  // Call it when declares that were sent at `sent_at`, after any earlier answer, have been
  // answered.
  virtual Answer Answered(absl::Duration sent_at, absl::Duration now) = 0;

  // Call it when the queue turns out to be gone or different, despite earlier answers.
  virtual void Break() { granted_ = false; }

  bool granted() const { return granted_; }

  // Number of leases granted. A renewal does not change it.
  std::uint64_t generation() const { return generation_; }

  // Whether a message may be published now.
  bool Allows(absl::Duration now) const {
    return granted_ && now >= times_.usable_from && now < times_.publishable_until;
  }

  // Whether there is a lease that is not usable yet.
  bool Forming(absl::Duration now) const { return granted_ && now < times_.usable_from; }

  // Whether a confirm that arrives now counts for a message published under `generation`.
  bool Covers(std::uint64_t generation, absl::Duration now) const {
    return granted_ && generation == generation_ && now < times_.covered_until;
  }

  // When the last answered declares were sent; infinitely long ago if there are none.
  absl::Duration renewed_at() const { return times_.renewed_at; }
  // When to declare again to keep the lease; infinite if declares do not keep it.
  absl::Duration renewal_due() const { return times_.renewal_due; }
  // From when declares no longer give a lease, so that another queue must be used.
  absl::Duration over_at() const { return times_.over_at; }
  // The latest time at which the broker deletes the queue; then its entry can be removed.
  absl::Duration end() const { return times_.end; }
  // From when the queue may be published to, once there is a lease.
  absl::Duration usable_from() const { return times_.usable_from; }
  // From when messages confirmed in the queue survive a crash of the broker.
  absl::Duration safe_from() const { return times_.safe_from; }

 protected:
  // The defaults are those of a lease that one answer grants forever.
  struct Times {
    absl::Duration renewed_at = -absl::InfiniteDuration();
    absl::Duration renewal_due = absl::InfiniteDuration();
    absl::Duration over_at = absl::InfiniteDuration();
    absl::Duration end = absl::InfiniteDuration();
    absl::Duration usable_from = -absl::InfiniteDuration();
    absl::Duration safe_from = -absl::InfiniteDuration();
    absl::Duration publishable_until = absl::InfiniteDuration();
    absl::Duration covered_until = absl::InfiniteDuration();
  };

  explicit LeaseClock(const Times& times) : times_(times) {}

  void Grant() {
    granted_ = true;
    ++generation_;
  }
  void Withdraw() { granted_ = false; }

  Times times_;

 private:
  bool granted_ = false;
  std::uint64_t generation_ = 0;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELAY_QUEUES_LEASE_CLOCK_H_
