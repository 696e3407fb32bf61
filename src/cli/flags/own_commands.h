#ifndef RETRYQ_CLI_FLAGS_OWN_COMMANDS_H_
#define RETRYQ_CLI_FLAGS_OWN_COMMANDS_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/flags/flag_parser.h"

namespace retryq::cli {

// A subcommand that has commands of its own, such as `retryq parked list`: what it is without one.
struct OwnCommands {
  std::string who;                 // "retryq parked"
  std::vector<std::string> names;  // "list", "show", …
  std::string description;
  std::string footer;  // of its help
};

// What arguments ask for that begin with none of these commands: the help, or kDescribeFlags.
// kInvalidArgument for anything else, with the commands there are.
absl::StatusOr<Answer> ParseWithoutCommand(const OwnCommands& own, const Arguments& arguments);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_FLAGS_OWN_COMMANDS_H_
