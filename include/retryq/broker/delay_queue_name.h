#ifndef RETRYQ_BROKER_DELAY_QUEUE_NAME_H_
#define RETRYQ_BROKER_DELAY_QUEUE_NAME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "retryq/export.h"

namespace retryq {

// The parts of a delay queue's name: `<prefix>.<milliseconds>[.direct][.<hash>]` for a classic
// queue, `<prefix>.<milliseconds>[.direct][.p<priority>][.<hash>][.<owner>].q[<slot>]` for a quorum
// queue. The owner is the name of the work queue, or `exchange.<exchange>.key.<routing key>`. If
// the whole name would be longer than 255 bytes or ambiguous, the owner is replaced by `#` and 16
// hexadecimal digits, a hash of the work queue's name or of exchange and key.
struct DelayQueueName {
  // The TTL that the queue should have.
  absl::Duration ttl;

  // Whether the queue is for the messages of a client with a named work exchange that did not come
  // through that exchange.
  bool direct = false;

  // Quorum queues: the priority of the messages, 0 to 31, if it is not the default. A quorum queue
  // of RabbitMQ 4 releases messages of a higher priority first, however late the others are.
  std::optional<std::uint8_t> priority = std::nullopt;

  // Eight hexadecimal digits, a hash of the arguments: this queue replaces the queue without a
  // hash, which has other arguments or could not be used. Empty: none.
  std::string hash = {};

  // Quorum queues that rotate: 0 to 3.
  std::optional<int> slot = std::nullopt;

  // Quorum queue of one work queue: the name of the work queue, or `#` and a hash of that. Empty:
  // the queue is shared, or belongs to an exchange.
  std::string work_queue = {};

  // Quorum queue for messages that were published with a delay to this exchange with this routing
  // key: both names; or `#` and a hash of both in `exchange`.
  std::string exchange = {};
  std::string routing_key = {};

  friend bool operator==(const DelayQueueName&, const DelayQueueName&) = default;
};

// Returns nullopt if the queue is not a delay queue of this prefix. Thread-safe.
RETRYQ_EXPORT std::optional<DelayQueueName> ParseDelayQueueName(std::string_view name,
                                                                std::string_view prefix);

}  // namespace retryq

#endif  // RETRYQ_BROKER_DELAY_QUEUE_NAME_H_
