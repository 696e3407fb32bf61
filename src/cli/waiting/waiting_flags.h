#ifndef RETRYQ_CLI_WAITING_WAITING_FLAGS_H_
#define RETRYQ_CLI_WAITING_WAITING_FLAGS_H_

#include <variant>

#include "absl/status/statusor.h"
#include "cli/flags/flag_parser.h"
#include "cli/waiting/waiting_options.h"

namespace retryq::cli {

// The arguments behind `retryq waiting`, RETRYQ_URL taken into account. kInvalidArgument with all
// that is wrong, a line each, naming the flag and the remedy.
absl::StatusOr<std::variant<WaitingOptions, Answer>> ParseWaiting(const Arguments& arguments);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WAITING_WAITING_FLAGS_H_
