#include "amqp/system_clock.h"

#include <time.h>

namespace retryq::amqp {
namespace {

timespec Read(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return now;
}

}  // namespace

absl::Time SystemClock::Now() const { return absl::TimeFromTimespec(Read(CLOCK_REALTIME)); }

absl::Duration SystemClock::SinceBoot() const {
  return absl::DurationFromTimespec(Read(CLOCK_BOOTTIME));
}

}  // namespace retryq::amqp
