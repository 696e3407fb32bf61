#ifndef RETRYQ_CLOCK_H_
#define RETRYQ_CLOCK_H_

#include "absl/time/time.h"
#include "retryq/export.h"

namespace retryq {

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
};

}  // namespace retryq

#endif  // RETRYQ_CLOCK_H_
