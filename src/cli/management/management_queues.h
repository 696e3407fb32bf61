#ifndef RETRYQ_CLI_MANAGEMENT_MANAGEMENT_QUEUES_H_
#define RETRYQ_CLI_MANAGEMENT_MANAGEMENT_QUEUES_H_

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/management/management_api.h"

namespace retryq::cli {

// Asks for all queues of the vhost whose names begin so, page after page, with their statistics,
// and calls `visit` for each: with what the broker says of it, whatever that is, and when. Errors
// are those of ManagementApi::Get.
absl::Status VisitQueues(
    ManagementApi& api, const std::string& vhost, const std::string& beginning,
    const std::function<void(const nlohmann::json& queue, absl::Time at)>& visit);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_MANAGEMENT_QUEUES_H_
