#ifndef RETRYQ_SRC_RETRY_POLICY_FIXED_DELAYS_H_
#define RETRYQ_SRC_RETRY_POLICY_FIXED_DELAYS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "retryq/backoff.h"

namespace retryq {

// What NextDelay answers by the number of failures alone, without chance or a function, worked out
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

#endif  // RETRYQ_SRC_RETRY_POLICY_FIXED_DELAYS_H_
