#ifndef RETRYQ_SRC_RETRY_LEASE_CLOCK_H_
#define RETRYQ_SRC_RETRY_LEASE_CLOCK_H_

#include <cstdint>

#include "absl/time/time.h"
#include "retryq/delay_queue_options.h"

namespace retryq {

// What the answered declares of one queue entitle to, and until when. All times
// are of the boot clock.
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
class LeaseClock {
 public:
  LeaseClock(absl::Duration ttl, const DelayQueueOptions& options)
      : window_(LeaseWindow(ttl, options)),
        half_window_(window_ / 2),
        coverage_(window_ + options.margin / 2),
        lifetime_(ttl + window_ + options.margin) {}

  enum class Answer {
    kFirst,    // no lease yet: declare once more
    kGranted,  // a new lease
    kRenewed,  // the same lease, from its beginning
  };

  // Declares sent at `sent_at`, after any earlier answer, have been answered now.
  Answer Answered(absl::Duration sent_at, absl::Duration now) {
    const bool gap = now >= renewed_at_ + coverage_;
    renewed_at_ = sent_at;
    if (gap) {
      granted_ = false;
      return Answer::kFirst;
    }
    if (granted_) return Answer::kRenewed;
    granted_ = true;
    ++generation_;
    return Answer::kGranted;
  }

  // The queue is not what it should be, whatever has been answered.
  void Break() {
    granted_ = false;
    renewed_at_ = -absl::InfiniteDuration();
  }

  bool granted() const { return granted_; }

  // Counts the leases granted: a renewal does not change it.
  std::uint64_t generation() const { return generation_; }

  // Whether a message may be published now.
  bool Allows(absl::Duration now) const { return granted_ && now < renewed_at_ + window_; }

  // Whether a confirm that arrives now counts, of a message published under this generation.
  bool Covers(std::uint64_t generation, absl::Duration now) const {
    return granted_ && generation == generation_ && now < renewed_at_ + coverage_;
  }

  absl::Duration renewed_at() const { return renewed_at_; }
  absl::Duration renewal_due() const { return renewed_at_ + half_window_; }
  // When the broker deletes the queue, at the earliest.
  absl::Duration end() const { return renewed_at_ + lifetime_; }

 private:
  absl::Duration window_;
  absl::Duration half_window_;
  absl::Duration coverage_;
  absl::Duration lifetime_;
  absl::Duration renewed_at_ = -absl::InfiniteDuration();
  bool granted_ = false;
  std::uint64_t generation_ = 0;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_LEASE_CLOCK_H_
