#include "cli/command.h"

#include <poll.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/escaped_text.h"
#include "cli/declare/declare_command.h"
#include "cli/doctor/doctor_command.h"
#include "cli/messages/messages_command.h"
#include "cli/plan/plan_command.h"
#include "cli/queues/queues_command.h"
#include "cli/send/send_command.h"
#include "cli/text/io.h"
#include "cli/worker/work_command.h"

namespace retryq::cli {
namespace {

constexpr std::string_view kHelpEnd = R"(
Options:
  -h,--help   Print this help; after a command, print the help of that command
  --version   Print the version

The same as --help: retryq help [COMMAND]

Example: failed messages wait 1s, 2s, 4s, ... in the queues retry.1000, retry.2000, retry.4000, ...
  retryq declare --queue orders
  retryq send --queue orders 'order 42'
  retryq work --queue orders -- ./handle-order

Exit status of all commands: 74 the result could not be written to stdout; 75 stopped by SIGINT,
SIGTERM or SIGHUP before the end.
)";

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
std::string RunCompletions(const CompletionsOptions& options);

// Prints each line of the message on stderr. Returns the exit code.
int Fail(const std::string& who, const absl::Status& status) {
  const std::vector<std::string> lines = absl::StrSplit(std::string(status.message()), '\n');
  WriteErrors(absl::StrCat(who, ": ", absl::StrJoin(lines, "\n" + who + ": "), "\n"));
  if (absl::IsCancelled(status)) return EX_TEMPFAIL;
  return absl::IsDataLoss(status) ? EX_IOERR : ExitCode(status);
}

// Each Finish prints the result of a subcommand. Returns the exit code.
int Finish(const std::string& who, const absl::StatusOr<std::string>& text) {
  if (!text.ok()) return Fail(who, text.status());
  const absl::Status written = text->empty() ? absl::OkStatus() : WriteResult(*text);
  return written.ok() ? EX_OK : Fail(who, written);
}

int Finish(const std::string& who, const absl::Status& status) {
  return status.ok() ? EX_OK : Fail(who, status);
}

// Prints the result of a command on messages, even if it failed.
int Finish(const std::string& who, const MessagesResult& result) {
  const int printed = Finish(who, result.is_raw ? result.text : EscapedLines(result.text));
  return result.status.ok() ? printed : Fail(who, result.status);
}

// An exit code: a problem that `doctor` finds is a result, not an error.
int Finish(const std::string& /*who*/, int code) { return code; }

// Is async-signal-safe, and does not wait for the reader of stderr.
void OnEarlySignal(int /*signal*/) {
  constexpr std::string_view kLine = "retryq: stopped by a signal before the end\n";
  pollfd polled = {STDERR_FILENO, POLLOUT, 0};
  if (::poll(&polled, 1, 0) > 0) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kLine.data(), kLine.size());
  }
  ::_exit(EX_TEMPFAIL);
}

// Reports a signal that a subcommand does not handle itself, for example while it connects.
void ReportEarlySignals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    // nohup ignores a signal.
    if (std::signal(number, OnEarlySignal) == SIG_IGN) std::signal(number, SIG_IGN);
  }
}

// Parses the arguments of a subcommand, runs it and prints its result. Returns the exit code.
template <auto kParse, auto kRun>
int Run(const std::string& who, const Arguments& arguments) {
  auto request = kParse(arguments);
  if (!request.ok()) return Fail(who, request.status());
  if (const Answer* answer = std::get_if<Answer>(&*request)) return Finish(who, answer->text);
  ReportEarlySignals();
  return Finish(who, kRun(std::get<0>(*std::move(request))));
}

// The flags that may follow these arguments of a subcommand, from its parser. Empty if the
// arguments do not name a command.
template <auto kParse>
std::vector<FlagDescription> FlagsOf(Arguments arguments) {
  arguments.emplace_back(kDescribeFlags);
  const auto request = kParse(arguments);
  const Answer* const answer = request.ok() ? std::get_if<Answer>(&*request) : nullptr;
  return answer == nullptr ? std::vector<FlagDescription>() : answer->flags;
}

absl::Status RunSend(SendOptions options) {
  if (options.lines) return SendLines(options);
  const absl::StatusOr<std::string> sent = Send(std::move(options));
  if (!sent.ok()) return sent.status();
  // The message has been sent, even if this text cannot be printed.
  if (!sent->empty()) Finish("retryq send", EscapedText(*sent) + "\n");
  return absl::OkStatus();
}

// The possible words of a value: all of "park|reject|discard"; of "PART|full" only "full", as
// capitals are a placeholder.
std::vector<std::string> ChoicesOf(const FlagDescription& flag) {
  std::vector<std::string> words = absl::StrSplit(flag.value, '|', absl::SkipEmpty());
  std::erase_if(words, [](const std::string& word) {
    return std::any_of(word.begin(), word.end(), absl::ascii_isupper);
  });
  return words;
}

struct Subcommand {
  std::string_view name;
  int (*run)(const std::string& who, const Arguments& arguments);
  std::vector<FlagDescription> (*flags)(Arguments arguments);
  std::string_view summary;
};

template <auto kParse, auto kRun>
constexpr Subcommand Command(std::string_view name, std::string_view summary) {
  return {name, Run<kParse, kRun>, FlagsOf<kParse>, summary};
}

