#include "cli/command.h"

#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/escaped_text.h"
#include "cli/completion/completions.h"
#include "cli/declare/declare_command.h"
#include "cli/doctor/doctor_command.h"
#include "cli/flags/flag_parser.h"
#include "cli/parked/parked_command.h"
#include "cli/plan/plan_command.h"
#include "cli/queues/queues_command.h"
#include "cli/send/send_command.h"
#include "cli/text/io.h"
#include "cli/text/outlet.h"
#include "cli/waiting/waiting_command.h"
#include "cli/worker/work_command.h"
#include "retryq/event_loop.h"

namespace retryq::cli {
namespace {

constexpr std::string_view kHelpEnd = R"(
Options:
  -h,--help   Print this and exit; behind a command, tell more of it
  --version   Print the version and exit

Example: what fails waits 1s, 2s, 4s, ... in the queues retry.1000, retry.2000, retry.4000, ...
  retryq declare --queue orders
  retryq send --queue orders 'order 42'
  retryq work --queue orders -- ./handle-order

Exit status 74: the result could not be written to stdout.
)";

// Describes all subcommands of the table below, for shell completion.
std::vector<CommandDescription> DescribeSubcommands();

// Prints each line of the message on stderr. Returns the exit code.
int Fail(const std::string& who, const absl::Status& status) {
  std::string lines;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(std::string(status.message()), '\n'))) {
    lines.append(who).append(": ").append(line).append("\n");
  }
  WriteErrors(lines);
  return absl::IsDataLoss(status) ? EX_IOERR : ExitCode(status);
}

// Prints a result. Returns the exit code.
int Tell(const std::string& who, std::string_view text) {
  const absl::Status written = WriteResult(text);
  return written.ok() ? EX_OK : Fail(who, written);
}

// Runs `run` with the parsed options and prints its result or its error.
template <typename Options>
int Run(const std::string& who, absl::StatusOr<std::variant<Options, Answer>> request,
        absl::StatusOr<std::string> (*run)(const Options&)) {
  if (!request.ok()) return Fail(who, request.status());
  if (const Answer* answer = std::get_if<Answer>(&*request)) return Tell(who, answer->text);
  const absl::StatusOr<std::string> text = run(std::get<Options>(*request));
  if (!text.ok()) return Fail(who, text.status());
  return text->empty() ? EX_OK : Tell(who, *text);
}

int RunWork(const std::string& who, const Arguments& arguments) {
  return Run<WorkOptions>(who, ParseWork(arguments), [](const WorkOptions& options) {
    const absl::Status status = Work(options);
    return status.ok() ? absl::StatusOr<std::string>("") : status;
  });
}

int RunPlan(const std::string& who, const Arguments& arguments) {
  return Run<PlanOptions>(who, ParsePlan(arguments), ShowPlan);
}

int RunSend(const std::string& who, const Arguments& arguments) {
  auto request = ParseSend(arguments);
  if (!request.ok()) return Fail(who, request.status());
  if (const Answer* answer = std::get_if<Answer>(&*request)) return Tell(who, answer->text);
  const SendOptions& options = std::get<SendOptions>(*request);
  if (options.lines) {
    const absl::Status status = SendLines(options);
    if (status.ok()) return EX_OK;
    const int code = Fail(who, status);
    return absl::IsCancelled(status) ? EX_TEMPFAIL : code;
  }
  const absl::StatusOr<std::string> sent = Send(options);
  if (!sent.ok()) return Fail(who, sent.status());
  // The message is sent, even if this cannot be printed.
  if (!sent->empty()) Tell(who, EscapedText(*sent) + "\n");
  return EX_OK;
}

int RunDeclare(const std::string& who, const Arguments& arguments) {
  return Run<DeclareCommandOptions>(who, ParseDeclare(arguments),
                                    [](const DeclareCommandOptions& options) {
                                      const absl::Status status = Declare(options);
                                      return status.ok() ? absl::StatusOr<std::string>("") : status;
                                    });
}

int RunQueues(const std::string& who, const Arguments& arguments) {
  return Run<QueuesOptions>(who, ParseQueues(arguments), Queues);
}

// Prints the result of a command on messages, even if it failed.
int TellResult(const std::string& who, const MessagesResult& result) {
  const int told = Tell(who, result.is_raw ? result.text : EscapedLines(result.text));
  if (result.status.ok()) return told;
  const int code = Fail(who, result.status);
  return absl::IsCancelled(result.status) ? EX_TEMPFAIL : code;
}

int RunParked(const std::string& who, const Arguments& arguments) {
  auto request = ParseParked(arguments);
  if (!request.ok()) return Fail(who, request.status());
  if (const Answer* answer = std::get_if<Answer>(&*request)) return Tell(who, answer->text);
  return TellResult(who, Parked(std::get<ParkedOptions>(*request)));
}

