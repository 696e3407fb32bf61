#include "cli/messages/messages_command.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/name_size.h"
#include "cli/messages/actions.h"

namespace retryq::cli {
namespace {

constexpr char kParkedFooter[] =
    R"(Example: look, try one message, then replay all that failed for that reason, 20 per second
  retryq parked list --queue orders --by error
  retryq parked replay --queue orders --error timeout --limit 1
  retryq parked replay --queue orders --error timeout --rate 20
)";

constexpr char kWaitingFooter[] =
    R"(Example: which messages wait and why; then send back those that failed for that reason
  retryq waiting list --queue orders --by error
  retryq waiting release --queue orders --error timeout --rate 20
)";

// Paragraphs of the help of subcommands.

constexpr char kKeepsMessages[] =
    R"(Messages stay in the queue. Messages that another system or an older version has parked show "-" as
the time of parking, and their age is the time since the first failure. A quorum queue counts how
often a message was requeued, and drops the message when the count exceeds the delivery limit. A
message whose count has reached half of the limit is therefore replaced by a confirmed copy behind
the others, which counts from 0. The management API reports the limit; if it cannot be asked, only
classic queues are read. A limit below 2 is refused.

)";

constexpr char kShows[] = "Shows the first message that matches, which stays in the queue.\n\n";

constexpr char kReplays[] =
    R"(A message is removed from the parked queue once its copy is confirmed and was not returned. The copy
has the same body, properties and headers, without x-retry-* except x-retry-id: its attempts and its
age start again. A message that cannot be replayed stays parked, and the reason is printed.
)";

constexpr char kReleases[] =
    R"(A message is removed from its delay queue once its copy is confirmed in the work queue and was not
returned. The copy is published through the default exchange, and is the retry that it would have
been: attempts, age, error and id stay.
)";

constexpr char kParks[] =
    R"(A message is removed from its delay queue once its copy is confirmed in the parked queue, which is
declared if it is missing. retryq parked shows and replays it.
)";

constexpr char kInterruption[] =
    R"(
If the command is interrupted by a signal, a crash or a lost connection, no message is lost, and at
most --window copies are duplicated; the first SIGINT or SIGTERM waits for these copies and
duplicates none.

Without a filter the command counts the messages and asks on the terminal; without a terminal it
requires --all.

)";

constexpr char kEdits[] =
    R"(Opens $VISUAL, or $EDITOR, with a file: the headers as JSON, a line "--- body ---", and the body.
The saved message is replayed with the header x-retry-edited, and the original is removed from the
parked queue once the copy is confirmed. If the file was not changed, or the editor fails, nothing
is replayed. Headers whose value was not changed keep their AMQP type. While the editor is open the
message stays in the queue; if it is gone or changed afterwards, nothing is replayed, and the file
is kept. For a body that is not text use replay --id ID --body FILE.

)";

constexpr char kDrops[] =
    R"(Counts the matching messages, asks on the terminal, and drops at most this number. Without a
terminal it requires --yes, and without a filter also --all. The messages are first written to a
file, one JSON object per line; retryq send --lines publishes them to their queue again.

)";

constexpr char kForeign[] =
    R"(Messages that retryq did not park (without x-retry-parked) stay unless --foreign is given.

)";

constexpr char kReadsDelayQueues[] =
    R"(The management API names the delay queues. Each is read once, for at most ten seconds. Messages that
come due in that time are late by as much. On RabbitMQ 4.0 to 4.2 each read of a quorum queue counts
towards its delivery limit, 20 by default; messages that exceed it go to the work queue early.

)";

constexpr char kExitStatus[] =
    R"(Exit status: 64 wrong options; 69 a queue or message does not exist, a message stays or is with
another consumer, a file or an editor is missing, or the broker or the management API cannot be
reached; 75 stopped by a signal; 77 refused by the broker.

)";

struct MessagesSubcommand {
  std::string name;
  MessageAction action;
  std::string description;
  std::string footer;
};

