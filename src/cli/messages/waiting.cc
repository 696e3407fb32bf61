// `retryq waiting`: messages that wait in delay queues for a work queue.

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/flags/flag_parser.h"
#include "cli/messages/actions.h"
#include "cli/messages/messages_command.h"
#include "cli/messages/queue_facts.h"

namespace retryq::cli {
namespace {

constexpr char kWaitingDescription[] =
    "Shows the messages that wait in delay queues for a work queue, and sends them there now.";

constexpr char kWaitingFooter[] =
    R"(Example: which messages wait and why; then send back those that failed for that reason
  retryq waiting list --queue orders --by error
  retryq waiting release --queue orders --error timeout --rate 20
)";

constexpr char kReading[] =
    R"(The management API names the delay queues. Each is read once, for at most ten seconds. Messages that
come due in that time are late by as much. On RabbitMQ 4.0 to 4.2 each read of a quorum queue counts
towards its delivery limit, 20 by default; messages that exceed it go to the work queue early.

Exit codes: 64 wrong options; 69 a queue or message does not exist, the broker or the management API
cannot be reached, or messages stay; 75 stopped by a signal; 77 refused by the broker.
)";

constexpr char kReleaseFooter[] =
    R"(A message is removed from its delay queue once its copy is confirmed in the work queue and was not
returned. The copy is published through the default exchange, and is the retry that it would have
been: attempts, age, error and id stay. If the command is interrupted by a signal, a crash or a lost
connection, no message is lost, and at most --window copies are duplicated; the first SIGINT or
SIGTERM waits for these copies and duplicates none.

)";

constexpr char kParkFooter[] =
    R"(A message is removed from its delay queue once its copy is confirmed in the parked queue, which is
declared if it is missing. retryq parked shows and replays it. If the command is interrupted, no
message is lost.

)";

constexpr char kConfirmation[] =
    R"(Without a filter the command counts the messages and asks on the terminal; without a terminal it
requires --all.

)";

constexpr char kWaitingDropFooter[] =
    R"(Counts the matching messages, asks on the terminal, and drops at most this number. Without a
terminal it requires --yes, and without a filter also --all. The messages are first written to a
file, one JSON object per line; retryq send --lines publishes them to the work queue again.

)";

void AddWaitingFlags(FlagParser& parser, MessagesOptions* options) {
  AddPrefixFlag(parser, &options->prefix);
  if (options->action == MessageAction::kPark) {
    parser.AddName("--parked", "QUEUE", &options->parked_queue,
                   "Name the parked queue, which is declared if it is missing.\n"
                   "Default: QUEUE.parked");
  }
  parser.Check([options](FlagReader& reader) {
    if (options->action == MessageAction::kPark && options->parked_queue == options->work_queue) {
      reader.Complain("--parked: is the work queue itself; name another queue");
    }
  });
}

std::string Footer(const std::string& beginning, const std::string& example) {
  return absl::StrCat(beginning, kReading, "\nExample: ", example, "\n");
}

}  // namespace

Parsed<MessagesOptions> ParseWaiting(const Arguments& arguments) {
  MessagesOptions defaults;
  defaults.is_waiting = true;
  const MessagesCommand waiting = {
      .name = "retryq waiting",
      .description = kWaitingDescription,
      .footer = kWaitingFooter,
      .defaults = defaults,
      .add_flags = AddWaitingFlags,
      .subcommands = {
          {"list", MessageAction::kList,
           "Shows one line per waiting message, those that are due first at the top.",
           Footer("",
                  "the messages that are due within the next minutes\n"
                  "  retryq waiting list --queue orders --by due")},
          {"show", MessageAction::kShow,
           "Shows one waiting message: its history, properties, headers and body.",
           Footer("",
                  "the headers of one message\n"
                  "  retryq waiting show --queue orders --id 5f0c77d1")},
          {"release", MessageAction::kRelease,
           "Sends waiting messages to their work queue now; their attempts stay.",
           Footer(absl::StrCat(kReleaseFooter, kConfirmation),
                  "the payment service is available again\n"
                  "  retryq waiting release --queue orders --error payments "
                  "--rate 20")},
          {"park", MessageAction::kPark, "Parks waiting messages as a worker does.",
           Footer(absl::StrCat(kParkFooter, kConfirmation),
                  "keep messages that cannot succeed away from the workers\n"
                  "  retryq waiting park --queue orders --error 'no such customer'")},
          {"drop", MessageAction::kDrop,
           "Permanently removes waiting messages from their delay queues.",
           Footer(kWaitingDropFooter,
                  "drop the orders of a test\n"
                  "  retryq waiting drop --queue orders --header "
                  "tenant=test")},
      }};
  return ParseMessages(waiting, arguments);
}

MessagesResult RunWaiting(const MessagesOptions& options) {
  const absl::StatusOr<Scope> scope = FindDelayQueues(options);
  if (!scope.ok()) return {.text = "", .status = scope.status()};
  const bool is_parked = options.action == MessageAction::kPark;
  const auto copy = [&](const amqp::MessagePtr& message, const Source&) -> Decision {
    CopyPlan plan{.path = CopyPath::kRelease};
    if (is_parked) {
      plan.parked = absl::Now();
      plan.work_queue = options.work_queue;
    }
    return MessageCopy{.message = message,
                       .plan = std::move(plan),
                       .target = {"", is_parked ? options.parked_queue : options.work_queue}};
  };
  switch (options.action) {
    case MessageAction::kList:
      return ListMessages(options, *scope);
    case MessageAction::kShow:
      return ShowMessage(options, *scope);
    case MessageAction::kDrop:
      return DropMessages(options, *scope);
    default:
      return RemoveMessages(options, *scope,
                            {.decide = copy,
                             .elsewhere = is_parked ? "name another queue by --parked"
                                                    : "park the messages (retryq waiting park)"});
  }
}

}  // namespace retryq::cli
