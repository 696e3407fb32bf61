#ifndef RETRYQ_CLI_COMPLETION_COMPLETIONS_H_
#define RETRYQ_CLI_COMPLETION_COMPLETIONS_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/completion/command_description.h"
#include "cli/flags/flag_parser.h"

namespace retryq::cli {

enum class Shell { kBash, kZsh, kFish };

// The arguments behind `retryq completions`. kInvalidArgument says what is wrong.
absl::StatusOr<std::variant<Shell, Answer>> ParseCompletions(const Arguments& arguments);

// A script for a shell that completes `retryq`: its subcommands, their flags, the words that a flag
// takes, files where it takes one, and programs and files behind `--`. It needs nothing but the
// shell itself.
std::string CompletionScript(Shell shell, const std::vector<CommandDescription>& commands);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_COMPLETION_COMPLETIONS_H_
