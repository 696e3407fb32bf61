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

// What a user may do in a vhost: regular expressions.
struct GrantedRights {
  std::string configure;
  std::string write;
  std::string read;
};

// What `retryq doctor` is asked to look at: what a worker with these options needs.
struct DoctorOptions {
  BrokerPlace place;
  RetryOptions retry;
  DelayQueueOptions delay_queues;
  std::string queue;  // the work queue; empty: none in particular
  std::optional<QueueType> declare_queue = std::nullopt;  // the worker declares it, as such a one
  std::string work_exchange;
  bool share_retries = false;  // also takes what other queues' workers retry
  std::string parked_queue;    // empty without `queue`
  bool json = false;
  // What the user may do already, by the management API; nothing where that does not tell.
  std::optional<GrantedRights> granted = std::nullopt;
};

// What such a worker needs.
DoctorOptions OptionsToExamine(const WorkOptions& worker);

// Where the delay queues of such a worker let their messages go.
DelayTarget TargetOf(const DoctorOptions& options);

// The arguments behind `retryq doctor`, RETRYQ_URL and RETRYQ_MANAGEMENT_URL taken into account.
// kInvalidArgument with all that is wrong, a line each, naming the flag and the remedy.
absl::StatusOr<std::variant<DoctorOptions, Answer>> ParseDoctor(const Arguments& arguments);

// `retryq doctor`: looks at everything and prints what it finds to stdout. Returns the exit code.
int Doctor(const DoctorOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_DOCTOR_COMMAND_H_