// `retryq parked` or `retryq waiting`.
struct MessagesCommand {
  std::string name;
  std::string description;
  std::string footer;
  std::vector<MessagesSubcommand> subcommands;
};

MessagesCommand ParkedCommand() {
  return {
      .name = "retryq parked",
      .description =
          "Shows the messages of a work queue that were given up, and publishes them again.",
      .footer = kParkedFooter,
      .subcommands = {
          {"list", MessageAction::kList, "Shows the messages of a parked queue, one per line.",
           absl::StrCat(kKeepsMessages, kExitStatus,
                        "Example: messages that were given up for this reason since yesterday\n"
                        "  retryq parked list --queue orders --error timeout --newer-than 1d\n")},
          {"show", MessageAction::kShow,
           "Shows one message of a parked queue: its history, properties, headers and body.",
           absl::StrCat(kShows, kExitStatus,
                        "Example: save a body\n"
                        "  retryq parked show --queue orders --id 5f0c77d1 --body raw > body\n")},
          {"replay", MessageAction::kReplay,
           "Publishes messages to the queues in which they failed, and removes the originals.",
           absl::StrCat(
               kReplays, kInterruption, kForeign, kExitStatus,
               "Example: see which messages would be published where, then replay them slowly\n"
               "  retryq parked replay --queue orders --older-than 1h --dry-run\n"
               "  retryq parked replay --queue orders --older-than 1h --rate 20\n"
               "Example: replace the body of one message\n"
               "  retryq parked replay --queue orders --id 5f0c77d1 --body corrected.json\n")},
          {"edit", MessageAction::kEdit,
           "Opens one parked message in an editor, and replays the edited message.",
           absl::StrCat(kEdits, kExitStatus,
                        "Example: correct an address and replay the message\n"
                        "  EDITOR=nano retryq parked edit --queue orders --id 5f0c77d1\n")},
          {"drop", MessageAction::kDrop, "Permanently removes messages from a parked queue.",
           absl::StrCat(
               kDrops, kForeign, kExitStatus,
               "Example: drop messages that were parked a month ago, and publish them again after "
               "all\n"
               "  retryq parked drop --queue orders --older-than 30d --backup dropped.jsonl\n"
               "  retryq send --lines < dropped.jsonl\n")},
      }};
}

MessagesCommand WaitingCommand() {
  return {
      .name = "retryq waiting",
      .description =
          "Shows the messages that wait in delay queues for a work queue, and sends "
          "them there now.",
      .footer = kWaitingFooter,
      .subcommands = {
          {"list", MessageAction::kList,
           "Shows one line per waiting message, those that are due first at the top.",
           absl::StrCat(kReadsDelayQueues, kExitStatus,
                        "Example: the messages that are due within the next minutes\n"
                        "  retryq waiting list --queue orders --by due\n")},
          {"show", MessageAction::kShow,
           "Shows one waiting message: its history, properties, headers and body.",
           absl::StrCat(kShows, kReadsDelayQueues, kExitStatus,
                        "Example: the headers of one message\n"
                        "  retryq waiting show --queue orders --id 5f0c77d1\n")},
          {"release", MessageAction::kRelease,
           "Sends waiting messages to their work queue now; their attempts stay.",
           absl::StrCat(kReleases, kInterruption, kReadsDelayQueues, kExitStatus,
                        "Example: the payment service is available again\n"
                        "  retryq waiting release --queue orders --error payments --rate 20\n")},
          {"park", MessageAction::kPark, "Parks waiting messages as a worker does.",
           absl::StrCat(kParks, kInterruption, kReadsDelayQueues, kExitStatus,
                        "Example: keep messages that cannot succeed away from the workers\n"
                        "  retryq waiting park --queue orders --error 'no such customer'\n")},
          {"drop", MessageAction::kDrop,
           "Permanently removes waiting messages from their delay queues.",
           absl::StrCat(kDrops, kReadsDelayQueues, kExitStatus,
                        "Example: drop the orders of a test\n"
                        "  retryq waiting drop --queue orders --header tenant=test\n")},
      }};
}

