#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/quoting.h"
#include "cli/completion/shell_scripts.h"

namespace retryq::cli {
namespace {

constexpr char kZshBegin[] = R"(#compdef retryq
# zsh completion for retryq, as `retryq completions zsh` prints it.

_retryq() {
  local -a subcommands=(
)";

constexpr char kMiddle[] = R"(  )
  if ((CURRENT == 2)); then
    _describe -t commands command subcommands
    compadd -- --help --version
    return
  fi
  # What follows -- is a command of its own.
  local dashes=${words[(i)--]}
  if ((dashes < CURRENT)); then
    shift $dashes words
    ((CURRENT -= dashes))
    _normal
    return
  fi
  local subcommand=$words[2]
  shift words
  ((CURRENT--))
)";

constexpr char kZshEnd[] = R"(  esac
}

# Sourced, or found by its name in $fpath.
if [[ $funcstack[1] == _retryq ]]; then _retryq "$@"; else compdef _retryq retryq; fi
)";

// Escapes a text within an argument of _arguments and _describe.
std::string EscapedForZsh(std::string_view text) {
  return absl::StrReplaceAll(std::string(text),
                             {{"\\", "\\\\"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
}

std::string Value(const FlagDescription& flag) {
  const std::vector<std::string> choices = ChoicesOf(flag);
  const std::string how = TakesAFile(flag)  ? "_files"
                          : choices.empty() ? " "
                                            : absl::StrCat("(", absl::StrJoin(choices, " "), ")");
  return absl::StrCat(":", EscapedForZsh(flag.value), ":", how);
}

// The specification of a flag for _arguments.
std::string Specs(const FlagDescription& flag) {
  if (flag.names.empty()) {
    return ChoicesOf(flag).empty()
               ? ""
               : absl::StrCat("      ", ShellQuoted("1" + Value(flag)), " \\\n");
  }
  const std::string others =
      flag.repeats ? "*" : absl::StrCat("(", absl::StrJoin(flag.names, " "), ")");
  std::string specs;
  for (const std::string& name : flag.names) {
    const bool with_value = !flag.value.empty();
    const std::string equals = with_value && name.starts_with("--") ? "=" : "";
    absl::StrAppend(&specs, "      ",
                    ShellQuoted(absl::StrCat(others, name, equals, "[", EscapedForZsh(flag.help),
                                             "]", with_value ? Value(flag) : "")),
                    " \\\n");
  }
  return specs;
}

// The completion of the words after a command. `pattern` is a pattern of `case`.
std::string ZshCase(const std::string& pattern, const CommandDescription& command) {
  std::string text = absl::StrCat("  ", pattern, ")\n    _arguments \\\n");
  for (const FlagDescription& flag : command.flags) text += Specs(flag);
  return text + "      && return\n    ;;\n";
}

// Handles a subcommand with commands, once one is given: "parked list".
std::string ShiftToOwn(const CommandDescription& command) {
  if (command.commands.empty()) return "";
  const std::string names =
      absl::StrJoin(command.commands, "|",
                    [](std::string* out, const CommandDescription& own) { out->append(own.name); });
  return absl::StrCat(
      "  if [[ $subcommand == ", command.name, " && CURRENT -gt 2 && $words[2] == (", names,
      ") ]]; then\n    subcommand+=\" $words[2]\"\n    shift words\n", "    ((CURRENT--))\n  fi\n");
}

}  // namespace

std::string ZshCompletion(const std::vector<CommandDescription>& commands) {
  std::string script = kZshBegin;
  for (const CommandDescription& command : commands) {
    const std::string entry = absl::StrCat(command.name, ":", EscapedForZsh(command.summary));
    absl::StrAppend(&script, "    ", ShellQuoted(entry), "\n");
  }
  script += kMiddle;
  for (const CommandDescription& command : commands) script += ShiftToOwn(command);
  script += "  case $subcommand in\n";
  for (const CommandDescription& command : commands) {
    for (const CommandDescription& own : command.commands) {
      script += ZshCase(ShellQuoted(command.name + " " + own.name), own);
    }
    script += ZshCase(command.name, command);
  }
  return script + kZshEnd;
}

}  // namespace retryq::cli
