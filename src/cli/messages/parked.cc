// `retryq parked`: messages that were given up.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/escaped_text.h"
#include "cli/flags/flag_parser.h"
#include "cli/messages/actions.h"
#include "cli/messages/message_text.h"
#include "cli/messages/messages_command.h"
#include "cli/text/io.h"

namespace retryq::cli {
namespace {

constexpr char kParkedDescription[] =
    "Shows the messages of a work queue that were given up, and publishes them again.";

constexpr char kParkedFooter[] =
    R"(Example: look, try one message, then replay all that failed for that reason, 20 per second
  retryq parked list --queue orders --by error
  retryq parked replay --queue orders --error timeout --limit 1
  retryq parked replay --queue orders --error timeout --rate 20
)";

constexpr char kListFooter[] =
    R"(Messages stay in the queue. Messages that another system or an older version has parked show "-" as
the time of parking, and their age is the time since the first failure. A quorum queue counts how
often a message was requeued, and drops the message when the count exceeds the delivery limit. A
message whose count has reached half of the limit is therefore replaced by a confirmed copy behind
the others, which counts from 0. The management API reports the limit; if it cannot be asked, only
classic queues are read. A limit below 2 is refused.

Exit codes: 64 wrong options; 69 the queue does not exist, other consumers have messages of it, or
the connection was lost; 75 stopped by a signal; 77 refused by the broker.

Example: messages that were given up for this reason since yesterday
  retryq parked list --queue orders --error timeout --newer-than 1d
)";

constexpr char kShowFooter[] =
    R"(Shows the first message that matches. Exit codes: 64 wrong options; 69 the queue does not exist, no
message matches, or the connection was lost; 75 stopped by a signal; 77 refused by the broker.

Example: save a body
  retryq parked show --queue orders --id 5f0c77d1 --body raw > body
)";

constexpr char kReplayFooter[] =
    R"(A message is removed from the parked queue once its copy is confirmed and was not returned. The copy
has the same body, properties and headers, without x-retry-* except x-retry-id: its attempts and its
age start again. A message that cannot be replayed stays parked, and the reason is printed. If the
command is interrupted by a signal, a crash or a lost connection, no message is lost, and at most
--window copies are duplicated; the first SIGINT or SIGTERM waits for these copies and duplicates
none.

Without a filter the command counts the messages and asks on the terminal; without a terminal it
requires --all. Messages that retryq did not park (without x-retry-parked) stay unless --foreign is
given.

Exit codes: 0 all matching messages are replayed; 64 wrong options; 69 some messages stay, the queue
does not exist, or the connection was lost; 75 stopped by a signal; 77 refused by the broker.

Example: see which messages would be published where, then replay them slowly
  retryq parked replay --queue orders --older-than 1h --dry-run
  retryq parked replay --queue orders --older-than 1h --rate 20
Example: replace the body of one message
  retryq parked replay --queue orders --id 5f0c77d1 --body corrected.json
)";

constexpr char kEditFooter[] =
    R"(Opens $VISUAL, or $EDITOR, with a file: the headers as JSON, a line "--- body ---", and the body.
The saved message is replayed with the header x-retry-edited, and the original is removed from the
parked queue once the copy is confirmed. If the file was not changed, or the editor fails, nothing
is replayed. Headers whose value was not changed keep their AMQP type. While the editor is open the
message stays in the queue; if it is gone or changed afterwards, nothing is replayed, and the file
is kept. For a body that is not text use replay --id ID --body FILE.

Exit codes: 0 replayed, or not changed; 64 wrong options, or the edited file has another format; 69
the queue does not exist, no message matches, there is no editor, or the message stays; 75 stopped
by a signal; 77 refused by the broker.

Example: correct an address and replay the message
  EDITOR=nano retryq parked edit --queue orders --id 5f0c77d1
)";

constexpr char kDropFooter[] =
    R"(Counts the matching messages, asks on the terminal, and drops at most this number. Without a
terminal it requires --yes, and without a filter also --all. The messages are first written to a
file, one JSON object per line; retryq send --lines publishes them to the parked queue again.
Messages that retryq did not park (without x-retry-parked) stay unless --foreign is given.

Exit codes: 64 wrong options; 69 some messages stay, the queue does not exist, the file cannot be
written, or the connection was lost; 75 stopped by a signal; 77 refused by the broker.

Example: drop messages that were parked a month ago, and publish them again after all
  retryq parked drop --queue orders --older-than 30d --backup dropped.jsonl
  retryq send --lines < dropped.jsonl
)";

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
             "With --to-exchange: use the routing key of each message's first publish,\n"
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

void AddParkedFlags(FlagParser& parser, MessagesOptions* options) {
  parser.AddName("--parked", "QUEUE", &options->parked_queue,
                 "Name the parked queue. Default: QUEUE.parked");
  if (options->action != MessageAction::kReplay && options->action != MessageAction::kEdit) return;
  AddTarget(parser, options);
  AddReplacement(parser, options);
}

// The target of one message; nullopt if it is unknown.
std::optional<CopyTarget> TargetOf(const MessagesOptions& options, const amqp::Message& message) {
  const MessageHistory facts(message);
  if (!options.target) {
    if (facts.queue != options.work_queue) return std::nullopt;
    return CopyTarget("", options.work_queue);
  }
  if (options.target->routing_key) {
    return CopyTarget(options.target->exchange, *options.target->routing_key);
  }
  if (!facts.routing_key) return std::nullopt;
  return CopyTarget(options.target->exchange, *facts.routing_key);
}

