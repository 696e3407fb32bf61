#include "cli/completion/completions.h"

#include <optional>

#include "absl/status/status.h"
#include "cli/completion/shell_scripts.h"
#include "cli/flags/flag_reader.h"

namespace retryq::cli {
namespace {

constexpr HelpText kCompletionsHelp = {
    .description = "Prints a script that completes this command in a shell.",
    .usage = "retryq completions bash|zsh|fish",
    .footer =
        R"(The script knows the subcommands and flags of the retryq that has printed it. For one shell:
  source <(retryq completions bash)
  source <(retryq completions zsh)
  retryq completions fish | source

Examples: for all that are started from now on
  retryq completions bash > ~/.local/share/bash-completion/completions/retryq
  retryq completions zsh > "${fpath[1]}/_retryq"
  retryq completions fish > ~/.config/fish/completions/retryq.fish
)",
};

}  // namespace

absl::StatusOr<std::variant<Shell, Answer>> ParseCompletions(const Arguments& arguments) {
  FlagText shell;
  FlagParser parser(kCompletionsHelp);
  parser.AddPositional("bash|zsh|fish", &shell, "The shell");
  return parser.ParseInto(arguments, [&shell](FlagReader& reader) {
    if (!shell) {
      reader.Complain("the shell is missing: say bash, zsh or fish");
    } else if (*shell == "zsh") {
      return Shell::kZsh;
    } else if (*shell == "fish") {
      return Shell::kFish;
    } else if (*shell != "bash") {
      reader.Complain("there is nothing for '" + *shell + "': say bash, zsh or fish");
    }
    return Shell::kBash;
  });
}

std::string CompletionScript(Shell shell, const std::vector<CommandDescription>& commands) {
  switch (shell) {
    case Shell::kZsh:
      return ZshCompletion(commands);
    case Shell::kFish:
      return FishCompletion(commands);
    case Shell::kBash:
      break;
  }
  return BashCompletion(commands);
}

}  // namespace retryq::cli
