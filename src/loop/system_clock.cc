#include "loop/system_clock.h"

#include <time.h>

#include <cstdint>

namespace retryq {
namespace {

constexpr std::int64_t kBelieved = 1'000'000;

// Returns nanoseconds, which fit until 2262. Abseil's conversions from timespec take longer than
// reading the clock.
std::int64_t Read(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

absl::Time SystemClock::Now() const { return absl::FromUnixNanos(Read(CLOCK_REALTIME)); }

absl::Duration SystemClock::SinceBoot() const { return absl::Nanoseconds(Read(CLOCK_BOOTTIME)); }

Moment SystemClock::Look() const {
  const std::int64_t since_boot = Read(CLOCK_BOOTTIME);
  if (since_boot >= boot_is_good_until_) {
    boot_ = Read(CLOCK_REALTIME) - since_boot;
    boot_is_good_until_ = since_boot + kBelieved;
  }
  return {.now = absl::FromUnixNanos(boot_ + since_boot),
          .since_boot = absl::Nanoseconds(since_boot)};
}

}  // namespace retryq