// Anyone who may publish to the work queue or the parked queue can set `x-retry-queue`, so it is
// used only if it names the requested work queue.
std::string WhyNoTarget(const MessagesOptions& options, const amqp::Message& message) {
  if (options.target) {
    return "they do not contain the routing key of their first publish; remedy: --routing-key KEY";
  }
  const MessageHistory facts(message);
  if (!facts.queue || facts.queue->empty()) {
    return "they do not name the queue in which they failed (x-retry-queue); remedy: --to-queue "
           "QUEUE";
  }
  const std::string queue = EscapedText(*facts.queue);
  return absl::StrCat("their headers name ", queue, " as the queue in which they failed, not ",
                      options.work_queue,
                      ", and anyone can write these headers; remedy: if they "
                      "failed there, --queue ",
                      queue, " --parked ", options.parked_queue);
}

// Publishes the messages to the queue in which each failed, or to the target in the options.
// `replacement` is for the one matching message; null: messages are unchanged.
MessagesResult Replay(const MessagesOptions& options, const Scope& scope,
                      const Replacement* replacement) {
  Action replay{.decide = nullptr,
                .elsewhere = "name another destination by --to-queue or --to-exchange"};
  replay.decide = [&](const amqp::MessagePtr& message, const Source&) -> Decision {
    const std::optional<CopyTarget> target = TargetOf(options, *message);
    if (!target) return Keep{WhyNoTarget(options, *message)};
    if (replacement == nullptr) {
      return MessageCopy{
          .message = message, .plan = {.path = CopyPath::kReplay}, .target = *target};
    }
    return MessageCopy{.message = Replaced(message, *replacement),
                       .plan = {.path = CopyPath::kEdit, .edited = absl::Now()},
                       .target = *target};
  };
  if (replacement != nullptr) {
    replay.applies = [&](const amqp::Message& message) {
      return replacement->original == nullptr || IsSame(message, *replacement->original);
    };
  }
  return RemoveMessages(options, scope, replay);
}

MessagesResult ReplayWithBody(const MessagesOptions& options, const Scope& scope) {
  absl::StatusOr<std::string> body;
  if (*options.body_file == "-") {
    body = ReadAll(STDIN_FILENO);
  } else {
    const FileDescriptor file(::open(options.body_file->c_str(), O_RDONLY | O_CLOEXEC));
    body = file.is_open()
               ? ReadAll(file.get())
               : absl::InvalidArgumentError(absl::StrCat(
                     "--body '", EscapedText(*options.body_file), "': ", std::strerror(errno)));
  }
  if (!body.ok()) return {.text = "", .status = body.status()};
  const Replacement replacement{
      .body = *std::move(body), .headers = std::nullopt, .original = nullptr};
  return Replay(options, scope, &replacement);
}

// Meanwhile the message stays in the queue, where others may take it; it is replaced only if it has
// not changed.
MessagesResult Edit(const MessagesOptions& options, const Scope& scope) {
  auto found = FindMessage(options, scope);
  if (!found.ok()) return {.text = "", .status = found.status()};
  const absl::StatusOr<std::string> before = EditText(*found->first);
  if (!before.ok()) return {.text = "", .status = before.status()};
  EditedFile file;
  const absl::StatusOr<std::string> after = file.Edit(*before);
  if (!after.ok()) return {.text = "", .status = after.status()};
  if (*after == *before) return {.text = "the file was not changed: nothing was replayed\n"};

  const auto kept = [&file](const absl::Status& status) {
    file.Keep();
    return absl::Status(status.code(), absl::StrCat(std::string(status.message()),
                                                    "\nthe edited text is in ", file.path()));
  };
  const auto replacement = ReadEdited(std::move(found->first), *after);
  if (!replacement.ok()) {
    return {.text = "",
            .status = kept(absl::InvalidArgumentError(
                absl::StrCat(replacement.status().message(), ": nothing was replayed")))};
  }
  MessagesResult result = Replay(options, scope, &*replacement);
  if (absl::IsNotFound(result.status)) {
    result.status =
        absl::NotFoundError(absl::StrCat("the message is not in ", options.parked_queue,
                                         " any more, or it was changed: nothing was replayed"));
  }
  if (!result.status.ok()) result.status = kept(result.status);
  return result;
}

}  // namespace

Parsed<MessagesOptions> ParseParked(const Arguments& arguments) {
  const MessagesCommand parked = {
      .name = "retryq parked",
      .description = kParkedDescription,
      .footer = kParkedFooter,
      .defaults = {},
      .add_flags = AddParkedFlags,
      .subcommands = {
          {"list", MessageAction::kList, "Shows the messages of a parked queue, one per line.",
           kListFooter},
          {"show", MessageAction::kShow,
           "Shows one message of a parked queue: its history, properties, headers and body.",
           kShowFooter},
          {"replay", MessageAction::kReplay,
           "Publishes messages to the queues in which they failed, and removes the originals.",
           kReplayFooter},
          {"edit", MessageAction::kEdit,
           "Opens one parked message in an editor, and replays the edited message.", kEditFooter},
          {"drop", MessageAction::kDrop, "Permanently removes messages from a parked queue.",
           kDropFooter},
      }};
  return ParseMessages(parked, arguments);
}

MessagesResult RunParked(const MessagesOptions& options) {
  const Scope scope{.sources = {{.queue = options.parked_queue}}};
  switch (options.action) {
    case MessageAction::kList:
      return ListMessages(options, scope);
    case MessageAction::kShow:
      return ShowMessage(options, scope);
    case MessageAction::kEdit:
      return Edit(options, scope);
    case MessageAction::kDrop:
      return DropMessages(options, scope);
    default:
      break;
  }
  return options.body_file ? ReplayWithBody(options, scope) : Replay(options, scope, nullptr);
}

}  // namespace retryq::cli
