#ifndef RETRYQ_SRC_RETRY_POLICY_DELAY_STEPS_H_
#define RETRYQ_SRC_RETRY_POLICY_DELAY_STEPS_H_

#include <cstddef>
#include <vector>

#include "absl/time/time.h"
#include "retryq/delay_grid.h"
#include "retryq/retry_options.h"

namespace retryq {

// One stay in a delay queue.
struct Hop {
  absl::Duration ttl;
  // What is then left of the delay. Zero: the message is due.
  absl::Duration left = absl::ZeroDuration();
};

// The TTLs that one client uses, never more than `max_delay_queues`: the steps of the grid, and the
// exact delays of its consumers' policies as long as there is room.
class DelaySteps {
 public:
  // `exact_queues`: see DelayQueueOptions. Without them there are the steps of the grid alone.
  explicit DelaySteps(std::size_t max_delay_queues, bool exact_queues = true);

  const DelayGrid& grid() const { return grid_; }

  // Makes steps of the delays that a policy gives without chance or functions, in the order of
  // attempts, until there is no room: what is then left goes by the grid. Where a fraction is left
  // to chance, the least that it leaves of each delay is a step, so that hops are for the rest
  // only.
  void Add(const RetryOptions& policy);

  // The first hop of a delay above zero, in whole milliseconds: all of it where it is a step, else
  // the longest step below it. Remembers the last answer, as most messages ask the same.
  Hop First(absl::Duration delay) {
    if (delay != last_delay_) {
      last_hop_ = Find(delay);
      last_delay_ = delay;
    }
    return last_hop_;
  }

  // From the shortest to the longest.
  const std::vector<absl::Duration>& steps() const { return steps_; }

  std::size_t size() const { return steps_.size(); }

 private:
  void Add(const BackoffOptions& backoff, std::uint64_t max_attempts);
  Hop Find(absl::Duration delay) const;

  const std::size_t limit_;
  const bool exact_queues_;
  const DelayGrid grid_;
  std::vector<absl::Duration> steps_;                 // from the shortest to the longest
  absl::Duration last_delay_ = absl::ZeroDuration();  // zero: none
  Hop last_hop_ = {};
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_POLICY_DELAY_STEPS_H_
