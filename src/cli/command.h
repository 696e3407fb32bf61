#ifndef RETRYQ_CLI_COMMAND_H_
#define RETRYQ_CLI_COMMAND_H_

#include <string>
#include <vector>

#include "cli/flags/flag_parser.h"

namespace retryq::cli {

// Runs the command with the arguments after `retryq`. Returns the exit code, by sysexits.h.
int RunCommand(const std::vector<std::string>& arguments);

// A command for shell completion: retryq itself, or one of its commands.
struct CommandDescription {
  std::string name;
  std::string summary;
  std::vector<FlagDescription> flags;
  std::vector<CommandDescription> commands = {};
};

// The options of `retryq completions`: a shell, or `--words WORD...`, which the scripts call.
struct CompletionsOptions {
  std::string shell;  // bash, zsh or fish; empty: `words`
  Arguments words;    // after `retryq`, up to the cursor; the last one may be empty
};

Parsed<CompletionsOptions> ParseCompletions(const Arguments& arguments);

// Returns the script for a shell, which calls `retryq completions --words`; or the candidates for
// the last word: lines of a word, a tab and its description. A line `:files` instead requests the
// names of files, and `:programs` those of programs, which the shell knows.
std::string Completions(const CompletionsOptions& options, const CommandDescription& retryq);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_COMMAND_H_
