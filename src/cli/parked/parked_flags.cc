#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/flags/own_commands.h"
#include "cli/management/management_flags.h"
#include "cli/messages/message_flags.h"
#include "cli/parked/parked_command.h"

namespace retryq::cli {
namespace {

constexpr char kParkedDescription[] =
    "Looks at the messages of a work queue that were given up, and sends them there again.";

constexpr char kParkedFooter[] =
    R"(Commands:
  list        Show what is parked, a line each
  show        Show one message whole
  replay      Publish messages to the queues they failed in, and take them off the parked queue
  edit        Open one message in an editor, replay what was made of it, and take it off the parked queue
  drop        Take messages off the parked queue for good
Each has its own --help.

Example: look, try one, then send all that failed for that reason at 20 a second
  retryq parked list --queue orders --by error
  retryq parked replay --queue orders --error timeout --limit 1
  retryq parked replay --queue orders --error timeout --rate 20
)";

constexpr char kListFooter[] =
    R"(Messages stay where they are. What does not say when it was parked, as what other systems or older
versions have parked, shows "-" there, and its age is that since its first failure. A quorum queue counts
how often it has taken a message back, and drops it when that exceeds the delivery limit: what has come to
half of it is therefore put behind the others by a confirmed copy, which counts from 0. The management
API reports the limit; if it cannot be asked, only classic queues are read. A limit below 2 is refused.

Exit codes: 64 wrong options; 69 no such queue, or the connection was lost; 75 ended by a signal;
77 refused by the broker.

Example: what was given up for that reason since yesterday
  retryq parked list --queue orders --error timeout --newer-than 1d
)";

constexpr char kShowFooter[] =
    R"(Shows the first message that matches. Exit codes: 64 wrong options; 69 no such queue or message, or the
connection was lost; 75 ended by a signal; 77 refused by the broker.

Example: save a body
  retryq parked show --queue orders --id 5f0c77d1 --body raw > body
)";

constexpr char kReplayFooter[] =
    R"(A message leaves the parked queue once its copy is confirmed and was not returned. Its body, properties
and headers are what they were, except x-retry-* without x-retry-id: its attempts and age begin anew.
What cannot be replayed stays parked, with a reason. Ended at any point, by a signal, a crash or a lost
connection, it loses nothing, and doubles at most the --window copies that were under way; the first
SIGINT or SIGTERM lets these finish and doubles none.

Without a filter it counts, and asks on the terminal; where there is none it needs --all. What retryq did
not park (it has no x-retry-parked) stays unless --foreign is given.

Exit codes: 0 all that match are replayed; 64 wrong options; 69 some stay, no such queue, or the
connection was lost; 75 ended by a signal; 77 refused by the broker.

Example: see what would be sent where, then do it, slowly
  retryq parked replay --queue orders --older-than 1h --dry-run
  retryq parked replay --queue orders --older-than 1h --rate 20
Example: replace the body of one
  retryq parked replay --queue orders --id 5f0c77d1 --body corrected.json
)";

constexpr char kEditFooter[] =
    R"(Opens $VISUAL, else $EDITOR, with a file: the headers as JSON, a line "--- body ---", and the body. What is
saved is replayed, marked by x-retry-edited, and the message is taken off the parked queue once that copy is
confirmed. A file that was not changed, and an editor that fails, replay nothing. Headers whose value was not
changed keep their AMQP type. While the editor is open the message is in the queue; if it is not the same any
more afterwards, nothing is replayed, and the file is kept. A body that is no text: replay --id X --body FILE.

Exit codes: 0 replayed, or not changed; 64 wrong options, or the file is no JSON object, that line and a body;
69 no such queue or message, no editor, or it stays; 75 ended by a signal; 77 refused by the broker.

Example: correct an address and send it again
  EDITOR=nano retryq parked edit --queue orders --id 5f0c77d1
)";

constexpr char kDropFooter[] =
    R"(Counts the messages that match, asks on the terminal, and drops no more than that. What is parked
meanwhile stays, and so does what retryq did not park (it has no x-retry-parked) unless --foreign is given.

Exit codes: 64 wrong options; 69 some stay, no such queue, or the connection was lost; 75 ended by a
signal; 77 refused by the broker.

Example: what was parked a month ago is of no use any more
  retryq parked drop --queue orders --older-than 30d
)";

struct Command {
  std::string_view name;
  ParkedAction action;
  const char* description;
  const char* footer;
};

constexpr std::array kCommands = {
    Command{"list", ParkedAction::kList, "Shows the messages of a parked queue, a line each.",
            kListFooter},
    Command{"show", ParkedAction::kShow,
            "Shows one message of a parked queue: its past, properties, headers and body.",
            kShowFooter},
    Command{"replay", ParkedAction::kReplay,
            "Publishes parked messages to the queues they failed in, and takes them off the parked "
            "queue.",
            kReplayFooter},
    Command{"edit", ParkedAction::kEdit,
            "Opens one parked message in an editor, and replays what was made of it.", kEditFooter},
    Command{"drop", ParkedAction::kDrop, "Takes messages off a parked queue for good.",
            kDropFooter},
};

