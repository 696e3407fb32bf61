#ifndef RETRYQ_CLI_MESSAGES_DELIVERY_LIMIT_H_
#define RETRYQ_CLI_MESSAGES_DELIVERY_LIMIT_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/management/management_url.h"
#include "retryq/amqp/connection_options.h"

namespace retryq::cli {

// The delivery limit of a quorum queue, from its argument and its policy in the management API's
// reply; -1: unlimited. `otherwise` is the result if neither sets one. Returns nullopt if the limit
// is not known yet, as right after the queue was declared.
std::optional<std::int64_t> DeliveryLimitOf(const nlohmann::json& queue, std::int64_t otherwise);

// The default from RabbitMQ 4 on. Earlier versions have no default limit.
inline constexpr std::int64_t kDefaultDeliveryLimit = 20;

// A quorum queue drops a message that was requeued more often than its delivery limit. So a reader
// that leaves messages in the queue moves those that were requeued `MoveAt` times. That is half of
// the limit, so that a few further requeues do no harm. nullopt if messages are never dropped: in a
// classic queue, or without a limit.
//
// `queue` is the management API's reply. Returns kFailedPrecondition if the limit is below 2 or not
// known, and for a stream.
absl::StatusOr<std::optional<std::int64_t>> MoveAt(const nlohmann::json& queue,
                                                   const std::string& name);

// The number of messages of a queue, some seconds ago.
struct QueueFigures {
  std::uint64_t all = 0;
  std::uint64_t unacked = 0;
};
std::optional<QueueFigures> FiguresOf(const nlohmann::json& queue);

// The facts about a queue that a reader needs first.
struct BeforeLooking {
  std::optional<std::int64_t> move_at;
  std::optional<QueueFigures> figures;
};

// Asks the management API, for some seconds if it does not know the limit yet. If it cannot be
// asked, a queue is read only if the broker confirms that it is classic. For any other queue
// returns kFailedPrecondition, as its limit might be 0.
absl::StatusOr<BeforeLooking> AskBeforeLooking(const ManagementUrl& management,
                                               const amqp::ConnectionOptions& connection,
                                               const std::string& queue);

// Checks whether other consumers still have messages of a queue after a reader has waited for them.
// Returns ok if the management API reports no unacked messages, otherwise kUnavailable with their
// number. `consumers` is the number of consumers of the queue; a reply with fewer is outdated, and
// the API is asked again.
absl::Status HeldByOthers(const ManagementUrl& management, const std::string& vhost,
                          const std::string& queue, std::uint32_t consumers);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_DELIVERY_LIMIT_H_