bool HasEmpty(const std::vector<std::string>& texts) {
  return std::find(texts.begin(), texts.end(), "") != texts.end();
}

void AddQueues(FlagParser& parser, MessagesOptions* options) {
  const bool parks = options->action == MessageAction::kPark;
  AddPlaceFlags(parser, /*waits=*/false, &options->place);
  parser.AddName("--queue", "QUEUE", &options->work_queue,
                 options->is_waiting
                     ? "Name the work queue that the messages wait for. Required"
                     : "Name the work queue whose messages were given up. Required");
  if (options->is_waiting) AddPrefixFlag(parser, &options->prefix);
  if (!options->is_waiting || parks) {
    parser.AddName("--parked", "QUEUE", &options->parked_queue,
                   parks ? "Name the parked queue, which is declared if it is missing.\n"
                           "Default: QUEUE.parked"
                         : "Name the parked queue. Default: QUEUE.parked");
  }
  parser.Check([options, parks](FlagReader& reader) {
    reader.Require("--queue", "name the work queue");
    if (options->parked_queue.empty()) options->parked_queue = options->work_queue + ".parked";
    if (options->is_waiting && !parks) return;
    if (!reader.given("--parked") && options->parked_queue.size() > kMaxNameSize) {
      reader.Complain("--parked is required: QUEUE.parked is longer than 255 bytes");
    }
    if (parks && options->parked_queue == options->work_queue) {
      reader.Complain("--parked: is the work queue itself; name another queue");
    }
  });
}

struct TargetFlags {
  std::optional<std::string> queue, exchange, routing_key;
  bool trust_routing_keys = false;
};

void CheckTarget(const TargetFlags& flags, FlagReader& reader, MessagesOptions* options) {
  bool fits = true;
  for (const char* flag : {"--to-exchange", "--routing-key", "--trust-routing-keys"}) {
    fits = reader.RefuseTogether("--to-queue", flag) && fits;
  }
  for (const char* flag : {"--routing-key", "--trust-routing-keys"}) {
    if (fits) reader.RequireFor(flag, flags.exchange.has_value(), "--to-exchange");
  }
  reader.RefuseTogether("--routing-key", "--trust-routing-keys");
  if (flags.exchange && !flags.routing_key && !flags.trust_routing_keys) {
    reader.Complain(
        "--to-exchange requires --routing-key KEY, or --trust-routing-keys for the key of each "
        "message's first publish, which anyone who may publish to the work queue can forge");
  }
  if (flags.queue && *flags.queue == options->parked_queue) {
    reader.Complain("--to-queue: is the parked queue itself; name another queue");
  }
  if (flags.queue) options->target = ReplayTarget{.exchange = "", .routing_key = flags.queue};
  if (flags.exchange) {
    options->target = ReplayTarget{.exchange = *flags.exchange, .routing_key = flags.routing_key};
  }
}

void AddTarget(FlagParser& parser, MessagesOptions* options) {
  const auto flags = std::make_shared<TargetFlags>();
  parser.Group("Destination (default: the work queue, for each message that failed there)");
  parser.AddName("--to-queue", "QUEUE", &flags->queue, "Publish to this queue");
  parser.AddName("--to-exchange", "EXCHANGE", &flags->exchange, "Publish to this exchange");
  parser.AddName("--routing-key", "KEY", &flags->routing_key,
                 "With --to-exchange: publish with this routing key", /*may_be_empty=*/true);
  parser.Add("--trust-routing-keys", &flags->trust_routing_keys,
             "With --to-exchange: use the routing key of each message's first publish, "
             "x-retry-routing-key, which anyone who may publish to the work queue can forge");
  parser.Check([flags, options](FlagReader& reader) { CheckTarget(*flags, reader, options); });
}

