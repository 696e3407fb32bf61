#ifndef RETRYQ_CLI_QUEUES_QUEUES_COMMAND_H_
#define RETRYQ_CLI_QUEUES_QUEUES_COMMAND_H_

#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/flags/flag_parser.h"
#include "cli/management/management_api.h"
#include "cli/management/management_url.h"
#include "cli/queues/delay_queue_status.h"

namespace retryq::cli {

// What `retryq queues` is asked to show.
struct QueuesOptions {
  ManagementUrl management;
  std::string vhost = "/";
  std::string prefix = "retry";
  bool json = false;
  bool watch = false;
  absl::Duration interval = absl::Seconds(2);  // of `watch`
};

// The arguments behind `retryq queues`, RETRYQ_URL and RETRYQ_MANAGEMENT_URL taken into account.
// kInvalidArgument with all that is wrong, a line each, naming the flag and the remedy.
absl::StatusOr<std::variant<QueuesOptions, Answer>> ParseQueues(const Arguments& arguments);

// All delay queues of the prefix in the vhost. Errors are those of ManagementApi::Get.
absl::StatusOr<DelayQueueList> FetchDelayQueues(ManagementApi& api, const std::string& vhost,
                                                const std::string& prefix);

// `retryq queues`: what there is still to print, a line break at the end.
absl::StatusOr<std::string> Queues(const QueuesOptions& options);

// `retryq queues --watch`: shows the queues again and again, until a key, SIGINT or SIGTERM ends
// it: full-screen on a terminal, else as lines. The error is that of the first look; later ones are
// shown, and another look follows.
absl::Status WatchQueues(const QueuesOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_QUEUES_QUEUES_COMMAND_H_
