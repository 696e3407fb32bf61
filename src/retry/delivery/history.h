#ifndef RETRYQ_SRC_RETRY_DELIVERY_HISTORY_H_
#define RETRYQ_SRC_RETRY_DELIVERY_HISTORY_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retryq/amqp/message.h"
#include "retryq/delivery.h"

namespace retryq {

// What `message`, consumed from `queue`, says about its failures so far. Headers count only where
// `x-retry-queue` is `queue`, so that a message that failed elsewhere starts afresh here; except
// for what has no `x-retry-queue`: the `x-retry-id` of a replayed message, and the delay of one
// that was published with a delay and is still on its way through several delay queues. Anyone can
// send such headers: what is of a wrong type, negative or longer than AMQP allows is taken as
// absent. The views point into `message`. `former`: names that the queue had before, which are as
// good as `queue`.
Delivery::History ReadHistory(const amqp::Message& message, std::string_view queue,
                              const std::vector<std::string>& former = {});

// Whether `message`, consumed from `queue`, has just come out of a delay queue of `prefix` into
// which the consumer of another queue had put it: then a named work exchange has led it here too,
// and this queue has had it already. For `skip_others`.
bool IsOthersRetry(const amqp::Message& message, std::string_view queue, std::string_view prefix,
                   const std::vector<std::string>& former = {});

// What a message says about its last stay in a delay queue.
struct LastDeath {
  std::string queue;
  std::string reason;  // "expired", "maxlen", …
};

// The newest entry of `x-death`; nothing where there is none that can be read.
std::optional<LastDeath> ReadLastDeath(const amqp::Message& message);

// Whether a quorum queue has delivered `message` so often that it may soon drop it: from RabbitMQ 4
// on it does so after 20 deliveries in vain, whichever worker died, and with all that was
// prefetched.
bool IsNearDeliveryLimit(const amqp::Message& message);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_HISTORY_H_
