#ifndef RETRYQ_TESTING_SEEDED_RANDOM_H_
#define RETRYQ_TESTING_SEEDED_RANDOM_H_

#include <cstdint>
#include <random>

#include "absl/time/time.h"
#include "retryq/random.h"

namespace retryq::testing {

// Reproducible randomness: one seed is one sequence, on every platform. Used on one thread.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed = 1) : engine_(seed) {}

  std::uint64_t Next() override { return engine_(); }

  // Uniform in [0, bound), up to a bias that no test notices.
  std::uint64_t Below(std::uint64_t bound) { return Next() % bound; }

  // True once in `n` times.
  bool OneIn(std::uint64_t n) { return Below(n) == 0; }

  // Uniform in [low, high], in whole milliseconds.
  absl::Duration Between(absl::Duration low, absl::Duration high) {
    const auto span = static_cast<std::uint64_t>(absl::ToInt64Milliseconds(high - low));
    return low + absl::Milliseconds(static_cast<std::int64_t>(Below(span + 1)));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TESTING_SEEDED_RANDOM_H_
