#ifndef RETRYQ_SRC_RETRY_RETRIER_COUNTING_QUEUE_H_
#define RETRYQ_SRC_RETRY_RETRIER_COUNTING_QUEUE_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "retryq/amqp/table.h"
#include "retryq/broker.h"

namespace retryq {

// What the refusal of a declare with another `x-queue-type` tells of the queue that is there (F64
// in doc/rabbitmq_facts.md).
struct TypeAnswer {
  std::optional<bool> counts = std::nullopt;  // whether it is a quorum queue, where that is known
  std::optional<amqp::Table::Field> other =
      std::nullopt;  // else an argument that it has, which was named first
};
TypeAnswer ReadTypeAnswer(const absl::Status& refusal);

// Whether the queue, which exists, counts deliveries, as a quorum queue does: what is in the header
// x-delivery-count of another one comes from a publisher. Nothing where the broker does not tell,
// such as without the right to configure the queue. Declares nothing: there is no queue of the type
// that is asked for.
void FindWhetherCounts(Broker& broker, const std::string& queue,
                       std::function<void(std::optional<bool>)> done);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_RETRIER_COUNTING_QUEUE_H_