struct ParkedFlags {
  ParkedAction action;
  ManagementFlags management;
  FlagText queue, parked;
  ChoiceFlags choice;
  std::vector<std::string> columns;
  FlagText by;
  bool json = false;
  FlagText body;
  FlagText to_queue, to_exchange, routing_key;
  PaceFlags pace;
  bool trust_routing_keys = false;
  bool dry_run = false;
  bool foreign = false;
  bool all = false;
  bool yes = false;
};

void AddFlags(FlagParser& parser, ParkedFlags& flags) {
  const ParkedAction action = flags.action;
  AddFlags(parser, flags.management);
  parser.Add("--queue", "QUEUE", &flags.queue,
             "The work queue whose messages were given up. Required");
  parser.Add("--parked", "QUEUE", &flags.parked, "Where they are parked (default: QUEUE.parked)");

  AddFlags(parser, flags.choice, "was parked",
           action != ParkedAction::kShow && action != ParkedAction::kEdit);

  if (action == ParkedAction::kReplay || action == ParkedAction::kEdit) {
    parser.Group("Whereto (default: each that failed in the work queue to that)");
    parser.Add("--to-queue", "QUEUE", &flags.to_queue, "To this queue");
    parser.Add("--to-exchange", "EXCHANGE", &flags.to_exchange, "To this exchange");
    parser.Add("--routing-key", "KEY", &flags.routing_key, "With --to-exchange: by this key");
    parser.Add(
        "--trust-routing-keys", &flags.trust_routing_keys,
        "With --to-exchange: each by the key of its first publish, x-retry-routing-key, which\n"
        "anyone who may publish to the work queue can have made up");
  }
  if (action == ParkedAction::kEdit) {
    parser.Group("How");
    parser.Add("--foreign", &flags.foreign, "Also what retryq did not park");
  } else if (action == ParkedAction::kReplay) {
    parser.Group("How");
    parser.Add("--body", "FILE", &flags.body,
               "With one --id: with the body that is in this file, - for stdin");
    AddFlags(parser, flags.pace);
    parser.Add("--dry-run", &flags.dry_run, "Only show what would be replayed where");
    parser.Add("--all", &flags.all, "Do not ask where no filter and no --limit is given");
    parser.Add("--foreign", &flags.foreign, "Also what retryq did not park");
  } else if (action == ParkedAction::kDrop) {
    parser.Group("How");
    parser.Add("--yes", &flags.yes, "Do not ask");
    parser.Add("--foreign", &flags.foreign, "Also what retryq did not park");
  } else {
    parser.Group("Output");
    if (action == ParkedAction::kShow) {
      AddBodyFlag(parser, flags.body);
    } else {
      parser.Add("--by", "error", &flags.by, "Count the messages with the same last error");
      AddColumnFlag(parser, flags.columns);
    }
    parser.Add("--json", &flags.json,
               action == ParkedAction::kShow
                   ? "One JSON object: what list says, properties, headers, x_death and body,\n"
                     "or body_base64 where that is not UTF-8"
                   : "One JSON object a line: {\"id\",\"parked\",\"first_failure\",\"attempts\",\n"
                     "\"error\",\"queue\",\"exchange\",\"routing_key\",\"bytes\"}");
  }
}

void ReadTarget(const ParkedFlags& flags, FlagReader& reader, ParkedOptions* options) {
  const auto check = [&reader](const char* flag, const FlagText& name) {
    if (!name || (!name->empty() && name->size() <= kLongestName)) return;
    reader.Complain(std::string(flag) + (name->empty()
                                             ? " '': name one; leave it out for the queue "
                                               "that each failed in"
                                             : ": is longer than 255 bytes"));
  };
  check("--to-queue", flags.to_queue);
  check("--to-exchange", flags.to_exchange);
  if (flags.routing_key && flags.routing_key->size() > kLongestName) {
    reader.Complain("--routing-key: is longer than 255 bytes");
  }
  const bool by_key = flags.routing_key || flags.trust_routing_keys;
  if (flags.to_queue && (flags.to_exchange || by_key)) {
    reader.Complain(
        "--to-queue: excludes --to-exchange, --routing-key and --trust-routing-keys; give one or "
        "the other");
  } else if (by_key && !flags.to_exchange) {
    reader.Complain(std::string(flags.routing_key ? "--routing-key" : "--trust-routing-keys") +
                    ": is for --to-exchange; add that, or say --to-queue");
  } else if (flags.routing_key && flags.trust_routing_keys) {
    reader.Complain("--routing-key: excludes --trust-routing-keys; give one or the other");
  } else if (flags.to_exchange && !by_key) {
    reader.Complain(
        "--to-exchange: needs --routing-key KEY, or --trust-routing-keys for the key of each "
        "message's first publish, which anyone who may publish to the work queue can have made up");
  }
  if (flags.to_queue && *flags.to_queue == options->queue) {
    reader.Complain("--to-queue: is the parked queue itself; name another one");
  }
  if (flags.to_queue) options->target = ReplayTarget{.exchange = "", .routing_key = flags.to_queue};
  if (flags.to_exchange) {
    options->target =
        ReplayTarget{.exchange = *flags.to_exchange, .routing_key = flags.routing_key};
  }
}

