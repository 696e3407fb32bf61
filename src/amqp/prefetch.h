#ifndef RETRYQ_SRC_AMQP_PREFETCH_H_
#define RETRYQ_SRC_AMQP_PREFETCH_H_

#include <cstddef>

namespace retryq::amqp {

// Has the processor fetch into its caches what will soon be needed, while it goes on with what is
// at hand. No more than a hint: `memory` may be anything.
inline void Prefetch(const void* memory, std::size_t size) {
  constexpr std::size_t kLine = 64;
  for (std::size_t i = 0; i < size; i += kLine) {
    __builtin_prefetch(static_cast<const char*>(memory) + i);
  }
}

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_PREFETCH_H_
