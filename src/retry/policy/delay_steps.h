#ifndef RETRYQ_SRC_RETRY_POLICY_DELAY_STEPS_H_
#define RETRYQ_SRC_RETRY_POLICY_DELAY_STEPS_H_

#include <cstddef>
#include <vector>

#include "absl/time/time.h"
#include "retryq/broker/delay_grid.h"
#include "retryq/retry_options.h"

namespace retryq {

// One stay of a message in a delay queue.
struct Hop {
  absl::Duration ttl;
  // The rest of the delay after this stay. Zero: the message is due then.
  absl::Duration left = absl::ZeroDuration();
};

// The TTLs that one client uses, at most `max_delay_queues`: the steps of the grid, and the exact
// delays of its consumers' policies as long as there is room.
class DelaySteps {
 public:
  // `exact_queues`: see DelayQueueOptions. If false, only the steps of the grid are used.
  explicit DelaySteps(std::size_t max_delay_queues, bool exact_queues = true);

  const DelayGrid& grid() const { return grid_; }

  // Adds the delays of a policy that do not depend on random numbers or functions, in the order of
  // attempts, until there is no room. Other delays are sums of steps. If the policy has a jitter
  // fraction, its shortest delays are added, so that only the random rest needs further hops.
  void Add(const RetryOptions& policy);

  // Returns the first hop of a delay, which is above zero and in whole milliseconds: the whole
  // delay if it is a step, else the longest step below it. Remembers the last result, because most
  // calls ask for the same delay.
  Hop First(absl::Duration delay) {
    if (delay != last_delay_) {
      last_hop_ = Find(delay);
      last_delay_ = delay;
    }
    return last_hop_;
  }

  // The steps, shortest first.
  const std::vector<absl::Duration>& steps() const { return steps_; }

  std::size_t size() const { return steps_.size(); }

 private:
  void Add(const BackoffOptions& backoff, std::uint64_t max_attempts);
  Hop Find(absl::Duration delay) const;

  const std::size_t limit_;
  const bool exact_queues_;
  const DelayGrid grid_;
  std::vector<absl::Duration> steps_;                 // shortest first
  absl::Duration last_delay_ = absl::ZeroDuration();  // zero if there is none
  Hop last_hop_ = {};
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_POLICY_DELAY_STEPS_H_
