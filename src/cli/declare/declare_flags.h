#ifndef RETRYQ_CLI_DECLARE_DECLARE_FLAGS_H_
#define RETRYQ_CLI_DECLARE_DECLARE_FLAGS_H_

#include <variant>

#include "absl/status/statusor.h"
#include "cli/declare/declare_options.h"
#include "cli/flags/flag_parser.h"

namespace retryq::cli {

// The arguments behind `retryq declare`, RETRYQ_URL taken into account. kInvalidArgument with all
// that is wrong, a line each, naming the flag and the remedy.
absl::StatusOr<std::variant<DeclareCommandOptions, Answer>> ParseDeclare(
    const Arguments& arguments);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DECLARE_DECLARE_FLAGS_H_
