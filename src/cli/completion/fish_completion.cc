#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/completion/shell_scripts.h"

namespace retryq::cli {
namespace {

// Quotes a text in single quotes for fish.
std::string QuotedForFish(std::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(std::string(text), {{"\\", "\\\\"}, {"'", "\\'"}}),
                      "'");
}

// A line for a flag; empty for a positional argument without choices.
std::string CompletionLine(const std::string& condition, const FlagDescription& flag) {
  const std::vector<std::string> choices = ChoicesOf(flag);
  std::string line = absl::StrCat("complete -c retryq -n ", QuotedForFish(condition));
  if (flag.names.empty()) {
    if (choices.empty()) return "";
    return absl::StrCat(line, " -a ", QuotedForFish(absl::StrJoin(choices, " ")), "\n");
  }
  for (const std::string& name : flag.names) {
    const bool is_long = name.starts_with("--");
    absl::StrAppend(&line, is_long ? " -l " : " -s ", name.substr(is_long ? 2 : 1));
  }
  if (TakesAFile(flag)) {
    absl::StrAppend(&line, " -r -F");
  } else if (!flag.value.empty()) {
    absl::StrAppend(&line, " -x");
  }
  if (!choices.empty()) absl::StrAppend(&line, " -a ", QuotedForFish(absl::StrJoin(choices, " ")));
  if (!flag.help.empty()) absl::StrAppend(&line, " -d ", QuotedForFish(flag.help));
  return line + "\n";
}

}  // namespace

std::string FishCompletion(const std::vector<CommandDescription>& commands) {
  std::string script =
      "# fish completion for retryq, as `retryq completions fish` prints it.\n\n"
      "complete -c retryq -f\n"
      "complete -c retryq -n __fish_use_subcommand -s h -l help -d 'Print the help'\n"
      "complete -c retryq -n __fish_use_subcommand -l version -d 'Print the version'\n"
      "# What follows -- is a command of its own.\n"
      "complete -c retryq -n 'contains -- -- (commandline -opc)' -F\n";
  for (const CommandDescription& command : commands) {
    absl::StrAppend(&script, "\ncomplete -c retryq -n __fish_use_subcommand -a ", command.name,
                    " -d ", QuotedForFish(command.summary), "\n");
    const std::string seen = "__fish_seen_subcommand_from " + command.name;
    std::string own_names;
    for (const CommandDescription& own : command.commands) {
      absl::StrAppend(&own_names, " ", own.name);
      for (const FlagDescription& flag : own.flags) {
        absl::StrAppend(
            &script, CompletionLine(
                         absl::StrCat(seen, "; and __fish_seen_subcommand_from ", own.name), flag));
      }
    }
    const std::string alone =
        own_names.empty() ? seen
                          : absl::StrCat(seen, "; and not __fish_seen_subcommand_from", own_names);
    for (const FlagDescription& flag : command.flags) script += CompletionLine(alone, flag);
  }
  return script;
}

}  // namespace retryq::cli
