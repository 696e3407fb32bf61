#ifndef RETRYQ_TESTING_SEEDED_RANDOM_H_
#define RETRYQ_TESTING_SEEDED_RANDOM_H_

#include <cstdint>
#include <random>

#include "absl/time/time.h"
#include "retryq/broker/random.h"

namespace retryq::testing {

// Repeatable randomness: a seed gives the same sequence on every platform. Used on one thread.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed = 1) : engine_(seed) {}

  std::uint64_t Next() override { return engine_(); }

  // Uniform in [0, bound), with a negligible bias.
  std::uint64_t Below(std::uint64_t bound) { return Next() % bound; }

  // Returns true with probability 1/n.
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
