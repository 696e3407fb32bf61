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

// How often a quorum queue takes a message back at most, by its argument and its policy, as the
// management API shows it; -1: there is no limit. `otherwise`: where neither sets one. Nothing
// where that cannot be known, as of a policy right after a queue is made.
std::optional<std::int64_t> DeliveryLimitOf(const nlohmann::json& queue, std::int64_t otherwise);

// What there is without either, from RabbitMQ 4 on. Before there is none.
inline constexpr std::int64_t kDefaultDeliveryLimit = 20;

// A quorum queue drops a message that it has taken back more often than its delivery limit says.
// A reader of its messages that leaves them there therefore gets out of the way in time those
// that it has taken back `MoveAt` times: half of the limit, so that a few more may go wrong.
// Nothing where no message is ever dropped: in a classic queue, or without a limit.
//
// From the management API's answer about the queue. kFailedPrecondition for a limit below 2, for
// one that is not known, and for a stream.
absl::StatusOr<std::optional<std::int64_t>> MoveAt(const nlohmann::json& queue,
                                                   const std::string& name);

// Messages of a queue, some seconds ago.
struct QueueFigures {
  std::uint64_t all = 0;
  std::uint64_t unacked = 0;
};
std::optional<QueueFigures> FiguresOf(const nlohmann::json& queue);

// What is to be known of a queue before its messages are looked at.
struct BeforeLooking {
  std::optional<std::int64_t> move_at;
  std::optional<QueueFigures> figures;
};

// Asks the management API; for some seconds where that does not know the limit yet. Where it cannot
// be asked, a queue is read that the broker says is classic: kFailedPrecondition for any other, as
// its limit might be 0.
absl::StatusOr<BeforeLooking> AskBeforeLooking(const ManagementUrl& management,
                                               const amqp::ConnectionOptions& connection,
                                               const std::string& queue);

// Where others have messages of a queue for longer than a reader waits: ok where the management API
// says that they have none after all, else kUnavailable with their number. `consumers`: how many
// the queue has; an answer with fewer is older than that, and is waited for.
absl::Status HeldByOthers(const ManagementUrl& management, const std::string& vhost,
                          const std::string& queue, std::uint32_t consumers);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_DELIVERY_LIMIT_H_
