#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/flags/own_commands.h"
#include "cli/messages/message_flags.h"
#include "cli/waiting/waiting_command.h"
#include "retryq/delay_queue_options.h"

namespace retryq::cli {
namespace {

constexpr char kWaitingDescription[] =
    "Looks at the messages that wait in delay queues for a work queue, and sends them there now.";

constexpr char kWaitingFooter[] =
    R"(Commands:
  list        Show what waits, a line each, what is due next first
  show        Show one message whole
  release     Send messages to the work queue now; their attempts stay
  park        Park messages, as a worker parks what it gives up
  drop        Take messages off their delay queues for good
Each has its own --help.

Example: what waits and why; then send back what failed for that reason
  retryq waiting list --queue orders --by error
  retryq waiting release --queue orders --error timeout --rate 20
)";

constexpr char kReading[] =
    R"(The management API names the delay queues. Each is read once, for ten seconds at most; meanwhile its messages
are not due, and what comes due then is that much late. On RabbitMQ 4.0 to 4.2 each look at a quorum queue counts
towards its delivery limit, 20 by default: what exceeds it goes to the work queue early.

)";

constexpr char kWaitingExit[] =
    R"(Exit codes: 64 wrong options; 69 no such queue or message, no broker or management API, or messages are left
that should not be; 75 ended by a signal; 77 refused.
)";

constexpr char kWaitingListFooter[] =
    R"(
Example: what is due within the next minutes
  retryq waiting list --queue orders --by due
)";

constexpr char kWaitingShowFooter[] =
    R"(
Example: the headers of one
  retryq waiting show --queue orders --id 5f0c77d1
)";

constexpr char kReleaseFooter[] =
    R"(A message leaves its delay queue once its copy is confirmed in the work queue and was not returned. The copy
goes there through the default exchange, and is the retry that it would have been: attempts, age, error and id stay.
Ended at any point, by a signal, a crash or a lost connection, it loses nothing, and doubles at most the --window
copies that were under way; the first SIGINT or SIGTERM lets these finish and doubles none.

Without a filter it counts, and asks on the terminal; where there is none it needs --all.

)";

constexpr char kReleaseExample[] =
    R"(
Example: the payment service is back
  retryq waiting release --queue orders --error payments --rate 20
)";

constexpr char kParkFooter[] =
    R"(A message leaves its delay queue once its copy is confirmed in the parked queue, which is declared if it is
missing. retryq parked shows and replays it like any other. Ended at any point it loses nothing.

Without a filter it counts, and asks on the terminal; where there is none it needs --all.

)";

constexpr char kParkExample[] =
    R"(
Example: keep what cannot succeed away from the workers
  retryq waiting park --queue orders --error 'no such customer'
)";

constexpr char kWaitingDropFooter[] =
    R"(Counts the messages that match, asks on the terminal, and drops no more than that.

)";

constexpr char kWaitingDropExample[] =
    R"(
Example: orders of a test
  retryq waiting drop --queue orders --header tenant=test
)";

struct WaitingCommand {
  std::string_view name;
  WaitingAction action;
  const char* description;
  const char* footer;
  const char* example;
};

constexpr std::array kWaitingCommands = {
    WaitingCommand{"list", WaitingAction::kList,
                   "Shows the messages that wait in delay queues for a work queue, a line each.",
                   "", kWaitingListFooter},
    WaitingCommand{"show", WaitingAction::kShow,
                   "Shows one message that waits: its past, properties, headers and body.", "",
                   kWaitingShowFooter},
    WaitingCommand{"release", WaitingAction::kRelease,
                   "Sends messages that wait to their work queue now.", kReleaseFooter,
                   kReleaseExample},
    WaitingCommand{"park", WaitingAction::kPark,
                   "Parks messages that wait, as a worker parks what it gives up.", kParkFooter,
                   kParkExample},
    WaitingCommand{"drop", WaitingAction::kDrop,
                   "Takes messages that wait off their delay queues for good.", kWaitingDropFooter,
                   kWaitingDropExample},
};

struct WaitingFlags {
  WaitingAction action;
  ManagementFlags management;
  FlagText queue, parked, prefix;
  ChoiceFlags choice;
  std::vector<std::string> columns;
  FlagText by, body;
  PaceFlags pace;
  bool json = false;
  bool dry_run = false;
  bool all = false;
  bool yes = false;
};

bool Takes(WaitingAction action) {
  return action != WaitingAction::kList && action != WaitingAction::kShow;
}

