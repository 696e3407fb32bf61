#ifndef RETRYQ_SRC_LOOP_SYSTEM_CLOCK_H_
#define RETRYQ_SRC_LOOP_SYSTEM_CLOCK_H_

#include <cstdint>

#include "absl/time/time.h"
#include "retryq/broker/clock.h"

namespace retryq {

// The machine's clocks. Thread-safe, except `Look`.
class SystemClock final : public Clock {
 public:
  absl::Time Now() const override;
  absl::Duration SinceBoot() const override;
  Moment Look() const override;

 private:
  // The time at which the machine booted, by the wall clock, and until when since boot this value
  // is used. In nanoseconds.
  mutable std::int64_t boot_ = 0;
  mutable std::int64_t boot_is_good_until_ = 0;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_LOOP_SYSTEM_CLOCK_H_
