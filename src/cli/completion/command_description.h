#ifndef RETRYQ_CLI_COMPLETION_COMMAND_DESCRIPTION_H_
#define RETRYQ_CLI_COMPLETION_COMMAND_DESCRIPTION_H_

#include <string>
#include <vector>

#include "cli/flags/flag_description.h"

namespace retryq::cli {

// A subcommand for shell completion.
struct CommandDescription {
  std::string name;
  std::string summary;
  std::vector<FlagDescription> flags;
  std::vector<CommandDescription> commands = {};  // such as `parked list`
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_COMPLETION_COMMAND_DESCRIPTION_H_