void AddFlags(FlagParser& parser, WaitingFlags& flags) {
  const WaitingAction action = flags.action;
  AddFlags(parser, flags.management);
  parser.Add("--queue", "QUEUE", &flags.queue,
             "The work queue that the messages wait for. Required");
  parser.Add("--prefix", "PREFIX", &flags.prefix,
             "Delay queues are named PREFIX.MILLISECONDS (default: retry)");
  if (action == WaitingAction::kPark) {
    parser.Add("--parked", "QUEUE", &flags.parked,
               "Where they are parked; declared if missing (default: QUEUE.parked)");
  }
  AddFlags(parser, flags.choice, "first failed", action != WaitingAction::kShow);
  if (Takes(action)) {
    parser.Group("How");
    AddFlags(parser, flags.pace);
    parser.Add("--dry-run", &flags.dry_run, "Only show which messages are meant");
    if (action == WaitingAction::kDrop) {
      parser.Add("--yes", &flags.yes, "Do not ask");
    } else {
      parser.Add("--all", &flags.all, "Do not ask where no filter and no --limit is given");
    }
  }
  parser.Group("Output");
  if (action == WaitingAction::kShow) AddBodyFlag(parser, flags.body);
  if (action == WaitingAction::kList) {
    parser.Add("--by", "error|attempt|due", &flags.by,
               "Count the messages with the same last error, of the same attempt, or due at about\n"
               "the same time");
    AddColumnFlag(parser, flags.columns);
  }
  parser.Add("--json", &flags.json,
             action == WaitingAction::kShow
                 ? "One JSON object: what list says, properties, headers, x_death and body,\n"
                   "or body_base64 where that is not UTF-8"
                 : "One JSON object a line: {\"id\",\"attempt\",\"error\",\"due\",\"delay_ms\",\n"
                   "\"delay_queue\"} and what retryq parked list says");
}

void ReadQueues(const WaitingFlags& flags, FlagReader& reader, WaitingOptions* options) {
  if (!flags.queue || flags.queue->empty()) {
    reader.Complain("--queue is missing: name the work queue that the messages wait for");
  }
  reader.Read("--queue", flags.queue, &options->work_queue);
  options->parked_queue = options->work_queue + ".parked";
  reader.Read("--parked", flags.parked, &options->parked_queue);
  if (options->work_queue.size() > kLongestName) {
    reader.Complain("--queue: is longer than 255 bytes");
  } else if (flags.action == WaitingAction::kPark && options->parked_queue.size() > kLongestName) {
    reader.Complain("--parked: the name of the parked queue is longer than 255 bytes");
  }
  if (options->parked_queue == options->work_queue) {
    reader.Complain("--parked: is the work queue itself; name another one");
  }
  DelayQueueOptions delay_queues;
  reader.Read("--prefix", flags.prefix, &delay_queues.prefix);
  reader.Complain(Validate(delay_queues, amqp::ConnectionOptions().heartbeat));
  options->prefix = delay_queues.prefix;
}

void ReadCount(const FlagText& by, FlagReader& reader, WaitingCount* count) {
  if (!by) return;
  if (*by == "error") {
    *count = WaitingCount::kError;
  } else if (*by == "attempt") {
    *count = WaitingCount::kAttempt;
  } else if (*by == "due") {
    *count = WaitingCount::kDue;
  } else {
    reader.Complain("--by '" + *by + "': write error, attempt or due");
  }
}

// An operation that removes many messages needs an agreement, on the terminal or by a flag.
void ReadAgreement(const WaitingFlags& flags, FlagReader& reader, WaitingOptions* options) {
  const bool is_for_good = flags.action == WaitingAction::kDrop && !flags.yes;
  const bool takes_all = Takes(flags.action) && flags.action != WaitingAction::kDrop &&
                         options->choice.filter.empty() && !options->choice.limit && !flags.all;
  options->ask = (is_for_good || takes_all) && !flags.dry_run;
  if (!options->ask || ::isatty(STDIN_FILENO) != 0) return;
  reader.Complain(
      is_for_good ? "--yes is missing: there is no terminal to ask on, and dropping is for good"
                  : "--all is missing: there is no terminal to ask on, and no filter says which "
                    "messages");
}

WaitingOptions ReadOptions(const WaitingFlags& flags, FlagReader& reader) {
  WaitingOptions options{
      .action = flags.action, .place = {}, .json = flags.json, .dry_run = flags.dry_run};
  ReadQueues(flags, reader, &options);
  ReadFlags(flags.management, reader, &options.place);
  ReadFlags(flags.choice, reader, &options.choice);
  ReadFlags(flags.pace, reader, &options.rate, &options.window);
  ReadCount(flags.by, reader, &options.by);
  ReadColumnFlag(flags.columns, flags.by, reader, &options.columns);
  ReadBodyFlag(flags.body, flags.json, reader, &options.body);
  ReadAgreement(flags, reader, &options);
  return options;
}

OwnCommands WaitingCommands() {
  OwnCommands own{
      .who = "retryq waiting", .description = kWaitingDescription, .footer = kWaitingFooter};
  for (const WaitingCommand& command : kWaitingCommands) own.names.emplace_back(command.name);
  return own;
}

}  // namespace

absl::StatusOr<std::variant<WaitingOptions, Answer>> ParseWaiting(const Arguments& arguments) {
  const auto* const command = std::find_if(
      kWaitingCommands.begin(), kWaitingCommands.end(), [&arguments](const WaitingCommand& known) {
        return !arguments.empty() && known.name == arguments.front();
      });
  if (command == kWaitingCommands.end()) {
    const absl::StatusOr<Answer> answer = ParseWithoutCommand(WaitingCommands(), arguments);
    if (!answer.ok()) return answer.status();
    return *answer;
  }
  const std::string usage =
      absl::StrCat("retryq waiting ", std::string(command->name), " --queue QUEUE [OPTIONS]");
  const std::string footer =
      absl::StrCat(command->footer, kReading, kWaitingExit, command->example);
  return ParseFlags<WaitingOptions>(
      {.description = command->description, .usage = usage, .footer = footer},
      Arguments(arguments.begin() + 1, arguments.end()), WaitingFlags{.action = command->action},
      AddFlags, ReadOptions);
}

}  // namespace retryq::cli