// A replacement needs exactly one --id, so that the message is certain.
void AddReplacement(FlagParser& parser, MessagesOptions* options) {
  if (options->action == MessageAction::kReplay) {
    parser.Group("Replacement");
    parser.Add("--body", "FILE", &options->body_file,
               "With one --id: replace the body by this file, - for stdin");
  }
  parser.Check([options](FlagReader& reader) {
    const bool is_edit = options->action == MessageAction::kEdit;
    if (!is_edit && !options->body_file) return;
    if (options->filter.ids.size() != 1) {
      reader.Complain(is_edit ? "--id: name the one message to edit"
                              : "--body: is for one message; name it by one --id");
    }
    options->limit = 1;
  });
}

void AddFilter(FlagParser& parser, MessagesOptions* options) {
  MessageFilter* const filter = &options->filter;
  const std::string event = options->is_waiting ? "first failed" : "were parked";
  parser.Group("Filters (a message must match all of them)");
  parser.Add("--id", "ID", &filter->ids,
             "Match the x-retry-id or message-id, without a message-id the correlation-id. "
             "Repeatable");
  parser.Add("--error", "TEXT", &filter->error,
             "Match messages whose last error contains TEXT, case-insensitive");
  parser.Add("--older-than", "DURATION", &filter->older_than,
             "Match messages that " + event + " longer ago, such as 30m or 2d");
  parser.Add("--newer-than", "DURATION", &filter->newer_than,
             "Match messages that " + event + " more recently");
  const auto headers = std::make_shared<std::vector<std::string>>();
  parser.Add("--header", "NAME=VALUE", headers.get(),
             "Match a header: text, a whole number, true or false. Repeatable");
  if (options->action != MessageAction::kShow && options->action != MessageAction::kEdit) {
    parser.AddNumber("--limit", 1, INT64_MAX, &options->limit,
                     options->is_waiting && options->action == MessageAction::kList
                         ? "Show at most this number of matches, those that are due first"
                         : "Stop after this number of matches, from the front of the queue");
  }
  parser.Check([filter, headers](FlagReader& reader) {
    if (filter->older_than && filter->newer_than && *filter->older_than >= *filter->newer_than) {
      reader.Complain("--older-than must be less than --newer-than, otherwise no message matches");
    }
    if (HasEmpty(filter->ids)) reader.Complain("--id '': must not be empty");
    for (const std::string& header : *headers) {
      if (auto pair = reader.SplitPair("--header", header)) filter->headers.push_back(*pair);
    }
  });
}

// A file name that no other run uses.
std::string BackupName(const std::string& queue) {
  constexpr std::size_t kLongestPart = 100;
  std::string part = queue.substr(0, kLongestPart);
  const auto is_unsafe = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_' && c != '.';
  };
  std::replace_if(part.begin(), part.end(), is_unsafe, '_');
  return absl::StrCat("retryq-dropped-", part, "-",
                      absl::FormatTime("%Y%m%dT%H%M%E3SZ", absl::Now(), absl::UTCTimeZone()),
                      ".jsonl");
}

void AddBackup(FlagParser& parser, MessagesOptions* options) {
  const auto no_backup = std::make_shared<bool>(false);
  parser.Add("--backup", "FILE", &options->backup,
             "Save the dropped messages in this new file, for retryq send --lines. Default: "
             "retryq-dropped-QUEUE-TIME.jsonl in the current directory");
  parser.Add("--no-backup", no_backup.get(), "Do not save the dropped messages");
  parser.Check([no_backup, options](FlagReader& reader) {
    reader.RefuseTogether("--backup", "--no-backup");
    if (*no_backup || !options->backup.empty()) return;
    options->backup = BackupName(options->is_waiting ? options->work_queue : options->parked_queue);
  });
}

