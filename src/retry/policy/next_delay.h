#ifndef RETRYQ_SRC_RETRY_POLICY_NEXT_DELAY_H_
#define RETRYQ_SRC_RETRY_POLICY_NEXT_DELAY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "retryq/backoff.h"
#include "retryq/broker/random.h"

namespace retryq {

// Returns the delay after a failure, including jitter and the user's function: whole milliseconds,
// from 1 ms to LongestDelay(options). The options must be valid. `random` is used only if the delay
// is random.
absl::Duration NextDelay(const BackoffOptions& options, const Failure& failure, Random& random);

// Whether the delays are known in advance, apart from a jitter fraction.
bool IsForeseeable(const BackoffOptions& options);

// Returns the shortest delay to which jitter can reduce `delay`: whole milliseconds, at least 1 ms.
absl::Duration ShortestJittered(const BackoffOptions& options, absl::Duration delay);

// Delays that depend only on the number of failures, not on random numbers or a function. They are
// computed in advance, because growth takes longer than the rest of a decision.
class FixedDelays {
 public:
  // The options must be valid.
  explicit FixedDelays(const BackoffOptions& options);

  // Returns the delay after this number of earlier failures; nullopt if it is not known in advance.
  std::optional<absl::Duration> After(std::uint64_t failures) const {
    if (failures < delays_.size()) return delays_[static_cast<std::size_t>(failures)];
    return last_;
  }

 private:
  std::vector<Duration> delays_;        // after the first failures
  std::optional<absl::Duration> last_;  // after all later failures, if it is the same for all
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_POLICY_NEXT_DELAY_H_
