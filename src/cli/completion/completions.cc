#include "cli/completion/completions.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace retryq::cli {
namespace {

constexpr HelpText kCompletionsHelp = {
    .description = "Prints a script that completes this command in a shell.",
    .usage = "retryq completions bash|zsh|fish",
    .footer =
        R"(The script asks retryq for its subcommands, flags and their values. For the current shell:
  source <(retryq completions bash)
  source <(retryq completions zsh)
  retryq completions fish | source

Examples: for all shells that start later
  retryq completions bash > ~/.local/share/bash-completion/completions/retryq
  retryq completions zsh > "${fpath[1]}/_retryq"
  retryq completions fish > ~/.config/fish/completions/retryq.fish
)",
};

// Does not need the package bash-completion. COMP_WORDS has --flag=value as three words.
constexpr char kBashScript[] =
    R"(# bash completion for retryq, printed by `retryq completions bash`.

_retryq() {
  local current=${COMP_WORDS[COMP_CWORD]} word description
  [[ $current != = ]] || current=''
  COMPREPLY=()
  while IFS=$'\t' read -r word description; do
    case $word in
      :files)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        ;;
      :programs) mapfile -t COMPREPLY < <(compgen -c -- "$current") ;;
      "$current"*) COMPREPLY+=("$word") ;;
    esac
  done < <(retryq completions --words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}

complete -F _retryq retryq
)";

// To be sourced, or to be found by its name in $fpath.
constexpr char kZshScript[] = R"(#compdef retryq
# zsh completion for retryq, printed by `retryq completions zsh`.

_retryq() {
  local dashes=${words[(i)--]}
  if ((dashes < CURRENT)); then  # the command after -- has its own completion
    shift $dashes words
    ((CURRENT -= dashes))
    _normal
    return
  fi
  local -a lines=("${(@f)$(retryq completions --words "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ $lines == :files ]]; then
    compset -P '--*='
    _files
  else
    lines=("${(@)lines//:/\\:}")
    lines=("${(@)lines/$'\t'/:}")
    _describe -t words 'retryq' lines
  fi
}

if [[ $funcstack[1] == _retryq ]]; then _retryq "$@"; else compdef _retryq retryq; fi
)";

constexpr char kFishScript[] =
    R"(# fish completion for retryq, printed by `retryq completions fish`.

function __retryq_words
  set -l words (commandline -opc) (commandline -ct)
  set -e words[1]
  set -l lines (retryq completions --words $words 2>/dev/null)
  if string match -q ':*' -- $lines[1]
    set -l flag (string match -r '^--[^=]*=' -- $words[-1])
    printf "$flag%s\n" (__fish_complete_path (string replace -- "$flag" '' $words[-1]))
  else
    printf '%s\n' $lines
  end
end

complete -c retryq -f -a '(__retryq_words)'
)";

std::string Candidate(const std::string& word, const std::string& description) {
  return absl::StrCat(word, "\t", description, "\n");
}

// The candidates for the value of a flag, each after `prefix`. There are none for free text.
std::string Values(const FlagDescription& flag, const std::string& prefix) {
  if (TakesAFile(flag)) return ":files\n";
  std::string lines;
  for (const std::string& word : ChoicesOf(flag)) lines += Candidate(prefix + word, flag.help);
  return lines;
}

bool HasName(const FlagDescription& flag, const std::string& name) {
  return std::find(flag.names.begin(), flag.names.end(), name) != flag.names.end();
}

// Returns a flag without its value after `=`.
std::string NameIn(const std::string& word) { return word.substr(0, word.find('=')); }

// The candidates for the last of the words after a command.
std::string CommandsAndFlags(const CommandDescription& command, Arguments words) {
  const std::string current = words.back();
  words.pop_back();
  std::string lines;
  if (words.empty()) {
    for (const CommandDescription& own : command.commands)
      lines += Candidate(own.name, own.summary);
  }
  for (const FlagDescription& flag : command.flags) {
    if (flag.names.empty()) {
      if (command.commands.empty()) lines += Values(flag, "");
      continue;
    }
    if (!flag.value.empty()) {
      if (!words.empty() && HasName(flag, words.back())) return Values(flag, "");
      const std::string name = NameIn(current);
      if (name != current && HasName(flag, name)) return Values(flag, name + "=");
    }
    const bool given = std::any_of(words.begin(), words.end(), [&flag](const std::string& word) {
      return HasName(flag, NameIn(word));
    });
    if (given && !flag.repeats) continue;
    for (const std::string& name : flag.names) lines += Candidate(name, flag.help);
  }
  return lines;
}

std::string Candidates(Arguments words, const CommandDescription& retryq) {
  const auto dashes = std::find(words.begin(), words.end() - 1, "--");
  if (dashes < words.end() - 1) return dashes == words.end() - 2 ? ":programs\n" : ":files\n";
  // bash has --flag=value as three words.
  if (words.back() == "=") words.back().clear();
  std::erase(words, "=");
  const CommandDescription* command = &retryq;
  while (words.size() > 1) {
    const auto next =
        std::find_if(command->commands.begin(), command->commands.end(),
                     [&words](const CommandDescription& own) { return own.name == words.front(); });
    if (next == command->commands.end()) break;
    command = &*next;
    words.erase(words.begin());
  }
  return CommandsAndFlags(*command, std::move(words));
}

}  // namespace

absl::StatusOr<std::variant<CompletionsOptions, Answer>> ParseCompletions(
    const Arguments& arguments) {
  CompletionsOptions options;
  if (!arguments.empty() && arguments.front() == "--words") {
    options.words.assign(arguments.begin() + 1, arguments.end());
    if (options.words.empty()) options.words.emplace_back();
    return options;
  }
  FlagText shell;
  FlagParser parser(kCompletionsHelp);
  parser.AddPositional("bash|zsh|fish", &shell, "The shell");
  return parser.ParseInto(arguments, [&](FlagReader& reader) {
    options.shell = shell.value_or("");
    if (!shell) {
      reader.Complain("the shell is missing: name bash, zsh or fish");
    } else if (*shell != "bash" && *shell != "zsh" && *shell != "fish") {
      reader.Complain("unknown shell \"" + *shell + "\": name bash, zsh or fish");
    }
    return options;
  });
}

std::string Completions(const CompletionsOptions& options, const CommandDescription& retryq) {
  if (options.shell == "bash") return kBashScript;
  if (options.shell == "zsh") return kZshScript;
  if (options.shell == "fish") return kFishScript;
  return Candidates(options.words, retryq);
}

}  // namespace retryq::cli
