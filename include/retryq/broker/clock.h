#ifndef RETRYQ_BROKER_CLOCK_H_
#define RETRYQ_BROKER_CLOCK_H_

#include "absl/time/time.h"
#include "retryq/export.h"

namespace retryq {

// A moment, in both times of a clock.
struct Moment {
  absl::Time now;
  absl::Duration since_boot;
};

// The library's source of time. `EventLoop` provides the real one; tests provide their own. `Now`
// is called on the loop's thread only, `SinceBoot` on any.
class RETRYQ_EXPORT Clock {
 public:
  virtual ~Clock() = default;

  // Wall clock. May step forward or back; used for times that are written into messages.
  virtual absl::Time Now() const = 0;

  // Time since the machine booted, including time in which it was suspended (CLOCK_BOOTTIME). Never
  // changed by setting the clock; used for leases and deadlines.
  virtual absl::Duration SinceBoot() const = 0;

  // Both times, for callers that need both: an implementation may read its clock once instead of
  // twice. A step of the wall clock may show here a millisecond later than in `Now`. On the loop's
  // thread only.
  virtual Moment Look() const { return {.now = Now(), .since_boot = SinceBoot()}; }
};

}  // namespace retryq

#endif  // RETRYQ_BROKER_CLOCK_H_
