#ifndef RETRYQ_TEST_FAULT_PLAN_H_
#define RETRYQ_TEST_FAULT_PLAN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace retryq::fault {

// How often a message fails: a third succeed at once, half fail one to three times, and a sixth
// fail always, so that they are parked. Known to the worker and the referee alike.
inline constexpr std::uint64_t kAlways = std::numeric_limits<std::uint64_t>::max();

inline std::uint64_t FailuresOf(std::uint64_t number) {
  constexpr std::array<std::uint64_t, 6> kFailures = {0, 1, 0, 2, kAlways, 3};
  return kFailures[number % kFailures.size()];
}

// Calls of the handler, after which a message that always fails is parked.
inline constexpr std::uint64_t kMaxAttempts = 4;

inline constexpr const char* kWorkQueue = "orders";
inline constexpr const char* kParkedQueue = "orders.parked";

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_PLAN_H_
