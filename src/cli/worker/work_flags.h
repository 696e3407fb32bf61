#ifndef RETRYQ_CLI_WORKER_WORK_FLAGS_H_
#define RETRYQ_CLI_WORKER_WORK_FLAGS_H_

#include <string>
#include <vector>

#include "cli/flags/breaker_flags.h"
#include "cli/flags/delay_queue_flags.h"
#include "cli/flags/flag_parser.h"
#include "cli/flags/flag_reader.h"
#include "cli/flags/retrying_flags.h"
#include "cli/management/management_flags.h"
#include "cli/worker/work_command.h"

namespace retryq::cli {

// The command line of a worker, for `retryq work`, which runs it, and `retryq doctor`, which checks
// its requirements.
struct WorkFlags {
  ManagementFlags place;
  FlagText queue, work_exchange, declare_type;
  RetryingFlags retrying;
  FlagText on_limit, parked, on_parked, count_redeliveries;
  std::vector<std::string> earlier_counts, former_queues;
  BreakerFlags breaker;
  DelayQueueFlags delay_queues;
  FlagText prefetch, max_body, jobs, in_flight, timeout, consumer_timeout, grace;
  FlagText log_level, metrics;
  bool declare = false;
  bool share_retries = false;
  bool lines = false;
  bool pass_url = false;
  bool json = false;
  Arguments command;  // the arguments after --
};

// Removes the arguments after "--", which belong to COMMAND.
Arguments TakeCommand(const Arguments& arguments, WorkFlags* flags);

// `json`: the help of --json.
void AddFlags(FlagParser& parser, WorkFlags& flags, const std::string& json);

// Reads the values of the flags and reports errors. Queue and command may be missing.
WorkOptions ReadFlags(const WorkFlags& flags, FlagReader& reader);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_WORK_FLAGS_H_
