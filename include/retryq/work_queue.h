#ifndef RETRYQ_WORK_QUEUE_H_
#define RETRYQ_WORK_QUEUE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "retryq/amqp/table.h"
#include "retryq/delay_queue_options.h"
#include "retryq/duration.h"

namespace retryq {

// A binding from an exchange to a work queue.
struct WorkQueueBinding {
  // Declared, durable. If the exchange exists, it must have the same type. Required.
  std::string exchange;
  // "direct", "topic", "fanout" or "headers", or a type from a plugin, such as "x-consistent-hash".
  std::string exchange_type = "topic";
  std::string routing_key = {};
};

// A work queue to declare: durable, neither exclusive nor auto-delete.
struct WorkQueue {
  // Must not begin with "amq.". In ConsumerOptions, empty means the queue that is consumed.
  std::string name = {};
  QueueType type = QueueType::kClassic;
  // All arguments except x-queue-type, such as {"x-max-priority", std::int64_t{10}}. RabbitMQ's
  // documentation describes them; numbers should be std::int64_t.
  amqp::Table arguments = {};
  // Bindings to declare. Existing bindings are kept.
  std::vector<WorkQueueBinding> bindings = {};
};

struct DeclareOptions {
  // If true, an existing queue is used as it is, whatever its arguments, and nothing is bound to
  // it. This needs no right to configure the queue.
  bool only_if_missing = false;

  // Time after which the declare fails with kUnavailable.
  Duration deadline = absl::Seconds(30);
};

}  // namespace retryq

#endif  // RETRYQ_WORK_QUEUE_H_
