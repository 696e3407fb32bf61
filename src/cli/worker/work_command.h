#ifndef RETRYQ_CLI_WORKER_WORK_COMMAND_H_
#define RETRYQ_CLI_WORKER_WORK_COMMAND_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/flags/flag_parser.h"
#include "cli/management/management_url.h"
#include "cli/worker/metrics_server.h"
#include "retryq/client.h"
#include "retryq/consumer.h"
#include "retryq/observer.h"

namespace retryq::cli {

// With `work --lines`: children that stay.
struct LinesOptions {
  int in_flight = 1;  // messages that a child has at a time
};

// What `retryq work` is asked to do.
struct WorkOptions {
  ClientOptions client;
  std::string vhost;         // of the broker
  ManagementUrl management;  // its API
  ConsumerOptions consumer;
  std::vector<std::string> command;
  int jobs = 1;                                       // children at a time
  std::optional<LinesOptions> lines;                  // none: a child for each message
  absl::Duration timeout = absl::InfiniteDuration();  // of one message
  absl::Duration grace = absl::Seconds(25);           // from the first signal on
  bool pass_url = false;                              // to children, with the passwords
  std::string on_parked;                              // a line for /bin/sh; empty: none
  bool json = false;
  Severity log_from = Severity::kInfo;  // what matters less is not logged
  std::optional<MetricsAddress> metrics;
};

// The arguments behind `retryq work`, RETRYQ_URL taken into account. kInvalidArgument with all that
// is wrong, a line each, naming the flag and the remedy.
absl::StatusOr<std::variant<WorkOptions, Answer>> ParseWork(const Arguments& arguments);

// Works until a signal ends it, and settles what runs then; ok after that. An error before the
// first message could be consumed: see Client::Consume.
absl::Status Work(const WorkOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_WORK_COMMAND_H_
