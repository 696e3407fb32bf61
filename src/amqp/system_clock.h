#ifndef RETRYQ_SRC_AMQP_SYSTEM_CLOCK_H_
#define RETRYQ_SRC_AMQP_SYSTEM_CLOCK_H_

#include "absl/time/time.h"
#include "retryq/clock.h"

namespace retryq::amqp {

// The machine's clocks. Thread-safe, but for `Look`.
class SystemClock final : public Clock {
 public:
  absl::Time Now() const override;
  absl::Duration SinceBoot() const override;
  Moment Look() const override;

 private:
  // How far apart they are, and until when since boot that is believed.
  mutable absl::Time boot_;
  mutable absl::Duration boot_is_good_until_ = -absl::InfiniteDuration();
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_SYSTEM_CLOCK_H_
