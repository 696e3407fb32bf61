#ifndef RETRYQ_CLI_MANAGEMENT_MANAGEMENT_QUEUES_H_
#define RETRYQ_CLI_MANAGEMENT_MANAGEMENT_QUEUES_H_

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/management/management_api.h"

namespace retryq::cli {

// Requests all queues of the vhost whose names begin with `beginning`, page by page, with their
// statistics. Calls `visit` for each with the broker's data, of any form, and its time. Returns the
// errors of ManagementApi::Get.
absl::Status VisitQueues(
    ManagementApi& api, const std::string& vhost, const std::string& beginning,
    const std::function<void(const nlohmann::json& queue, absl::Time at)>& visit);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_MANAGEMENT_QUEUES_H_
