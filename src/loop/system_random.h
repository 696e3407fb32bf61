#ifndef RETRYQ_SRC_LOOP_SYSTEM_RANDOM_H_
#define RETRYQ_SRC_LOOP_SYSTEM_RANDOM_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "retryq/random.h"

namespace retryq {

// The kernel's randomness, fetched some at a time: nobody can guess the next
// from those before, and two processes never share a sequence.
// Not thread-safe; a fork shares what is left of the current fetch.
class SystemRandom final : public Random {
 public:
  std::uint64_t Next() override;

 private:
  void Refill();

  std::array<std::uint64_t, 128> fetched_ = {};
  std::size_t used_ = fetched_.size();
};

}  // namespace retryq

#endif  // RETRYQ_SRC_LOOP_SYSTEM_RANDOM_H_