// An action that removes many messages must be confirmed, on the terminal or by a flag.
void CheckConfirmation(MessagesOptions* options, FlagReader& reader) {
  const bool is_drop = options->action == MessageAction::kDrop;
  const bool takes_all = options->filter.empty() && !options->limit && !options->all;
  const bool has_terminal = ::isatty(STDIN_FILENO) != 0;
  if (options->dry_run) return;
  options->ask = is_drop ? !options->yes : takes_all;
  if (takes_all && (!has_terminal || options->yes)) {
    reader.Complain(absl::StrCat("--all is missing: no filter and no --limit is given",
                                 options->yes ? "" : ", and there is no terminal for a question"));
  }
  if (is_drop && options->ask && !has_terminal) {
    reader.Complain("--yes is missing: there is no terminal for a question");
  }
}

void AddRemoval(FlagParser& parser, MessagesOptions* options) {
  const MessageAction action = options->action;
  parser.Group("Processing");
  if (!options->is_waiting) {
    parser.Add("--foreign", &options->foreign, "Include messages that retryq did not park");
  }
  if (action == MessageAction::kEdit) return;
  parser.Add("--rate", "NUMBER", &options->rate,
             "Limit the messages per second, such as 20 or 0.5. Default: unlimited. Range: from "
             "0.001");
  parser.AddNumber("--window", 1, 10'000, &options->window,
                   "Limit the unconfirmed copies, which limits memory. Default: 256. Range: 1 to "
                   "10000");
  parser.Add("--dry-run", &options->dry_run, "Only show which messages match");
  parser.Add("--all", &options->all, "Allow a run without a filter and without --limit");
  if (action == MessageAction::kDrop) {
    parser.Add("--yes", &options->yes, "Do not ask on the terminal");
    AddBackup(parser, options);
  }
  parser.Check([options](FlagReader& reader) {
    constexpr double kSlowest = 0.001;  // one message per quarter of an hour
    if (reader.given("--rate") && options->rate < kSlowest) {
      reader.Complain("--rate: write a number from 0.001; omit it for no limit");
    }
    CheckConfirmation(options, reader);
  });
}

void AddBodyFormat(FlagParser& parser, MessagesOptions* options) {
  parser.AddWord("--body",
                 {{"auto", BodyFormat::kAuto},
                  {"text", BodyFormat::kText},
                  {"json", BodyFormat::kJson},
                  {"hex", BodyFormat::kHex},
                  {"raw", BodyFormat::kRaw}},
                 &options->body,
                 "Set the format of the body; raw prints only its bytes. Default: auto");
  parser.Add("--full", &options->full,
             "Print the whole body. Default: on a terminal its first 4096 bytes");
  parser.Check([](FlagReader& reader) {
    reader.RefuseTogether("--body", "--json");
    reader.RefuseTogether("--full", "--json", "which always contains the whole body");
  });
}

void AddColumns(FlagParser& parser, MessagesOptions* options) {
  Meanings<std::string> kinds = {{"error", "error"}, {"attempt", "attempt"}};
  if (options->is_waiting) kinds.emplace_back("due", "due");
  parser.AddWord("--by", kinds, &options->by,
                 options->is_waiting
                     ? "Count the messages with the same last error, of the same attempt, or\n"
                       "due at about the same time"
                     : "Count the messages with the same last error or the same attempt");
  parser.Add("--column", "NAME", &options->columns,
             "Show this property, such as correlation-id or type, or this header. Repeatable");
  parser.Check([options](FlagReader& reader) {
    if (HasEmpty(options->columns)) {
      reader.Complain("--column '': name a property or a header");
    }
    reader.RefuseTogether("--column", "--by");
  });
}

void AddOutput(FlagParser& parser, MessagesOptions* options) {
  parser.Group("Output");
  if (options->action == MessageAction::kShow) AddBodyFormat(parser, options);
  if (options->action == MessageAction::kList) AddColumns(parser, options);
  parser.Add("--json", &options->json,
             options->action == MessageAction::kShow
                 ? "Print a JSON object with the fields of list, properties, headers,\n"
                   "x_death and body, or body_base64 if the body is not UTF-8"
                 : "Print a JSON object per message: id, parked, first_failure, attempt,\n"
                   "error, queue, exchange, routing_key, bytes, due, delay_ms, delay_queue");
}

