#ifndef RETRYQ_CLI_COMPLETION_FISH_COMPLETION_H_
#define RETRYQ_CLI_COMPLETION_FISH_COMPLETION_H_

#include <string>
#include <vector>

#include "cli/completion/command_description.h"

namespace retryq::cli {

// CompletionScript for fish.
std::string FishCompletion(const std::vector<CommandDescription>& commands);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_COMPLETION_FISH_COMPLETION_H_
