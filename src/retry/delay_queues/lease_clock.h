#ifndef RETRYQ_SRC_RETRY_DELAY_QUEUES_LEASE_CLOCK_H_
#define RETRYQ_SRC_RETRY_DELAY_QUEUES_LEASE_CLOCK_H_

#include <cstdint>

#include "absl/time/time.h"

namespace retryq {

// What the answered declares of one queue entitle to, and until when. All times are of the boot
// clock. How long that is depends on the kind of queue: ClassicLease, QuorumLease. Each answer
// works it out, and each message asks.
class LeaseClock {
 public:
  virtual ~LeaseClock() = default;

  enum class Answer {
    kFirst,    // no lease yet: declare once more
    kGranted,  // a new lease
    kRenewed,  // the same lease, from its beginning
  };

  // Declares sent at `sent_at`, after any earlier answer, have been answered now.
  virtual Answer Answered(absl::Duration sent_at, absl::Duration now) = 0;

  // The queue is not what it should be, whatever has been answered.
  virtual void Break() { granted_ = false; }

  bool granted() const { return granted_; }

  // Counts the leases granted: a renewal does not change it.
  std::uint64_t generation() const { return generation_; }

  // Whether a message may be published now.
  bool Allows(absl::Duration now) const {
    return granted_ && now >= times_.usable_from && now < times_.publishable_until;
  }

  // Whether there is a lease, but its queue must not be used yet.
  bool Forming(absl::Duration now) const { return granted_ && now < times_.usable_from; }

  // Whether a confirm that arrives now counts, of a message published under this generation.
  bool Covers(std::uint64_t generation, absl::Duration now) const {
    return granted_ && generation == generation_ && now < times_.covered_until;
  }

  // When the declares that count were sent; infinitely long ago if there are none.
  absl::Duration renewed_at() const { return times_.renewed_at; }
  // When to declare again to keep the lease; infinite where nothing keeps it.
  absl::Duration renewal_due() const { return times_.renewal_due; }
  // From when on no declare gives a lease: another queue must serve.
  absl::Duration over_at() const { return times_.over_at; }
  // From when on it is no use to know of the queue.
  absl::Duration end() const { return times_.end; }
  // From when on the queue may be published to, once there is a lease.
  absl::Duration usable_from() const { return times_.usable_from; }
  // From when on a crash of the broker leaves the queue there, with what is confirmed in it.
  absl::Duration safe_from() const { return times_.safe_from; }

 protected:
  // Those of a lease that one answer gives for ever.
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
