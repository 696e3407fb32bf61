#ifndef RETRYQ_BROKER_TIMERS_H_
#define RETRYQ_BROKER_TIMERS_H_

#include <memory>

#include "absl/functional/any_invocable.h"
#include "retryq/duration.h"
#include "retryq/export.h"

namespace retryq {

// A pending call. Destroying it cancels the call; it may be destroyed inside
// its own callback.
class RETRYQ_EXPORT Timer {
 public:
  virtual ~Timer() = default;
};

// Calls functions later, on the loop's thread. Used on the loop's thread only.
class RETRYQ_EXPORT Timers {
 public:
  virtual ~Timers() = default;

  // Calls `callback` once, after at least `delay` and never before this returns, unless the timer
  // is destroyed first. Negative delays count as zero.
  using Callback = absl::AnyInvocable<void() &&>;
  [[nodiscard]] virtual std::unique_ptr<Timer> After(Duration delay, Callback callback) = 0;
};

}  // namespace retryq

#endif  // RETRYQ_BROKER_TIMERS_H_
