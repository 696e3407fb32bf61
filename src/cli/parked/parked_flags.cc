#include "cli/parked/parked_flags.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/management/management_flags.h"

namespace retryq::cli {
namespace {

constexpr char kDescription[] =
    "Looks at the messages of a work queue that were given up, and sends them there again.";

constexpr char kUsage[] = "retryq parked list|show|replay|drop --queue QUEUE [OPTIONS]";

constexpr char kFooter[] =
    R"(Commands:
  list        Show what is parked, a line each
  show        Show one message whole
  replay      Publish messages to the queues they failed in, and take them off the parked queue
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
half of it is therefore put behind the others by a confirmed copy, which counts from 0. The management API says what the limit is; where it cannot be asked, 2 is taken for it.
A limit below 2 is refused.

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
    Command{"drop", ParkedAction::kDrop, "Takes messages off a parked queue for good.",
            kDropFooter},
};

constexpr std::array<std::pair<std::string_view, BodyFormat>, 5> kBodyFormats = {
    {{"auto", BodyFormat::kAuto},
     {"text", BodyFormat::kText},
     {"json", BodyFormat::kJson},
     {"hex", BodyFormat::kHex},
     {"raw", BodyFormat::kRaw}}};

struct ParkedFlags {
  ParkedAction action;
  ManagementFlags management;
  FlagText queue, parked;
  std::vector<std::string> ids, headers, columns;
  FlagText error, older_than, newer_than, limit, by;
  bool json = false;
  FlagText body;
  FlagText to_queue, to_exchange, routing_key, rate, window;
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

  parser.Group("Which messages (default: all); all that are given must hold");
  parser.Add("--id", "ID", &flags.ids,
             "Its x-retry-id or message-id (without one, its correlation-id); again for more");
  parser.Add("--error", "TEXT", &flags.error,
             "Its last error contains TEXT, in upper or lower case");
  parser.Add("--older-than", "DURATION", &flags.older_than, "It was parked longer ago: 30m, 2d");
  parser.Add("--newer-than", "DURATION", &flags.newer_than, "It was parked less long ago");
  parser.Add("--header", "NAME=VALUE", &flags.headers,
             "It has this header: a text, a whole number, true or false; again for more");
  if (action != ParkedAction::kShow) {
    parser.Add("--limit", "NUMBER", &flags.limit, "At most so many of them, from the front");
  }

  if (action == ParkedAction::kReplay) {
    parser.Group("Whereto (default: each that failed in the work queue to that)");
    parser.Add("--to-queue", "QUEUE", &flags.to_queue, "To this queue");
    parser.Add("--to-exchange", "EXCHANGE", &flags.to_exchange, "To this exchange");
    parser.Add("--routing-key", "KEY", &flags.routing_key, "With --to-exchange: by this key");
    parser.Add(
        "--trust-routing-keys", &flags.trust_routing_keys,
        "With --to-exchange: each by the key of its first publish, x-retry-routing-key, which\n"
        "anyone who may publish to the work queue can have made up");
    parser.Group("How");
    parser.Add("--rate", "NUMBER", &flags.rate, "At most so many a second, such as 20 or 0.5");
    parser.Add("--window", "NUMBER", &flags.window,
               "Copies that are unconfirmed at a time, which bounds memory (default: 256)");
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
      parser.Add("--body", "auto|text|json|hex|raw", &flags.body,
                 "How it is shown; raw: its bytes and nothing else (default: auto)");
    } else {
      parser.Add("--by", "error", &flags.by, "Count the messages with the same last error");
      parser.Add("--column", "NAME", &flags.columns,
                 "Show this property (such as correlation-id or type) or header, too; again for\n"
                 "more");
    }
    parser.Add("--json", &flags.json,
               action == ParkedAction::kShow
                   ? "One JSON object: what list says, properties, headers, x_death and body,\n"
                     "or body_base64 where that is not UTF-8"
                   : "One JSON object a line: {\"id\",\"parked\",\"first_failure\",\"attempts\",\n"
                     "\"error\",\"queue\",\"exchange\",\"routing_key\",\"bytes\"}");
  }
}

void ReadHeaders(const std::vector<std::string>& headers, FlagReader& reader,
                 ParkedFilter* filter) {
  for (const std::string& header : headers) {
    const std::size_t equals = header.find('=');
    if (equals == std::string::npos || equals == 0) {
      reader.Complain("--header '" + header + "': write NAME=VALUE");
    } else {
      filter->headers.emplace_back(header.substr(0, equals), header.substr(equals + 1));
    }
  }
}

void ReadAge(std::string_view flag, const FlagText& text, FlagReader& reader,
             std::optional<absl::Duration>* age) {
  if (!text) return;
  absl::Duration duration;
  reader.Read(flag, text, &duration);
  *age = duration;
}

