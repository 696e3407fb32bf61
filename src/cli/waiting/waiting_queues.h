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

// A delay queue in which messages of a work queue can wait.
struct WaitingQueue {
  std::string name;
  absl::Duration ttl;
  bool is_quorum = false;
  // Only messages of that work queue are in it, unless its name has the same hash as another's.
  bool is_owned = false;
  std::string dead_letter_exchange;
  std::optional<std::int64_t> delivery_limit;  // none: no limit
  std::optional<QueueFigures> figures;
};

// Reads one queue of the management API. Nothing where it is no delay queue of this prefix, or none
// that can hold messages of the work queue. `default_limit`: of deliveries, -1 for none.
std::optional<WaitingQueue> ReadWaitingQueue(const nlohmann::json& queue, std::string_view prefix,
                                             std::string_view work_queue,
                                             std::int64_t default_limit);

// Whether a message in that delay queue waits for the work queue. Through the default exchange it
// returns to the queue that its routing key names; through another one that cannot be known, and it
// is the work queue's if that is where it failed. Anyone can write an `x-retry-queue`: it is never
// believed against the routing key.
bool WaitsFor(const amqp::Message& message, const WaitingQueue& queue, std::string_view work_queue);

// What there is on a broker.
struct WaitingPlace {
  std::vector<WaitingQueue> queues;  // that are not empty, from the shortest TTL to the longest
  bool has_work_queue = false;
};

// Finds it: by the management API, and the counts by AMQP, as those of the API are old. Errors are
// those of both, with the remedy. For `park`, declares the parked queue where it is missing, as a
// worker would; kFailedPrecondition where it keeps no messages.
absl::StatusOr<WaitingPlace> FindWaiting(const WaitingOptions& options);

// That there is no such work queue.
absl::Status NoWorkQueue(const WaitingOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WAITING_WAITING_QUEUES_H_
