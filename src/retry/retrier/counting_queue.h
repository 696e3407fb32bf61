#ifndef RETRYQ_SRC_RETRY_RETRIER_COUNTING_QUEUE_H_
#define RETRYQ_SRC_RETRY_RETRIER_COUNTING_QUEUE_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "retryq/amqp/table.h"
#include "retryq/broker/broker.h"

namespace retryq {

// Returns the text between the first `before` and the first `after` that follows it; up to the end
// if `after` is empty.
std::optional<std::string_view> TextBetween(std::string_view text, std::string_view before,
                                            std::string_view after);

// Parsed error of a declare that was refused because of its `x-queue-type` (F64 in
// doc/rabbitmq_facts.md).
struct TypeAnswer {
  std::optional<bool> counts = std::nullopt;  // whether it is a quorum queue, if known
  std::optional<amqp::Table::Field> other =
      std::nullopt;  // else another argument of the queue, which the broker compared first
};
TypeAnswer ReadTypeAnswer(const absl::Status& refusal);

// Finds out whether an existing queue counts deliveries. Quorum queues do; in any other queue, the
// header x-delivery-count comes from a publisher. Returns nullopt if the broker does not report it,
// for example because the user may not configure the queue. Uses a declare with an unknown queue
// type, which never creates a queue.
void FindWhetherCounts(Broker& broker, const std::string& queue,
                       std::function<void(std::optional<bool>)> done);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_RETRIER_COUNTING_QUEUE_H_
