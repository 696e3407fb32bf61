#ifndef RETRYQ_CLI_COMPLETION_SHELL_SCRIPTS_H_
#define RETRYQ_CLI_COMPLETION_SHELL_SCRIPTS_H_

#include <string>
#include <vector>

#include "cli/completion/command_description.h"

namespace retryq::cli {

// CompletionScript for bash; does not need bash-completion.
std::string BashCompletion(const std::vector<CommandDescription>& commands);

// CompletionScript for zsh, for sourcing or for $fpath.
std::string ZshCompletion(const std::vector<CommandDescription>& commands);

// CompletionScript for fish.
std::string FishCompletion(const std::vector<CommandDescription>& commands);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_COMPLETION_SHELL_SCRIPTS_H_
