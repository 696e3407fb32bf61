#ifndef RETRYQ_CLI_FLAGS_OWN_COMMANDS_H_
#define RETRYQ_CLI_FLAGS_OWN_COMMANDS_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/flags/flag_parser.h"

namespace retryq::cli {

// A subcommand with commands, such as `retryq parked list`, as it is called without one.
struct OwnCommands {
  std::string who;                 // "retryq parked"
  std::vector<std::string> names;  // "list", "show", …
  std::string description;
  std::string footer;  // end of its help
};

// Handles arguments that begin with none of these commands. Returns the help or the reply to
// kDescribeFlags; for anything else kInvalidArgument with a list of the commands.
absl::StatusOr<Answer> ParseWithoutCommand(const OwnCommands& own, const Arguments& arguments);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_FLAGS_OWN_COMMANDS_H_