int RunWaiting(const std::string& who, const Arguments& arguments) {
  auto request = ParseWaiting(arguments);
  if (!request.ok()) return Fail(who, request.status());
  if (const Answer* answer = std::get_if<Answer>(&*request)) return Tell(who, answer->text);
  return TellResult(who, RunWaitingCommand(std::get<WaitingOptions>(*request)));
}

// A problem that it finds is a result, not an error.
int RunDoctor(const std::string& who, const Arguments& arguments) {
  const auto request = ParseDoctor(arguments);
  if (!request.ok()) return Fail(who, request.status());
  if (const Answer* answer = std::get_if<Answer>(&*request)) return Tell(who, answer->text);
  return Doctor(std::get<DoctorOptions>(*request));
}

int RunCompletions(const std::string& who, const Arguments& arguments) {
  return Run<Shell>(who, ParseCompletions(arguments), [](const Shell& shell) {
    return absl::StatusOr<std::string>(CompletionScript(shell, DescribeSubcommands()));
  });
}

// The flags that may follow these arguments of a subcommand, from its parser. Empty if the
// arguments are not a command of it.
template <auto kParse>
std::vector<FlagDescription> FlagsOf(Arguments arguments) {
  arguments.emplace_back(kDescribeFlags);
  const auto request = kParse(arguments);
  if (!request.ok()) return {};
  const Answer* const answer = std::get_if<Answer>(&*request);
  return answer == nullptr ? std::vector<FlagDescription>() : answer->flags;
}

struct Subcommand {
  std::string_view name;
  int (*run)(const std::string& who, const Arguments& arguments);
  std::vector<FlagDescription> (*flags)(Arguments arguments);
  std::string_view summary;
};

constexpr std::array kSubcommands = {
    Subcommand{"work", RunWork, FlagsOf<ParseWork>,
               "Run a program for each message of a queue; retry those that fail later"},
    Subcommand{"plan", RunPlan, FlagsOf<ParsePlan>,
               "Show a policy's delays, the queues they need, and what an outage does"},
    Subcommand{"declare", RunDeclare, FlagsOf<ParseDeclare>,
               "Declare a work queue, an exchange and bindings, where they are missing"},
    Subcommand{"send", RunSend, FlagsOf<ParseSend>,
               "Publish a message, or many, now or so that they arrive later"},
    Subcommand{"queues", RunQueues, FlagsOf<ParseQueues>,
               "Show the delay queues: what waits in them, and until when"},
    Subcommand{"waiting", RunWaiting, FlagsOf<ParseWaiting>,
               "List, show, release, park or drop messages that wait for a queue"},
    Subcommand{"parked", RunParked, FlagsOf<ParseParked>,
               "List, show, replay, edit or drop messages that were given up"},
    Subcommand{"doctor", RunDoctor, FlagsOf<ParseDoctor>,
               "Check a broker for all that breaks retrying"},
    Subcommand{"completions", RunCompletions, FlagsOf<ParseCompletions>,
               "Print a script that completes all this in bash, zsh or fish"},
};

std::vector<CommandDescription> DescribeSubcommands() {
  std::vector<CommandDescription> commands;
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
    commands.push_back(std::move(command));
  }
  return commands;
}

// "work, plan or send"
std::string NamesOfSubcommands() {
  std::string names;
  for (const Subcommand& subcommand : kSubcommands) {
    if (&subcommand != &kSubcommands.front()) {
      names += &subcommand == &kSubcommands.back() ? " or " : ", ";
    }
    names += subcommand.name;
  }
  return names;
}

// With fewer open files, event loops, sockets and pipes fail later.
absl::Status CheckOpenFiles() {
  constexpr rlim_t kFewest = 32;
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= kFewest) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "the process may have only %d open files and needs %d; remedy: raise the limit (ulimit -n, "
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

}  // namespace

int RunCommand(const Arguments& arguments) {
  PrepareProcess();
  const std::string first = arguments.empty() ? "" : arguments.front();
  const Arguments rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  for (const Subcommand& subcommand : kSubcommands) {
    if (first != subcommand.name) continue;
    const absl::Status files = CheckOpenFiles();
    return files.ok() ? subcommand.run("retryq " + first, rest) : Fail("retryq " + first, files);
  }
  if (first == "-h" || first == "--help") return Tell("retryq", Help());
  if (first == "--version") return Tell("retryq", "retryq " RETRYQ_VERSION "\n");
  return Fail("retryq",
              absl::InvalidArgumentError(
                  (first.empty() ? "a command is missing" : "there is no command '" + first + "'") +
                  ": say " + NamesOfSubcommands() + "; see retryq --help"));
}

}  // namespace retryq::cli
