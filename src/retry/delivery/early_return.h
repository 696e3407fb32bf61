#ifndef RETRYQ_SRC_RETRY_DELIVERY_EARLY_RETURN_H_
#define RETRYQ_SRC_RETRY_DELIVERY_EARLY_RETURN_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "retryq/delivery.h"

namespace retryq {

// A message that came back too soon. The arguments of its delay queue forbid that, and the broker
// says nothing of a policy or operator policy that wins over them: `message-ttl` lets messages out
// early, `max-length` pushes them out at the head (F29 in doc/rabbitmq_facts.md).
struct EarlyReturn {
  std::string delay_queue;
  std::string why;  // with the remedy
};

// Nothing if it is in time, which for one of several delay queues is before the message is due.
// Clocks of workers that differ by up to a second, or a twentieth of the delay where that is more,
// are put up with.
std::optional<EarlyReturn> FindEarlyReturn(const Delivery& delivery, absl::Time now);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_EARLY_RETURN_H_
