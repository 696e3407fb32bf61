#ifndef RETRYQ_SRC_AMQP_TRANSPORT_PREFETCH_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_PREFETCH_H_

#include <cstddef>
#include <cstdint>

namespace retryq::amqp {

// Have the processor fetch into its caches what will soon be needed, while it goes on with what is
// at hand. No more than a hint: there may be anything at that address, or nothing.
inline void PrefetchAt(std::uintptr_t address, std::size_t size) {
  constexpr std::size_t kLine = 64;
  for (std::size_t i = 0; i < size; i += kLine) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): nothing is read or written by it
    __builtin_prefetch(reinterpret_cast<const void*>(address + i));
  }
}
inline void Prefetch(const void* memory, std::size_t size) {
  PrefetchAt(reinterpret_cast<std::uintptr_t>(memory), size);
}

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_PREFETCH_H_
