#ifndef RETRYQ_TEST_UNIT_AMQP_CODEC_ALLOCATED_BYTES_H_
#define RETRYQ_TEST_UNIT_AMQP_CODEC_ALLOCATED_BYTES_H_

#include <malloc.h>

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// A function of the sanitizers; not every compiler has the header.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace retryq {

// The bytes that this process has allocated and not freed.
inline std::size_t AllocatedBytes() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return __sanitizer_get_current_allocated_bytes();
#else
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
#endif
}

}  // namespace retryq

#endif  // RETRYQ_TEST_UNIT_AMQP_CODEC_ALLOCATED_BYTES_H_