// Of arguments that begin with no subcommand: the help, or an error with a list of the subcommands.
Parsed<MessagesOptions> ParseWithoutSubcommand(const MessagesCommand& command,
                                               const Arguments& arguments) {
  std::vector<std::string> names;
  for (const auto& known : command.subcommands) names.push_back(known.name);
  const std::string first = arguments.empty() ? "" : arguments.front();
  if (first != kDescribeFlags && first != "-h" && first != "--help") {
    return absl::InvalidArgumentError(absl::StrCat(
        first.empty() || first.starts_with('-') ? "a command is missing"
                                                : absl::StrCat("unknown command \"", first, "\""),
        "; commands: ", absl::StrJoin(names, ", "), "; see ", command.name, " --help"));
  }
  const std::string words = absl::StrJoin(names, "|");
  const std::string usage = absl::StrCat(command.name, " ", words, " --queue QUEUE [OPTIONS]");
  std::string commands = "Commands:\n";
  for (const auto& known : command.subcommands) {
    absl::StrAppendFormat(&commands, "  %-10s  %s\n", known.name, known.description);
  }
  absl::StrAppend(&commands, "Each has its own --help.\n\n", command.footer);
  FlagParser parser({.description = command.description, .usage = usage, .footer = commands});
  std::optional<std::string> subcommand;
  // The help contains its own list.
  if (first == kDescribeFlags) parser.AddPositional(words, &subcommand, "What to do");
  return parser.ParseInto({first}, MessagesOptions());
}

Parsed<MessagesOptions> ParseMessages(const MessagesCommand& command, bool is_waiting,
                                      const Arguments& arguments) {
  const auto subcommand = std::find_if(
      command.subcommands.begin(), command.subcommands.end(),
      [&](const auto& known) { return !arguments.empty() && known.name == arguments.front(); });
  if (subcommand == command.subcommands.end()) return ParseWithoutSubcommand(command, arguments);
  const std::string usage =
      absl::StrCat(command.name, " ", subcommand->name, " --queue QUEUE [OPTIONS]");
  FlagParser parser(
      {.description = subcommand->description, .usage = usage, .footer = subcommand->footer});
  MessagesOptions options{.action = subcommand->action, .is_waiting = is_waiting};
  AddQueues(parser, &options);
  if (options.action == MessageAction::kReplay || options.action == MessageAction::kEdit) {
    AddTarget(parser, &options);
    AddReplacement(parser, &options);
  }
  AddFilter(parser, &options);
  if (Removes(options.action)) AddRemoval(parser, &options);
  AddOutput(parser, &options);
  return parser.ParseInto(Arguments(arguments.begin() + 1, arguments.end()), options);
}

}  // namespace

Parsed<MessagesOptions> ParseParked(const Arguments& arguments) {
  return ParseMessages(ParkedCommand(), /*is_waiting=*/false, arguments);
}

Parsed<MessagesOptions> ParseWaiting(const Arguments& arguments) {
  return ParseMessages(WaitingCommand(), /*is_waiting=*/true, arguments);
}

MessagesResult RunMessages(const MessagesOptions& options) {
  Scope scope{.sources = {{.queue = options.parked_queue}}};
  if (options.is_waiting) {
    absl::StatusOr<Scope> found = FindDelayQueues(options);
    if (!found.ok()) return {.text = "", .status = found.status()};
    scope = *std::move(found);
  }
  switch (options.action) {
    case MessageAction::kList:
      return ListMessages(options, scope);
    case MessageAction::kShow:
      return ShowMessage(options, scope);
    case MessageAction::kReplay:
      return ReplayMessages(options, scope);
    case MessageAction::kEdit:
      return EditMessage(options, scope);
    case MessageAction::kDrop:
      return DropMessages(options, scope);
    default:
      return ReleaseMessages(options, scope);
  }
}

}  // namespace retryq::cli
