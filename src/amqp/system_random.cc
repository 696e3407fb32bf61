#include "amqp/system_random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace retryq::amqp {

std::uint64_t SystemRandom::Next() {
  if (used_ == fetched_.size()) Refill();
  return std::exchange(fetched_[used_++], 0);
}

void SystemRandom::Refill() {
  ssize_t got;
  do {
    got = getrandom(fetched_.data(), sizeof(fetched_), 0);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof(fetched_))) {
    // Only a kernel older than getrandom, or a filter that forbids it: ids would repeat.
    std::perror("retryq: getrandom");
    std::abort();
  }
  used_ = 0;
}

}  // namespace retryq::amqp
