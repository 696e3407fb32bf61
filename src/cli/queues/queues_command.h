#ifndef RETRYQ_CLI_QUEUES_QUEUES_COMMAND_H_
#define RETRYQ_CLI_QUEUES_QUEUES_COMMAND_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/flags/flag_parser.h"
#include "cli/management/management_api.h"
#include "cli/management/management_url.h"
#include "cli/queues/delay_queue_status.h"

namespace retryq::cli {

// The options of `retryq queues`.
struct QueuesOptions {
  ManagementUrl management;
  std::string vhost = "/";
  std::string prefix = "retry";
  bool json = false;
  bool watch = false;
  absl::Duration interval = absl::Seconds(2);  // of `watch`
};

// Parses the arguments of `retryq queues`, RETRYQ_URL and RETRYQ_MANAGEMENT_URL. Returns
// kInvalidArgument with all errors, one per line, each with the flag and the remedy.
absl::StatusOr<std::variant<QueuesOptions, Answer>> ParseQueues(const Arguments& arguments);

// Runs `retryq queues`. Returns the text to print, which ends with a line break.
absl::StatusOr<std::string> Queues(const QueuesOptions& options);

// Runs `retryq queues --watch`: shows the queues repeatedly until a key, SIGINT or SIGTERM:
// full-screen on a terminal, otherwise as lines. Returns the error of the first request; later
// errors are shown, and the watch continues.
absl::Status WatchQueues(const QueuesOptions& options);

// All delay queues of a vhost at one time.
struct DelayQueueList {
  std::vector<DelayQueueStatus> queues;  // in order of their TTL
  absl::Time at;                         // local clock
};

// Returns all delay queues of the prefix in the vhost, or the errors of ManagementApi::Get.
absl::StatusOr<DelayQueueList> FetchDelayQueues(ManagementApi& api, const QueuesOptions& options);

// Delay queues as text: a heading, a line for each queue, and the totals, all of the same width.
struct QueuesTable {
  std::string heading;
  std::vector<std::string> rows;  // in the order of the list
  std::string totals;
};
QueuesTable MakeTable(const DelayQueueList& list);

// The table as text, followed by the oddities of the queues; without queues, an explanation why
// that is fine.
std::string TableText(const DelayQueueList& list, const std::string& prefix,
                      const std::string& vhost);

// One JSON object, in one line: {"time","queues":[…],"totals":{…}}.
std::string JsonText(const DelayQueueList& list);

// One line for each queue and one for the totals, each with the time, for `--watch` in a pipe.
std::string LinesText(const DelayQueueList& list);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_QUEUES_QUEUES_COMMAND_H_
