#ifndef RETRYQ_SRC_RETRY_LEASE_CLOCK_H_
#define RETRYQ_SRC_RETRY_LEASE_CLOCK_H_

#include <cstdint>

#include "absl/time/time.h"

namespace retryq {

// What the answered declares of one queue entitle to, and until when. All times are of the boot
// clock. How long that is depends on the kind of queue: ClassicLease, QuorumLease.
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
    return granted_ && now >= usable_from() && now < publishable_until();
  }

  // Whether there is a lease, but its queue must not be used yet.
  bool Forming(absl::Duration now) const { return granted_ && now < usable_from(); }

  // Whether a confirm that arrives now counts, of a message published under this generation.
  bool Covers(std::uint64_t generation, absl::Duration now) const {
    return granted_ && generation == generation_ && now < covered_until();
  }

  // When the declares that count were sent; infinitely long ago if there are none.
  virtual absl::Duration renewed_at() const = 0;
  // When to declare again to keep the lease; infinite where nothing keeps it.
  virtual absl::Duration renewal_due() const = 0;
  // From when on no declare gives a lease: another queue must serve.
  virtual absl::Duration over_at() const = 0;
  // From when on it is no use to know of the queue.
  virtual absl::Duration end() const = 0;
  // From when on the queue may be published to, once there is a lease.
  virtual absl::Duration usable_from() const = 0;
  // From when on a crash of the broker leaves the queue there, with what is confirmed in it.
  virtual absl::Duration safe_from() const = 0;

 protected:
  void Grant() {
    granted_ = true;
    ++generation_;
  }
  void Withdraw() { granted_ = false; }

 private:
  virtual absl::Duration publishable_until() const = 0;
  virtual absl::Duration covered_until() const = 0;

  bool granted_ = false;
  std::uint64_t generation_ = 0;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_LEASE_CLOCK_H_
