#ifndef RETRYQ_CLI_WAITING_WAITING_QUEUES_H_
#define RETRYQ_CLI_WAITING_WAITING_QUEUES_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/messages/delivery_limit.h"
#include "cli/waiting/waiting_command.h"
#include "retryq/amqp/message.h"

namespace retryq::cli {

// A delay queue that may contain messages of a work queue.
struct WaitingQueue {
  std::string name;
  absl::Duration ttl;
  bool is_quorum = false;
  // It contains only messages of that work queue, unless another work queue has the same hash in
  // its name.
  bool is_owned = false;
  std::string dead_letter_exchange;
  std::optional<std::int64_t> delivery_limit;  // not set: unlimited
  std::optional<QueueFigures> figures;
};

// Parses one queue of the management API. Returns nullopt if it is not a delay queue of this prefix
// or cannot contain messages of the work queue. `default_limit` is the broker's default delivery
// limit; -1: unlimited.
std::optional<WaitingQueue> ReadWaitingQueue(const nlohmann::json& queue, std::string_view prefix,
                                             std::string_view work_queue,
                                             std::int64_t default_limit);

// Returns whether a message in this delay queue waits for the work queue. With the default
// exchange, it returns to the queue that its routing key names. With another exchange the target is
// unknown, and the message counts as the work queue's if it failed there. Anyone can set
// `x-retry-queue`, so it never overrides the routing key.
bool WaitsFor(const amqp::Message& message, const WaitingQueue& queue, std::string_view work_queue);

// The delay queues and the work queue on a broker.
struct WaitingPlace {
  std::vector<WaitingQueue> queues;  // not empty, in order of their TTL
  bool has_work_queue = false;
};

// Finds the queues with the management API, and their message counts with AMQP, as those of the API
// are old. Returns the errors of both, with the remedy. For `park`, declares a missing parked queue
// as a worker does; returns kFailedPrecondition if the parked queue does not keep messages.
absl::StatusOr<WaitingPlace> FindWaiting(const WaitingOptions& options);

// The error for a missing work queue.
absl::Status NoWorkQueue(const WaitingOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WAITING_WAITING_QUEUES_H_
