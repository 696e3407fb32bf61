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

Moment SystemClock::Look() const {
  const absl::Duration since_boot = SinceBoot();
  if (since_boot >= boot_is_good_until_) {
    boot_ = Now() - since_boot;
    boot_is_good_until_ = since_boot + absl::Milliseconds(1);
  }
  return {.now = boot_ + since_boot, .since_boot = since_boot};
}

}  // namespace retryq::amqp
