#ifndef RETRYQ_DELAY_QUEUE_NAME_H_
#define RETRYQ_DELAY_QUEUE_NAME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "retryq/export.h"

namespace retryq {

// What the name of a delay queue says: `<prefix>.<milliseconds>[.direct][.<hash>]` of a classic
// queue, `<prefix>.<milliseconds>[.direct][.p<priority>][.<hash>][.<owner>].q[<slot>]` of a quorum
// queue. The owner is the name of the work queue, or `exchange.<exchange>.key.<routing key>`. Where
// the whole would be longer than 255 bytes, or could be read as something else, `#` and 16
// hexadecimal digits, a hash of the queue's name or of exchange and key, stand for it.
struct DelayQueueName {
  // What the queue's TTL should be.
  absl::Duration ttl;

  // Of a client with a named work exchange, for messages that did not come through that.
  bool direct = false;

  // Of a quorum queue: the priority of its messages, 0 to 31, where that is not the default. A
  // quorum queue of RabbitMQ 4 lets messages of a higher priority out first, however late the
  // others are.
  std::optional<std::uint8_t> priority = std::nullopt;

  // Eight hexadecimal digits over the arguments: it stands in for the queue without them, which
  // has other arguments, or could not be used. Empty: none.
  std::string hash = {};

  // Of a quorum queue that takes turns with others: 0 to 3.
  std::optional<int> slot = std::nullopt;

  // Of a quorum queue that belongs to one work queue: its name, or `#` and a hash of that. Empty:
  // it is shared, or belongs to an exchange.
  std::string work_queue = {};

  // Of a quorum queue for messages that were published with a delay to this exchange with this
  // routing key: both, or in `exchange` `#` and a hash of both.
  std::string exchange = {};
  std::string routing_key = {};

  friend bool operator==(const DelayQueueName&, const DelayQueueName&) = default;
};

// Nothing for a queue that is no delay queue of this prefix. Thread-safe.
RETRYQ_EXPORT std::optional<DelayQueueName> ParseDelayQueueName(std::string_view name,
                                                                std::string_view prefix);

}  // namespace retryq

#endif  // RETRYQ_DELAY_QUEUE_NAME_H_