void ReadQueues(const ParkedFlags& flags, FlagReader& reader, ParkedOptions* options) {
  if (!flags.queue) {
    reader.Complain("--queue is missing: name the work queue whose messages were given up");
  }
  reader.Read("--queue", flags.queue, &options->work_queue);
  options->queue = options->work_queue + ".parked";
  reader.Read("--parked", flags.parked, &options->queue);
  if (options->queue.size() > kLongestName) {
    reader.Complain(std::string(flags.parked ? "--parked" : "--queue") +
                    ": the name of the parked queue is longer than 255 bytes");
  }
}

void ReadBy(const ParkedFlags& flags, FlagReader& reader, ParkedOptions* options) {
  ReadColumnFlag(flags.columns, flags.by, reader, &options->columns);
  if (!flags.by) return;
  options->by_error = *flags.by == "error";
  if (!options->by_error) reader.Complain("--by '" + *flags.by + "': write error");
}

// A replacement needs exactly one --id, so that the message is certain.
void ReadReplacement(const ParkedFlags& flags, FlagReader& reader, ParkedOptions* options) {
  const bool replaces =
      flags.action == ParkedAction::kEdit || (flags.action == ParkedAction::kReplay && flags.body);
  if (flags.action == ParkedAction::kReplay) options->body_file = flags.body;
  if (!replaces) return;
  if (flags.choice.ids.size() != 1) {
    reader.Complain(flags.action == ParkedAction::kEdit
                        ? "--id: name the one message that is edited"
                        : "--body: is for one message; name it by one --id");
  }
  if (flags.body && flags.body->empty()) reader.Complain("--body '': name a file, or - for stdin");
  options->choice.limit = 1;
}

// An operation that removes many messages needs an agreement, on the terminal or by a flag.
void ReadAgreement(const ParkedFlags& flags, FlagReader& reader, ParkedOptions* options) {
  const bool is_for_good = flags.action == ParkedAction::kDrop && !flags.yes;
  const bool replays_all = flags.action == ParkedAction::kReplay &&
                           options->choice.filter.empty() && !options->choice.limit &&
                           !flags.dry_run && !flags.all;
  options->ask = is_for_good || replays_all;
  if (!options->ask || ::isatty(STDIN_FILENO) != 0) return;
  reader.Complain(
      is_for_good
          ? "--yes is missing: there is no terminal to ask on, and dropping is for good"
          : "--all is missing: there is no terminal to ask on, and no filter says which to replay");
}

ParkedOptions ReadOptions(const ParkedFlags& flags, FlagReader& reader) {
  ParkedOptions options{.action = flags.action};
  ReadQueues(flags, reader, &options);
  BrokerPlace place;
  ReadFlags(flags.management, reader, &place);
  options.connection = std::move(place.connection);
  options.management = std::move(place.management);
  ReadFlags(flags.choice, reader, &options.choice);
  ReadTarget(flags, reader, &options);
  ReadFlags(flags.pace, reader, &options.rate, &options.window);
  if (flags.action == ParkedAction::kShow) {
    ReadBodyFlag(flags.body, flags.json, reader, &options.body);
  }
  ReadReplacement(flags, reader, &options);
  options.json = flags.json;
  options.dry_run = flags.dry_run;
  options.foreign = flags.foreign;
  ReadBy(flags, reader, &options);
  ReadAgreement(flags, reader, &options);
  return options;
}

OwnCommands Own() {
  OwnCommands own{
      .who = "retryq parked", .description = kParkedDescription, .footer = kParkedFooter};
  for (const Command& command : kCommands) own.names.emplace_back(command.name);
  return own;
}

}  // namespace

absl::StatusOr<std::variant<ParkedOptions, Answer>> ParseParked(const Arguments& arguments) {
  const auto* const command =
      std::find_if(kCommands.begin(), kCommands.end(), [&arguments](const Command& known) {
        return !arguments.empty() && known.name == arguments.front();
      });
  if (command == kCommands.end()) {
    const absl::StatusOr<Answer> answer = ParseWithoutCommand(Own(), arguments);
    if (!answer.ok()) return answer.status();
    return *answer;
  }

  const std::string usage =
      "retryq parked " + std::string(command->name) + " --queue QUEUE [OPTIONS]";
  return ParseFlags<ParkedOptions>(
      {.description = command->description, .usage = usage, .footer = command->footer},
      Arguments(arguments.begin() + 1, arguments.end()), ParkedFlags{.action = command->action},
      AddFlags, ReadOptions);
}

}  // namespace retryq::cli
