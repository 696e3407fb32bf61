#ifndef RETRYQ_CLI_MESSAGES_DELIVERY_LIMIT_H_
#define RETRYQ_CLI_MESSAGES_DELIVERY_LIMIT_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "cli/management/management_url.h"

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
// From the management API's answer about the queue. What that does not say, as of a policy right
// after a queue is made, is taken for a limit of 2. kFailedPrecondition for a limit below that, and
// for a stream.
absl::StatusOr<std::optional<std::int64_t>> MoveAt(const nlohmann::json& queue,
                                                   const std::string& name);

// Asks. A management API that cannot be asked is taken to say nothing.
absl::StatusOr<std::optional<std::int64_t>> FindMoveAt(const ManagementUrl& management,
                                                       const std::string& vhost,
                                                       const std::string& queue);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_DELIVERY_LIMIT_H_
