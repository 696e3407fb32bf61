#ifndef RETRYQ_SRC_RETRY_SATURATING_SUM_H_
#define RETRYQ_SRC_RETRY_SATURATING_SUM_H_

#include <cstdint>
#include <limits>

namespace retryq {

// Counts that messages bring can be anything: they stop at the largest number instead of wrapping.
inline std::uint64_t SaturatingSum(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return b > kMost - a ? kMost : a + b;
}

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_SATURATING_SUM_H_
