#ifndef RETRYQ_SRC_AMQP_SYSTEM_CLOCK_H_
#define RETRYQ_SRC_AMQP_SYSTEM_CLOCK_H_

#include "absl/time/time.h"
#include "retryq/clock.h"

namespace retryq::amqp {

// The machine's clocks. Thread-safe.
class SystemClock final : public Clock {
 public:
  absl::Time Now() const override;
  absl::Duration SinceBoot() const override;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_SYSTEM_CLOCK_H_