void ReadFilter(const ParkedFlags& flags, FlagReader& reader, ParkedOptions* options) {
  options->filter.ids = flags.ids;
  options->filter.error = flags.error;
  ReadAge("--older-than", flags.older_than, reader, &options->filter.older_than);
  ReadAge("--newer-than", flags.newer_than, reader, &options->filter.newer_than);
  ReadHeaders(flags.headers, reader, &options->filter);
  if (flags.limit) {
    std::uint64_t limit = 0;
    reader.Read("--limit", flags.limit, 1, INT64_MAX, &limit);
    options->limit = limit;
  }
}

void ReadTarget(const ParkedFlags& flags, FlagReader& reader, ParkedOptions* options) {
  constexpr std::size_t kLongestName = 255;
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

void ReadPace(const ParkedFlags& flags, FlagReader& reader, ParkedOptions* options) {
  reader.Read("--rate", flags.rate, &options->rate);
  constexpr double kSlowest = 0.001;  // a message in a quarter of an hour
  if (flags.rate && options->rate < kSlowest) {
    reader.Complain("--rate '" + *flags.rate +
                    "': write a number from 0.001; leave it out for no limit");
  }
  reader.Read("--window", flags.window, 1, 10000, &options->window);
}

void ReadBody(const FlagText& text, FlagReader& reader, BodyFormat* format) {
  if (!text) return;
  const auto* const found =
      std::find_if(kBodyFormats.begin(), kBodyFormats.end(),
                   [&text](const auto& known) { return known.first == *text; });
  if (found == kBodyFormats.end()) {
    reader.Complain("--body '" + *text + "': write auto, text, json, hex or raw");
  } else {
    *format = found->second;
  }
}

void ReadQueues(const ParkedFlags& flags, FlagReader& reader, ParkedOptions* options) {
  constexpr std::size_t kLongestName = 255;
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

void ReadColumns(const ParkedFlags& flags, FlagReader& reader, ParkedOptions* options) {
  options->columns = flags.columns;
  if (std::find(flags.columns.begin(), flags.columns.end(), "") != flags.columns.end()) {
    reader.Complain("--column '': name a property or a header");
  }
  if (!flags.by) return;
  options->by_error = *flags.by == "error";
  if (!options->by_error) reader.Complain("--by '" + *flags.by + "': write error");
  if (!flags.columns.empty()) {
    reader.Complain("--column: cannot be combined with --by; give one or the other");
  }
}

// What takes many messages away is agreed to, on the terminal or beforehand.
void ReadAgreement(const ParkedFlags& flags, FlagReader& reader, ParkedOptions* options) {
  const bool is_for_good = flags.action == ParkedAction::kDrop && !flags.yes;
  const bool replays_all = flags.action == ParkedAction::kReplay && options->filter.empty() &&
                           !options->limit && !flags.dry_run && !flags.all;
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
  ReadFilter(flags, reader, &options);
  ReadTarget(flags, reader, &options);
  ReadPace(flags, reader, &options);
  ReadBody(flags.body, reader, &options.body);
  options.json = flags.json;
  options.dry_run = flags.dry_run;
  options.foreign = flags.foreign;
  ReadColumns(flags, reader, &options);
  ReadAgreement(flags, reader, &options);
  if (flags.json && flags.body) {
    reader.Complain("--body: is for people; leave it out, or --json");
  }
  return options;
}

absl::StatusOr<std::variant<ParkedOptions, Answer>> ParseWithoutCommand(
    const Arguments& arguments) {
  const bool asks_for_flags = arguments == Arguments{kDescribeFlags};
  const bool asks_for_help =
      !arguments.empty() && (arguments.front() == "-h" || arguments.front() == "--help");
  if (!asks_for_flags && !asks_for_help) {
    return absl::InvalidArgumentError((arguments.empty() || arguments.front().starts_with('-')
                                           ? std::string("a command is missing")
                                           : "there is no command '" + arguments.front() + "'") +
                                      ": say list, show, replay or drop; see retryq parked --help");
  }
  FlagParser parser(kDescription, kUsage, kFooter);
  FlagText command;
  // The help has a list of its own.
  if (asks_for_flags) parser.AddPositional("list|show|replay|drop", &command, "What to do");
  FlagReader reader;
  const absl::StatusOr<std::optional<Answer>> answer =
      parser.Parse({asks_for_flags ? kDescribeFlags : "--help"}, reader);
  if (!answer.ok()) return answer.status();
  return answer->value();
}

}  // namespace

absl::StatusOr<std::variant<ParkedOptions, Answer>> ParseParked(const Arguments& arguments) {
  const auto* const command =
      std::find_if(kCommands.begin(), kCommands.end(), [&arguments](const Command& known) {
        return !arguments.empty() && known.name == arguments.front();
      });
  if (command == kCommands.end()) return ParseWithoutCommand(arguments);

  const std::string usage =
      "retryq parked " + std::string(command->name) + " --queue QUEUE [OPTIONS]";
  return ParseFlags({command->description, usage, command->footer},
                    Arguments(arguments.begin() + 1, arguments.end()),
                    ParkedFlags{.action = command->action}, AddFlags, ReadOptions);
}

}  // namespace retryq::cli
