#ifndef RETRYQ_WORK_QUEUE_H_
#define RETRYQ_WORK_QUEUE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "retryq/amqp/table.h"
#include "retryq/delay_queue_options.h"

namespace retryq {

// An exchange that leads to a work queue.
struct WorkQueueBinding {
  // Declared, durable. One that is there must have the same type. Required.
  std::string exchange;
  // "direct", "topic", "fanout" or "headers", or a type of a plugin's, such as
  // "x-consistent-hash".
  std::string exchange_type = "topic";
  std::string routing_key = {};
};

// A work queue to declare: durable, neither exclusive nor auto-delete.
struct WorkQueue {
  // Must not begin with "amq.". In ConsumerOptions empty: the queue that is consumed.
  std::string name = {};
  QueueType type = QueueType::kClassic;
  // All but x-queue-type, such as {"x-max-priority", std::int64_t{10}}. What RabbitMQ makes of them
  // is in its documentation; numbers should be std::int64_t.
  amqp::Table arguments = {};
  // Bindings that are there already stay.
  std::vector<WorkQueueBinding> bindings = {};
};

struct DeclareOptions {
  // A queue that is there is taken as it is, whatever its arguments, and nothing is bound to it.
  // That needs no right to configure it.
  bool only_if_missing = false;

  // When to give up.
  absl::Duration deadline = absl::Seconds(30);
};

}  // namespace retryq

#endif  // RETRYQ_WORK_QUEUE_H_
