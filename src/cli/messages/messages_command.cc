#include "cli/messages/messages_command.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/name_size.h"

namespace retryq::cli {
namespace {

bool HasEmpty(const std::vector<std::string>& texts) {
  return std::find(texts.begin(), texts.end(), "") != texts.end();
}

// The name of the parked queue, if the command uses it.
void NameParkedQueue(MessagesOptions* options, FlagReader& reader) {
  if (options->parked_queue.empty()) options->parked_queue = options->work_queue + ".parked";
  if (options->is_waiting && options->action != MessageAction::kPark) return;
  if (!reader.given("--parked") && options->parked_queue.size() > kMaxNameSize) {
    reader.Complain("--parked is required: QUEUE.parked is longer than 255 bytes");
  }
}

void AddPlace(FlagParser& parser, MessagesOptions* options) {
  AddPlaceFlags(parser, /*waits=*/false, &options->place);
  parser.AddName("--queue", "QUEUE", &options->work_queue,
                 options->is_waiting
                     ? "Name the work queue that the messages wait for. Required"
                     : "Name the work queue whose messages were given up. Required");
  parser.Check([](FlagReader& reader) { reader.Require("--queue", "name the work queue"); });
}

void AddFilter(FlagParser& parser, MessagesOptions* options) {
  MessageFilter* const filter = &options->filter;
  const std::string event = options->is_waiting ? "first failed" : "were parked";
  parser.Group("Filters (a message must match all of them)");
  parser.Add("--id", "ID", &filter->ids,
             "Match the x-retry-id or message-id, without a message-id the\n"
             "correlation-id. Repeatable");
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
             "Save the dropped messages in this new file, for retryq send --lines.\n"
             "Default: retryq-dropped-QUEUE-TIME.jsonl in the current directory");
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
             "Limit the messages per second, such as 20 or 0.5. Default: unlimited.\n"
             "Range: from 0.001");
  parser.AddNumber("--window", 1, 10'000, &options->window,
                   "Limit the unconfirmed copies, which limits memory. Default: 256.\n"
                   "Range: 1 to 10000");
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
             "Show this property, such as correlation-id or type, or this header.\n"
             "Repeatable");
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
  return parser.ParseInto({first}, command.defaults);
}

}  // namespace

Parsed<MessagesOptions> ParseMessages(const MessagesCommand& command, const Arguments& arguments) {
  const auto subcommand = std::find_if(
      command.subcommands.begin(), command.subcommands.end(),
      [&](const auto& known) { return !arguments.empty() && known.name == arguments.front(); });
  if (subcommand == command.subcommands.end()) return ParseWithoutSubcommand(command, arguments);
  const std::string usage =
      absl::StrCat(command.name, " ", subcommand->name, " --queue QUEUE [OPTIONS]");
  FlagParser parser(
      {.description = subcommand->description, .usage = usage, .footer = subcommand->footer});
  MessagesOptions options = command.defaults;
  options.action = subcommand->action;
  AddPlace(parser, &options);
  parser.Check([&options](FlagReader& reader) { NameParkedQueue(&options, reader); });
  command.add_flags(parser, &options);
  AddFilter(parser, &options);
  if (Removes(options.action)) AddRemoval(parser, &options);
  AddOutput(parser, &options);
  return parser.ParseInto(Arguments(arguments.begin() + 1, arguments.end()), options);
}

}  // namespace retryq::cli
