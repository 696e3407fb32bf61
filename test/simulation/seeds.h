#ifndef RETRYQ_TEST_SIMULATION_SEEDS_H_
#define RETRYQ_TEST_SIMULATION_SEEDS_H_

#include "support/test.h"

namespace retryq::simulation {

// The value of the environment variable, or `otherwise`.
inline std::uint64_t NumberFrom(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Runs a test of seeds 1 to `count` (or of RETRYQ_SEED alone) until one fails.
inline void ForEachSeed(std::uint64_t count, const std::function<void(std::uint64_t seed)>& run) {
  const std::uint64_t only = NumberFrom("RETRYQ_SEED", 0);
  const std::uint64_t first = only == 0 ? 1 : only;
  const std::uint64_t last = only == 0 ? count : only;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE("RETRYQ_SEED=" + std::to_string(seed));
    run(seed);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace retryq::simulation

#endif  // RETRYQ_TEST_SIMULATION_SEEDS_H_
