#ifndef RETRYQ_SRC_RETRY_PUBLISHER_PARKED_QUEUE_RULES_H_
#define RETRYQ_SRC_RETRY_PUBLISHER_PARKED_QUEUE_RULES_H_

#include <cstdint>
#include <string_view>

#include "base/broker_version.h"
#include "retryq/amqp/table.h"
#include "retryq/delay_queue_options.h"

namespace retryq {

// Returns the arguments that a parked queue of this type is declared with. The type is always set,
// because the vhost's default could make it a quorum queue, whose delivery limit discards messages
// that are read too often. From version 4 on there is a limit unless an argument removes it;
// earlier versions have no limit, and no argument to remove one.
inline amqp::Table ParkedQueueArguments(QueueType type, const BrokerVersion& version) {
  if (type == QueueType::kClassic) return {{"x-queue-type", "classic"}};
  amqp::Table arguments = {{"x-queue-type", "quorum"}};
  if (version.HasDefaultDeliveryLimit()) arguments.Set("x-delivery-limit", std::int64_t{-1});
  return arguments;
}

// The known properties of an existing queue.
struct QueueProperties {
  bool is_stream = false;
  bool is_durable = true;
  bool is_auto_delete = false;
  bool is_exclusive = false;
};

// Returns why such a queue would lose parked messages, to be appended to the queue's name; "" if it
// keeps them.
constexpr std::string_view WhyUnfitToPark(const QueueProperties& queue) {
  if (queue.is_stream) return "is a stream, which messages cannot be replayed from";
  if (!queue.is_durable) return "is not durable: a restart deletes it";
  if (queue.is_auto_delete) return "is auto-delete: it is deleted with its last consumer";
  if (queue.is_exclusive) return "is exclusive to another connection";
  return "";
}

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_PUBLISHER_PARKED_QUEUE_RULES_H_
