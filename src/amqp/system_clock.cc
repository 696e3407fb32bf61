#include "amqp/system_clock.h"

#include <time.h>

#include <cstdint>

namespace retryq::amqp {
namespace {

// In nanoseconds, which fit until 2262. Abseil's conversions from timespec take longer than the
// system does to look.
std::int64_t Read(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

absl::Time SystemClock::Now() const { return absl::FromUnixNanos(Read(CLOCK_REALTIME)); }

absl::Duration SystemClock::SinceBoot() const { return absl::Nanoseconds(Read(CLOCK_BOOTTIME)); }

}  // namespace retryq::amqp
