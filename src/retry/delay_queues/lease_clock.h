#ifndef RETRYQ_SRC_RETRY_DELAY_QUEUES_LEASE_CLOCK_H_
#define RETRYQ_SRC_RETRY_DELAY_QUEUES_LEASE_CLOCK_H_

#include <cstdint>

#include "absl/time/time.h"
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

// Determines when a delay queue may be used, from the answers to its declares. All times are since
// boot. They are computed at each answer, and compared for each message.
//
// Every declare renews the lease of a classic queue:
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
//
// A quorum queue is declared for one epoch. W = TTL + outage is the length of an epoch. Times from
// the start of the epoch:
//
//   0                        the queue is declared, now or later
//     + W                    publishing stops
//     + W + confirm_timeout  confirms no longer count
//     + W + confirm_timeout + TTL   all messages in the queue are due
//     + 2 W                  the broker deletes the queue, now or later
//
// The time between the last two, outage - confirm_timeout, allows for downtime of the broker or the
// work queue, and for differences of clocks. One answer is enough to grant the lease: the queue is
// far from its end during the whole epoch.
//
// A queue that another user has declared, without x-expires: one answer, which confirms that the
// queue exists, grants the lease forever.
class LeaseClock {
 public:
  // How long after its declaration a quorum queue may come back empty from a crash of the broker.
  // Observed up to 0.5 s after, never at 1.5 s (F27 in doc/rabbitmq_facts.md).
  static constexpr absl::Duration kSettling = absl::Seconds(2);

  // How long after the answer publishing to a quorum queue waits. If another client is declaring
  // the same queue, the broker may answer before the queue exists. A message published then can
  // leave the queue without a timer, so that it never expires: on 3.10.8 in 5 of 200 queues, and a
  // tenth of a second later in none of 200.
  static constexpr absl::Duration kForming = absl::Seconds(1);

  // `epoch` is used for quorum queues only.
  LeaseClock(absl::Duration ttl, const DelayQueueOptions& options, const Epoch& epoch)
      : is_classic_(options.declare && options.queue_type == QueueType::kClassic),
        is_quorum_(options.declare && options.queue_type == QueueType::kQuorum),
        window_(LeaseWindow(ttl, options)),
        coverage_(window_ + options.margin / 2),
        lifetime_(ttl + window_ + options.margin) {
    if (is_classic_) CountFrom(-absl::InfiniteDuration());
    if (!is_quorum_) return;
    usable_from_ = absl::InfiniteDuration();
    safe_from_ = absl::InfiniteDuration();
    publishable_until_ = epoch.ends;
    over_at_ = epoch.ends;
    covered_until_ = epoch.ends + options.confirm_timeout;
    end_ = covered_until_;
  }

  enum class Answer {
    kFirst,    // no lease yet: declare once more
    kGranted,  // a new lease
    kRenewed,  // the same lease, for its whole length again
  };

  // Call it when declares that were sent at `sent_at`, after any earlier answer, have been
  // answered.
  Answer Answered(absl::Duration sent_at, absl::Duration now) {
    if (is_classic_) {
      const bool gap = now >= covered_until_;
      CountFrom(sent_at);
      if (gap) {
        granted_ = false;
        return Answer::kFirst;
      }
    }
    renewed_at_ = sent_at;
    if (granted_) return Answer::kRenewed;
    granted_ = true;
    ++generation_;
    if (is_quorum_) {
      usable_from_ = now + kForming;
      safe_from_ = now + kSettling;
    }
    return Answer::kGranted;
  }

  // Call it when the queue turns out to be gone or different, despite earlier answers.
  void Break() {
    granted_ = false;
    if (is_classic_) CountFrom(-absl::InfiniteDuration());
  }

  bool granted() const { return granted_; }

  // Number of leases granted. A renewal does not change it.
  std::uint64_t generation() const { return generation_; }

  // Whether a message may be published now.
  bool Allows(absl::Duration now) const {
    return granted_ && now >= usable_from_ && now < publishable_until_;
  }

  // Whether there is a lease that is not usable yet.
  bool Forming(absl::Duration now) const { return granted_ && now < usable_from_; }

  // Whether a confirm that arrives now counts for a message published under `generation`.
  bool Covers(std::uint64_t generation, absl::Duration now) const {
    return granted_ && generation == generation_ && now < covered_until_;
  }

  // When the last answered declares were sent; infinitely long ago if there are none.
  absl::Duration renewed_at() const { return renewed_at_; }
  // When to declare again to keep the lease; infinite if declares do not keep it.
  absl::Duration renewal_due() const { return renewal_due_; }
  // From when declares no longer give a lease, so that another queue must be used.
  absl::Duration over_at() const { return over_at_; }
  // The latest time at which the broker deletes the queue; then its entry can be removed.
  absl::Duration end() const { return end_; }
  // From when the queue may be published to, once there is a lease.
  absl::Duration usable_from() const { return usable_from_; }
  // From when messages confirmed in the queue survive a crash of the broker.
  absl::Duration safe_from() const { return safe_from_; }

 private:
  // The times of a classic queue.
  void CountFrom(absl::Duration renewed_at) {
    renewed_at_ = renewed_at;
    renewal_due_ = renewed_at + window_ / 2;
    publishable_until_ = renewed_at + window_;
    covered_until_ = renewed_at + coverage_;
    end_ = renewed_at + lifetime_;  // the earliest time at which the broker deletes the queue
  }

  const bool is_classic_;
  const bool is_quorum_;
  const absl::Duration window_;
  const absl::Duration coverage_;
  const absl::Duration lifetime_;
  bool granted_ = false;
  std::uint64_t generation_ = 0;
  // The defaults are those of a lease that one answer grants forever.
  absl::Duration renewed_at_ = -absl::InfiniteDuration();
  absl::Duration renewal_due_ = absl::InfiniteDuration();
  absl::Duration over_at_ = absl::InfiniteDuration();
  absl::Duration end_ = absl::InfiniteDuration();
  absl::Duration usable_from_ = -absl::InfiniteDuration();
  absl::Duration safe_from_ = -absl::InfiniteDuration();
  absl::Duration publishable_until_ = absl::InfiniteDuration();
  absl::Duration covered_until_ = absl::InfiniteDuration();
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELAY_QUEUES_LEASE_CLOCK_H_
