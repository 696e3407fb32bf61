#ifndef RETRYQ_TEST_SIMULATION_ODD_VALUES_H_
#define RETRYQ_TEST_SIMULATION_ODD_VALUES_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "retryq/testing/seeded_random.h"

namespace retryq::simulation {

template <typename T>
T OneOf(testing::SeededRandom& random, const std::vector<T>& values) {
  return values[random.Below(values.size())];
}

inline absl::Duration OddDuration(testing::SeededRandom& random) {
  return OneOf<absl::Duration>(
      random, {absl::ZeroDuration(), -absl::Seconds(1), absl::Nanoseconds(1), absl::Milliseconds(3),
               absl::Seconds(2), absl::Minutes(5), absl::Hours(24 * 365 * 300),
               absl::InfiniteDuration(), -absl::InfiniteDuration()});
}

inline std::string OddText(testing::SeededRandom& random) {
  return OneOf<std::string>(random, {"", "one", "two", "full", "nowhere", "key",
                                     std::string("a\0b", 3), std::string(300, 'x'), "\xff\xfe"});
}

inline std::uint64_t OddNumber(testing::SeededRandom& random) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return OneOf<std::uint64_t>(random, {0, 1, 2, 65535, kMost / 2, kMost / 2 + 1, kMost});
}

inline double OddFraction(testing::SeededRandom& random) {
  return OneOf<double>(random, {0, -1, 0.5, 1, 2, 1e300, std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN()});
}

}  // namespace retryq::simulation

#endif  // RETRYQ_TEST_SIMULATION_ODD_VALUES_H_
