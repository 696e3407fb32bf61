#ifndef RETRYQ_TEST_FAULT_MESSAGES_H_
#define RETRYQ_TEST_FAULT_MESSAGES_H_

#include "support/standard.h"

namespace retryq::fault {

// How often a message fails: a third succeed at once, half fail one to three times, and a sixth
// fail always, so that they are parked. Both the worker and the referee use this.
inline constexpr std::uint64_t kAlways = std::numeric_limits<std::uint64_t>::max();

inline std::uint64_t FailuresOf(std::uint64_t number) {
  constexpr std::array<std::uint64_t, 6> kFailures = {0, 1, 0, 2, kAlways, 3};
  return kFailures[number % kFailures.size()];
}

// The largest number of unsettled messages of a consumer.
inline constexpr std::uint16_t kPrefetch = 32;

// Calls of the handler, after which a message that always fails is parked.
inline constexpr std::uint64_t kMaxAttempts = 4;

inline constexpr const char* kWorkQueue = "orders";
inline constexpr const char* kParkedQueue = "orders.parked";

// The second work queue, which a fault of the first must not affect.
inline constexpr const char* kUnaffectedQueue = "unaffected";
inline constexpr const char* kUnaffectedParkedQueue = "unaffected.parked";

// The delay after this number of failures, which is at least one.
inline constexpr absl::Duration kBaseDelay = absl::Milliseconds(400);
inline absl::Duration DelayAfter(std::uint64_t failures) {
  return kBaseDelay * (std::int64_t{1} << (failures - 1));
}

// Messages that a worker with --hang never settles: one in ten of those that always fail.
inline bool Hangs(std::uint64_t number) { return number % 60 == 4; }

// The effect of poison, by number.
enum class Poison { kKills, kLongHeaders, kDeepHeaders, kForgedCounts, kForgedWay };
inline Poison PoisonOf(std::uint64_t number) { return static_cast<Poison>(number % 5); }

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_MESSAGES_H_
