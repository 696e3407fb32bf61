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

// Parses the arguments of `retryq completions`. Returns kInvalidArgument with the reason.
absl::StatusOr<std::variant<Shell, Answer>> ParseCompletions(const Arguments& arguments);

// A script that completes `retryq` in a shell: its subcommands, their flags, the words of a value,
// files, and programs and files after `--`. It needs only the shell.
std::string CompletionScript(Shell shell, const std::vector<CommandDescription>& commands);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_COMPLETION_COMPLETIONS_H_
