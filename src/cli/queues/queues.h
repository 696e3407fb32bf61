#ifndef RETRYQ_CLI_QUEUES_QUEUES_H_
#define RETRYQ_CLI_QUEUES_QUEUES_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/management/management_api.h"
#include "cli/queues/delay_queue_status.h"
#include "cli/queues/queues_options.h"

namespace retryq::cli {

// All delay queues of the prefix in the vhost. Errors are those of ManagementApi::Get.
absl::StatusOr<DelayQueueList> FetchDelayQueues(ManagementApi& api, const std::string& vhost,
                                                const std::string& prefix);

// `retryq queues`: what there is still to print, a line break at the end.
absl::StatusOr<std::string> Queues(const QueuesOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_QUEUES_QUEUES_H_
