#ifndef RETRYQ_CLI_QUEUES_QUEUES_COMMAND_H_
#define RETRYQ_CLI_QUEUES_QUEUES_COMMAND_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/flags/flag_parser.h"
#include "cli/flags/shared_flags.h"
#include "cli/management/management_api.h"
#include "retryq/broker/delay_queue_name.h"

namespace retryq::cli {

// A delay queue in the data of the management API, which are up to five seconds old. Missing fields
// are not set.
struct DelayQueueStatus {
  std::string name;
  DelayQueueName parts;
  std::string type;                  // "classic", "quorum"
  std::string state;                 // "running", "down", …
  std::string dead_letter_exchange;  // "": the default exchange, so directly back to the queue
  std::string policy;                // the policies that apply, by name; empty: none
  std::string operator_policy;

  // The effective value: the smaller one of argument and policy.
  std::optional<absl::Duration> ttl;
  std::optional<absl::Duration> lease;  // x-expires

  std::optional<std::int64_t> waiting;
  // Of these, due messages that no queue has accepted yet; quorum queues only.
  std::optional<std::int64_t> undelivered;
  // Messages that are certainly overdue: `undelivered`, or all waiting messages if the queue has
  // been idle for longer than its TTL.
  std::optional<std::int64_t> overdue;
  std::optional<double> in_per_second;  // over the last minute
  std::optional<double> out_per_second;

  // The time until the head of the queue leaves, if messages wait: an estimate within about five
  // seconds, from the number of waiting messages and the times of publishes, and a limit, from the
  // TTL and the last activity of the queue.
  std::optional<absl::Duration> next_due;
  std::optional<absl::Duration> next_due_at_most;

  // The time until the queue and its messages are deleted. Classic: from the last declare; the
  // broker reports only the last activity, which may be later. Quorum: from its creation, in the
  // epoch that x-expires contains.
  std::optional<absl::Duration> lease_left_at_least;
  std::optional<absl::Duration> lease_left_at_most;
};

// Parses one queue of GET /api/queues/<vhost>, of any form. `now` is the broker's time. Returns
// nullopt if it is not a delay queue of this prefix.
std::optional<DelayQueueStatus> ReadDelayQueue(const nlohmann::json& queue, std::string_view prefix,
                                               absl::Time now);

// The owner of the messages, from the name of the delay queue: the work queue, "exchange <name>" if
// they were published to that exchange with a delay, or "many"; then "through <exchange>" if they
// return through an exchange. A name that is too long appears as a hash, after "#".
std::string Serves(const DelayQueueStatus& queue);

// The differences of the queue from its name and from the settings of retryq's clients, one
// sentence each.
std::vector<std::string> Oddities(const DelayQueueStatus& queue);

// The options of `retryq queues`.
struct QueuesOptions {
  BrokerPlace place;
  std::string prefix = "retry";
  bool json = false;
  bool watch = false;
  absl::Duration interval = absl::Seconds(2);  // of `watch`
};

Parsed<QueuesOptions> ParseQueues(const Arguments& arguments);

// Returns the text to print, which ends with a line break.
absl::StatusOr<std::string> Queues(const QueuesOptions& options);

// With --watch: shows the queues repeatedly until a key, SIGINT or SIGTERM: full-screen on a
// terminal, otherwise as without --watch. Returns the error of the first request; shows later
// errors.
absl::Status WatchQueues(const QueuesOptions& options);

// The delay queues of a vhost at one moment.
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

// The table as text, followed by the anomalies of the queues; without queues, an explanation of why
// there are none.
std::string TableText(const DelayQueueList& list, const QueuesOptions& options);

// One JSON object, in one line: {"time","queues":[…],"totals":{…}}.
std::string JsonText(const DelayQueueList& list);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_QUEUES_QUEUES_COMMAND_H_
