#include "cli/command.h"

#include <sysexits.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"
#include "cli/io.h"
#include "cli/plan.h"
#include "cli/plan_flags.h"
#include "cli/send.h"
#include "cli/send_flags.h"
#include "cli/work.h"
#include "cli/work_flags.h"
#include "retryq/event_loop.h"

namespace retryq::cli {
namespace {

constexpr std::string_view kHelp = R"(Retries with exponential delay for RabbitMQ.

Usage: retryq COMMAND [OPTIONS]

Commands:
  work        Run a program for each message of a queue; retry those that fail later
  plan        Show the delays of a policy and the queues they need
  send        Publish a message, now or so that it arrives later

Options:
  -h,--help   Print this and exit; behind a command, tell more of it
  --version   Print the version and exit

Example: what fails waits 1s, 2s, 4s, ... in the queues retry.1000, retry.2000, retry.4000, ...
  retryq send --queue orders 'order 42'
  retryq work --queue orders -- ./handle-order
)";

int Tell(std::string_view text) { return WriteAll(STDOUT_FILENO, text) ? EX_OK : EX_IOERR; }

// A line on stderr for each line of the message. Returns the exit code.
int Fail(const std::string& who, const absl::Status& status) {
  std::string lines;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(std::string(status.message()), '\n'))) {
    lines.append(who).append(": ").append(line).append("\n");
  }
  WriteAll(STDERR_FILENO, lines);
  return ExitCode(status);
}

int RunWork(const Arguments& arguments) {
  const absl::StatusOr<std::variant<WorkOptions, Answer>> request = ParseWork(arguments);
  if (!request.ok()) return Fail("retryq work", request.status());
  if (const Answer* answer = std::get_if<Answer>(&*request)) return Tell(answer->text);
  const absl::Status status = Work(std::get<WorkOptions>(*request));
  return status.ok() ? EX_OK : Fail("retryq work", status);
}

int RunSend(const Arguments& arguments) {
  const absl::StatusOr<std::variant<SendOptions, Answer>> request = ParseSend(arguments);
  if (!request.ok()) return Fail("retryq send", request.status());
  if (const Answer* answer = std::get_if<Answer>(&*request)) return Tell(answer->text);
  const absl::StatusOr<std::string> sent = Send(std::get<SendOptions>(*request));
  if (!sent.ok()) return Fail("retryq send", sent.status());
  // It is sent, whether or not anybody reads this.
  if (!sent->empty()) Tell(*sent + "\n");
  return EX_OK;
}

int RunPlan(const Arguments& arguments) {
  const absl::StatusOr<std::variant<PlanOptions, Answer>> request = ParsePlan(arguments);
  if (!request.ok()) return Fail("retryq plan", request.status());
  if (const Answer* answer = std::get_if<Answer>(&*request)) return Tell(answer->text);
  return Tell(PlanText(std::get<PlanOptions>(*request)));
}

}  // namespace

int RunCommand(const Arguments& arguments) {
  PrepareProcess();
  const std::string first = arguments.empty() ? "" : arguments.front();
  const Arguments rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  if (first == "work") return RunWork(rest);
  if (first == "plan") return RunPlan(rest);
  if (first == "send") return RunSend(rest);
  if (first == "-h" || first == "--help") return Tell(kHelp);
  if (first == "--version") return Tell("retryq " RETRYQ_VERSION "\n");
  const std::string problem =
      first.empty() ? "a command is missing" : "there is no command '" + first + "'";
  return Fail("retryq",
              absl::InvalidArgumentError(problem + ": say work, plan or send; see retryq --help"));
}

}  // namespace retryq::cli
