#include "loop/system_random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace retryq {

std::uint64_t SystemRandom::Next() {
  if (used_ == fetched_.size()) Refill();
  return std::exchange(fetched_[used_++], 0);
}

void SystemRandom::Refill() {
  char* const bytes = reinterpret_cast<char*>(fetched_.data());
  for (std::size_t filled = 0; filled < sizeof(fetched_);) {
    const ssize_t got = getrandom(bytes + filled, sizeof(fetched_) - filled, 0);
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      // The kernel has no getrandom, or a filter forbids it. Without random numbers, ids would
      // repeat.
      std::perror("retryq: getrandom");
      std::abort();
    }
  }
  used_ = 0;
}

}  // namespace retryq
