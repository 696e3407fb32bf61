#ifndef RETRYQ_CLOCK_H_
#define RETRYQ_CLOCK_H_

#include "absl/time/time.h"
#include "retryq/export.h"

namespace retryq {

// A moment, by both of a clock's times.
struct Moment {
  absl::Time now;
  absl::Duration since_boot;
};

// Where the library gets the time from. `EventLoop` provides the real one;
// tests provide their own. `Now` is called on the
// loop's thread only, `SinceBoot` on any.
class RETRYQ_EXPORT Clock {
 public:
  virtual ~Clock() = default;

  // Wall clock. May step either way; used for what is written into messages.
  virtual absl::Time Now() const = 0;

  // Time since the machine booted, running on while it is suspended
  // (CLOCK_BOOTTIME). Never steps; used for leases and deadlines.
  virtual absl::Duration SinceBoot() const = 0;

  // Both, for callers that need both: a clock may take one look where it would take two. A step of
  // the wall clock may show here a millisecond later than in `Now`. On the loop's thread only.
  virtual Moment Look() const { return {.now = Now(), .since_boot = SinceBoot()}; }
};

}  // namespace retryq

#endif  // RETRYQ_CLOCK_H_
