#ifndef RETRYQ_SRC_RETRY_POLICY_SATURATING_SUM_H_
#define RETRYQ_SRC_RETRY_POLICY_SATURATING_SUM_H_

#include <cstdint>
#include <limits>

namespace retryq {

// Counts that messages bring can be anything. None is above this here, which every header holds and
// to which one can still be added without wrapping.
inline constexpr std::uint64_t kMostCounted = std::numeric_limits<std::int64_t>::max();

// At most kMostCounted.
inline std::uint64_t SaturatingSum(std::uint64_t a, std::uint64_t b) {
  return a >= kMostCounted || b >= kMostCounted - a ? kMostCounted : a + b;
}

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_POLICY_SATURATING_SUM_H_
