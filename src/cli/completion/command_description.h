#ifndef RETRYQ_CLI_COMPLETION_COMMAND_DESCRIPTION_H_
#define RETRYQ_CLI_COMPLETION_COMMAND_DESCRIPTION_H_

#include <string>
#include <vector>

#include "cli/flags/flag_description.h"

namespace retryq::cli {

// A subcommand as a shell completes it.
struct CommandDescription {
  std::string name;
  std::string summary;
  std::vector<FlagDescription> flags;
  std::vector<CommandDescription> commands = {};  // of its own, as in `parked list`
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_COMPLETION_COMMAND_DESCRIPTION_H_
