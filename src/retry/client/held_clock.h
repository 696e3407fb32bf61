#ifndef RETRYQ_SRC_RETRY_CLIENT_HELD_CLOCK_H_
#define RETRYQ_SRC_RETRY_CLIENT_HELD_CLOCK_H_

#include "retryq/clock.h"

namespace retryq {

// Does nothing: for OpenDelivery, until that goes without it.
struct HeldClock {
  struct Hold {
    explicit Hold(const Clock& /*clock*/) {}
    Hold(const Clock& /*clock*/, const Moment& /*moment*/) {}
  };
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_CLIENT_HELD_CLOCK_H_
