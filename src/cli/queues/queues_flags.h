#ifndef RETRYQ_CLI_QUEUES_QUEUES_FLAGS_H_
#define RETRYQ_CLI_QUEUES_QUEUES_FLAGS_H_

#include <variant>

#include "absl/status/statusor.h"
#include "cli/flags/flag_parser.h"
#include "cli/queues/queues_options.h"

namespace retryq::cli {

// The arguments behind `retryq queues`, RETRYQ_URL and RETRYQ_MANAGEMENT_URL taken into account.
// kInvalidArgument with all that is wrong, a line each, naming the flag and the remedy.
absl::StatusOr<std::variant<QueuesOptions, Answer>> ParseQueues(const Arguments& arguments);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_QUEUES_QUEUES_FLAGS_H_
