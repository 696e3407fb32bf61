#ifndef RETRYQ_SRC_RETRY_POLICY_NEXT_DELAY_H_
#define RETRYQ_SRC_RETRY_POLICY_NEXT_DELAY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "retryq/backoff.h"
#include "retryq/random.h"

namespace retryq {

// The delay after a failure, jitter and the user's function included: whole milliseconds, from 1 ms
// to LongestDelay(options). Needs valid options. `random` is asked only where chance has a say.
absl::Duration NextDelay(const BackoffOptions& options, const Failure& failure, Random& random);

// Whether it can be said beforehand which delays come up, except for what a fraction of jitter
// takes from them.
bool IsForeseeable(const BackoffOptions& options);

// The shortest that a fraction of jitter makes of `delay`, in whole milliseconds, at least 1 ms.
absl::Duration ShortestJittered(const BackoffOptions& options, absl::Duration delay);

// What NextDelay returns by the number of failures alone, without chance or a function, worked out
// beforehand: growth takes more than all else that is decided about a message.
class FixedDelays {
 public:
  // Valid options only.
  explicit FixedDelays(const BackoffOptions& options);

  // The delay after so many earlier failures; nothing where it is not known beforehand.
  std::optional<absl::Duration> After(std::uint64_t failures) const {
    if (failures < delays_.size()) return delays_[static_cast<std::size_t>(failures)];
    return last_;
  }

 private:
  std::vector<absl::Duration> delays_;  // of the first failures
  std::optional<absl::Duration> last_;  // of all that follow, where it is the same for all
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_POLICY_NEXT_DELAY_H_
