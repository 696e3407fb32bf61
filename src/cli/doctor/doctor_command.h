#ifndef RETRYQ_CLI_DOCTOR_DOCTOR_COMMAND_H_
#define RETRYQ_CLI_DOCTOR_DOCTOR_COMMAND_H_

#include <optional>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "cli/flags/flag_parser.h"
#include "cli/management/management_flags.h"
#include "retryq/delay_queue_declaration.h"
#include "retryq/delay_queue_options.h"
#include "retryq/retry_options.h"

namespace retryq::cli {

struct WorkOptions;

// The permissions of a user in a vhost, as regular expressions.
struct GrantedRights {
  std::string configure;
  std::string write;
  std::string read;
};

// The options of `retryq doctor`, which checks the requirements of a worker with these options.
struct DoctorOptions {
  BrokerPlace place;
  RetryOptions retry;
  DelayQueueOptions delay_queues;
  std::string queue;                                      // the work queue; empty: no specific one
  std::optional<QueueType> declare_queue = std::nullopt;  // type with which the worker declares it
  std::string work_exchange;
  bool share_retries = false;  // also handles retries of other queues
  std::string parked_queue;    // empty without `queue`
  bool json = false;
  // The current permissions of the user, from the management API; not set if unknown.
  std::optional<GrantedRights> granted = std::nullopt;
};

// Returns the options to check a worker with these options.
DoctorOptions OptionsToExamine(const WorkOptions& worker);

// The target of the worker's delay queues.
DelayTarget TargetOf(const DoctorOptions& options);

// Parses the arguments of `retryq doctor`, RETRYQ_URL and RETRYQ_MANAGEMENT_URL. Returns
// kInvalidArgument with all errors, one per line, each with the flag and the remedy.
absl::StatusOr<std::variant<DoctorOptions, Answer>> ParseDoctor(const Arguments& arguments);

// Runs all checks of `retryq doctor` and prints the findings to stdout. Returns the exit code.
int Doctor(const DoctorOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_DOCTOR_COMMAND_H_