constexpr Subcommand kSubcommands[] = {
    Command<ParseWork, Work>("work", "Run a program for each message of a queue; retry failures"),
    Command<ParsePlan, ShowPlan>("plan", "Show the delays of a policy, or simulate an outage"),
    Command<ParseDeclare, Declare>("declare", "Declare a work queue, its exchange and bindings"),
    Command<ParseSend, RunSend>("send", "Publish one or many messages, now or with a delay"),
    Command<ParseQueues, Queues>("queues", "Show the delay queues and the messages in them"),
    Command<ParseWaiting, RunMessages>(
        "waiting", "List, show, release, park or drop messages that wait for a retry"),
    Command<ParseParked, RunMessages>("parked", "List, show, replay, edit or drop parked messages"),
    Command<ParseDoctor, Doctor>("doctor", "Check a broker for problems that break retrying"),
    Command<ParseCompletions, RunCompletions>(
        "completions", "Print a script that completes this command in bash, zsh or fish"),
};

// Describes this command and all subcommands.
CommandDescription DescribeRetryq() {
  CommandDescription retryq{.name = "retryq",
                            .flags = {{.names = {"-h", "--help"}, .help = "Print this help"},
                                      {.names = {"--version"}, .help = "Print the version"}}};
  CommandDescription help{.name = "help", .summary = "Print the help of a command"};
  for (const Subcommand& subcommand : kSubcommands) {
    CommandDescription command{.name = std::string(subcommand.name),
                               .summary = std::string(subcommand.summary),
                               .flags = subcommand.flags({})};
    // Some words are commands with their own flags.
    for (const FlagDescription& flag : command.flags) {
      if (!flag.names.empty()) continue;
      for (const std::string& word : ChoicesOf(flag)) {
        std::vector<FlagDescription> flags = subcommand.flags({word});
        if (!flags.empty()) command.commands.push_back({.name = word, .flags = std::move(flags)});
      }
    }
    help.commands.push_back({.name = command.name, .summary = command.summary});
    retryq.commands.push_back(std::move(command));
  }
  retryq.commands.push_back(std::move(help));
  return retryq;
}

// With fewer open files, event loops, sockets and pipes fail later.
absl::Status CheckOpenFiles() {
  constexpr rlim_t kFewest = 32;
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= kFewest) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "the process may open only %d files and needs %d; remedy: raise the limit (ulimit -n, "
      "LimitNOFILE= of a unit)",
      files.rlim_cur, kFewest));
}

std::string Help() {
  std::string text =
      "Retries with exponential delay for RabbitMQ.\n\nUsage: retryq COMMAND "
      "[OPTIONS]\n\nCommands:\n";
  for (const Subcommand& subcommand : kSubcommands) {
    text += absl::StrFormat("  %-11s  %s\n", std::string(subcommand.name),
                            std::string(subcommand.summary));
  }
  return text.append(kHelpEnd);
}

// The number of characters to insert, delete or replace to turn one text into the other.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

int FailWithoutCommand(const std::string& given) {
  std::vector<std::string> names;
  for (const Subcommand& subcommand : kSubcommands) names.emplace_back(subcommand.name);
  names.emplace_back("help");
  std::string nearest;
  std::size_t distance = 3;  // more is another word
  for (const std::string& name : names) {
    const std::size_t to_this = EditDistance(given, name);
    if (to_this >= std::min(distance, name.size())) continue;
    nearest = name;
    distance = to_this;
  }
  const std::string what =
      given.empty() ? "a command is missing" : absl::StrCat("unknown command \"", given, "\"");
  const std::string hint =
      nearest.empty() ? "; commands: " : absl::StrCat("; did you mean ", nearest, "? Commands: ");
  return Fail("retryq", absl::InvalidArgumentError(absl::StrCat(
                            what, hint, absl::StrJoin(names, ", "), "; see retryq --help")));
}

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

// Users source this script, or zsh finds it in $fpath by its name.
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
  if (flag.value == "FILE") return ":files\n";
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

Parsed<CompletionsOptions> ParseCompletions(const Arguments& arguments) {
  CompletionsOptions options;
  if (!arguments.empty() && arguments.front() == "--words") {
    options.words.assign(arguments.begin() + 1, arguments.end());
    if (options.words.empty()) options.words.emplace_back();
    return options;
  }
  std::optional<std::string> shell;
  FlagParser parser(kCompletionsHelp);
  parser.AddPositional("bash|zsh|fish", &shell, "The shell");
  parser.Check([&](FlagReader& reader) {
    options.shell = shell.value_or("");
    if (!shell) {
      reader.Complain("the shell is missing: name bash, zsh or fish");
    } else if (*shell != "bash" && *shell != "zsh" && *shell != "fish") {
      reader.Complain("unknown shell \"" + *shell + "\": name bash, zsh or fish");
    }
  });
  return parser.ParseInto(arguments, options);
}

std::string RunCompletions(const CompletionsOptions& options) {
  if (options.shell == "bash") return kBashScript;
  if (options.shell == "zsh") return kZshScript;
  if (options.shell == "fish") return kFishScript;
  return Candidates(options.words, DescribeRetryq());
}

}  // namespace

int RunCommand(const Arguments& arguments) {
  PrepareProcess();
  Arguments rest = arguments;
  if (!rest.empty() && rest.front() == "help") {  // `help work` is `work --help`
    rest.erase(rest.begin());
    rest.emplace_back("--help");
  }
  const std::string first = rest.empty() ? "" : rest.front();
  if (first == "-h" || first == "--help") return Finish("retryq", Help());
  if (first == "--version") return Finish("retryq", std::string("retryq " RETRYQ_VERSION "\n"));
  for (const Subcommand& subcommand : kSubcommands) {
    if (first != subcommand.name) continue;
    const absl::Status files = CheckOpenFiles();
    if (!files.ok()) return Fail("retryq " + first, files);
    rest.erase(rest.begin());
    return subcommand.run("retryq " + first, rest);
  }
  return FailWithoutCommand(first);
}

}  // namespace retryq::cli
