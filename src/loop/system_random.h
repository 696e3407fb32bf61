#ifndef RETRYQ_SRC_LOOP_SYSTEM_RANDOM_H_
#define RETRYQ_SRC_LOOP_SYSTEM_RANDOM_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "retryq/broker/random.h"

namespace retryq {

// Random numbers of the kernel, read in blocks. They cannot be predicted from earlier ones, and two
// processes never get the same sequence. Not thread-safe. After a fork, both processes use the rest
// of the current block.
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
