#ifndef RETRYQ_DELAY_QUEUE_NAME_H_
#define RETRYQ_DELAY_QUEUE_NAME_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "retryq/export.h"

namespace retryq {

// What the name of a delay queue says: `<prefix>.<milliseconds>[.direct][.<hash>][.q<slot>]`.
struct DelayQueueName {
  // What the queue's TTL should be.
  absl::Duration ttl;

  // Of a client with a named work exchange, for messages that did not come through that.
  bool direct = false;

  // Eight hexadecimal digits over the arguments: it stands in for the queue without them, which
  // has other arguments, or could not be used. Empty: none.
  std::string hash = {};

  // Of a quorum queue that takes turns with others: 0 to 3.
  std::optional<int> slot = std::nullopt;

  friend bool operator==(const DelayQueueName&, const DelayQueueName&) = default;
};

// Nothing for a queue that is no delay queue of this prefix. Thread-safe.
RETRYQ_EXPORT std::optional<DelayQueueName> ParseDelayQueueName(std::string_view name,
                                                                std::string_view prefix);

}  // namespace retryq

#endif  // RETRYQ_DELAY_QUEUE_NAME_H_
