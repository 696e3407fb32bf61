#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/quoting.h"
#include "cli/completion/shell_scripts.h"

namespace retryq::cli {
namespace {

constexpr char kBashBegin[] =
    R"(# bash completion for retryq, as `retryq completions bash` prints it.

_retryq_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$@" -- "$current")
}

_retryq() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words='' i
  COMPREPLY=()
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then
      # What follows is a command of its own.
      if ((i + 1 == COMP_CWORD)); then _retryq_files -c; else _retryq_files -f; fi
      return
    fi
  done
  # Some have commands of their own: "parked list".
  local command=${COMP_WORDS[1]}
  if ((COMP_CWORD > 2)); then command+=" ${COMP_WORDS[2]}"; fi
  # --flag=value comes as three words.
  if [[ $current == = ]]; then
    current=''
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
)";

constexpr char kBashEnd[] = R"(  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _retryq retryq
)";

// The cases of a flag's value. There are no suggestions for a free text.
std::string Values(const CommandDescription& command) {
  std::string cases;
  std::vector<std::string> anything;
  for (const FlagDescription& flag : command.flags) {
    if (flag.names.empty() || flag.value.empty()) continue;
    const std::string names = absl::StrJoin(flag.names, "|");
    if (const auto choices = ChoicesOf(flag); !choices.empty()) {
      absl::StrAppend(&cases, "        ", names,
                      ") words=", ShellQuoted(absl::StrJoin(choices, " ")), " ;;\n");
    } else if (TakesAFile(flag)) {
      absl::StrAppend(&cases, "        ", names, ") _retryq_files -f; return ;;\n");
    } else {
      anything.push_back(names);
    }
  }
  if (!anything.empty()) {
    absl::StrAppend(&cases, "        ", absl::StrJoin(anything, "|"), ") return ;;\n");
  }
  return cases;
}

// All words at the place of a flag: flags and the choices of the positional argument.
std::vector<std::string> Words(const CommandDescription& command) {
  std::vector<std::string> words;
  for (const FlagDescription& flag : command.flags) {
    const std::vector<std::string>& more = flag.names.empty() ? ChoicesOf(flag) : flag.names;
    words.insert(words.end(), more.begin(), more.end());
  }
  return words;
}

std::string NamesOf(const std::vector<CommandDescription>& commands) {
  return absl::StrJoin(commands, " ", [](std::string* out, const CommandDescription& command) {
    out->append(command.name);
  });
}

// The completion of the words after a command. `pattern` is a pattern of `case`.
std::string BashCase(const std::string& pattern, const CommandDescription& command) {
  return absl::StrCat("    ", pattern, ")\n      case $previous in\n", Values(command),
                      "        *) words=", ShellQuoted(absl::StrJoin(Words(command), " ")),
                      " ;;\n      esac\n      ;;\n");
}

}  // namespace

std::string BashCompletion(const std::vector<CommandDescription>& commands) {
  std::string script =
      absl::StrCat(kBashBegin, "  if ((COMP_CWORD == 1)); then\n    words=",
                   ShellQuoted(absl::StrCat(NamesOf(commands), " --help --version")),
                   "\n  else\n    case $command in\n");
  for (const CommandDescription& command : commands) {
    for (const CommandDescription& own : command.commands) {
      script += BashCase(ShellQuoted(command.name + " " + own.name), own);
    }
    script +=
        BashCase(absl::StrCat(command.name, "|", ShellQuoted(command.name + " "), "*"), command);
  }
  return absl::StrCat(script, "    esac\n  fi\n", kBashEnd);
}

}  // namespace retryq::cli
