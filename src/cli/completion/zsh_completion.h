#ifndef RETRYQ_CLI_COMPLETION_ZSH_COMPLETION_H_
#define RETRYQ_CLI_COMPLETION_ZSH_COMPLETION_H_

#include <string>
#include <vector>

#include "cli/completion/command_description.h"

namespace retryq::cli {

// CompletionScript for zsh, to be sourced or to be found in $fpath.
std::string ZshCompletion(const std::vector<CommandDescription>& commands);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_COMPLETION_ZSH_COMPLETION_H_
