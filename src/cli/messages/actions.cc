#include "cli/messages/actions.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/escaped_text.h"
#include "cli/messages/message_text.h"
#include "cli/text/duration.h"
#include "cli/text/io.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

// "in orders.parked" or "that wait for orders", after "messages"
std::string Where(const MessagesOptions& options) {
  return options.is_waiting ? "that wait for " + options.work_queue : "in " + options.parked_queue;
}

std::string NoMatches(const MessagesOptions& options, const ReadResult& result) {
  return absl::StrCat("no messages ", Where(options), " match (", result.total, " checked)");
}

// Whether there is more to report than the error.
bool HasResult(const MessagesOptions& options, const ReadResult& result,
               const absl::Status& status) {
  return status.ok() || (options.is_waiting ? result.total > 0 : result.began);
}

std::string RowOf(const MessagesOptions& options, const amqp::Message& message,
                  const Source& source, absl::Time now) {
  return options.json ? JsonLine(MessageJsonRow(message, source.delay_queue(), options.columns))
                      : MessageTableRow(message, source.delay_queue(), options.columns, now);
}

std::string RowsText(const MessagesOptions& options, const std::vector<std::string>& rows) {
  constexpr std::size_t kDefaultWidth = 80;
  if (rows.empty()) return "";
  if (options.json) return absl::StrJoin(rows, "\n") + "\n";
  return MessageTable(MessageTableHead(options.is_waiting, options.columns), rows,
                      TerminalWidth(STDOUT_FILENO, kDefaultWidth));
}

// The approximate time until it is due: "overdue", "within 1m", …; empty if unknown.
std::string DueText(std::optional<absl::Time> due, absl::Time now) {
  if (!due) return "";
  if (*due < now) return "overdue";
  for (const absl::Duration span :
       {absl::Minutes(1), absl::Minutes(10), absl::Hours(1), absl::Hours(6), absl::Hours(24)}) {
    if (*due - now <= span) return "within " + DurationText(span);
  }
  return "later";
}

std::string KindOf(const MessagesOptions& options, const MessageHistory& facts, absl::Time now) {
  if (options.by == "attempt") return facts.attempt ? std::to_string(*facts.attempt) : "";
  if (options.by == "due") return DueText(facts.due, now);
  return std::string(facts.error.value_or(""));
}

// A file of dropped messages, created with the first one. Messages are on the disk before they are
// removed from the queue.
class Backup {
 public:
  Backup(std::string path, std::string queue) : path_(std::move(path)), queue_(std::move(queue)) {}

  absl::Status Save(const std::vector<amqp::MessagePtr>& messages) {
    if (!file_.is_open()) {
      constexpr mode_t kOwnerOnly = 0600;
      file_ = FileDescriptor(
          ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
      if (!file_.is_open()) return Failed("cannot be created");
    }
    std::string lines;
    for (const amqp::MessagePtr& message : messages)
      lines += SendLine(*message, queue_).value_or("");  // it fits
    if (!WriteAll(file_.get(), lines) || ::fdatasync(file_.get()) != 0) {
      const absl::Status failed = Failed("cannot be written");
      // These messages stay in the queue.
      if (size_ == 0) ::unlink(path_.c_str());
      std::ignore = ::ftruncate(file_.get(), static_cast<off_t>(size_));
      return failed;
    }
    size_ += lines.size();
    return absl::OkStatus();
  }

  // Where the messages are; empty if none was saved.
  std::string Text() const {
    if (size_ == 0) return "";
    return absl::StrCat("  saved in ", path_, "; to publish them again: retryq send --lines <",
                        path_, "\n");
  }

 private:
  absl::Status Failed(const char* what) const {
    return absl::FailedPreconditionError(absl::StrCat(
        "the backup file '", path_, "' ", what, " (", std::strerror(errno),
        "): nothing more is dropped; remedy: name a new file by --backup, or add --no-backup"));
  }

  const std::string path_;
  const std::string queue_;
  FileDescriptor file_;
  std::size_t size_ = 0;
};

struct Verb {
  std::string now, past;
};
Verb VerbOf(MessageAction action) {
  return action == MessageAction::kRelease ? Verb{"release", "released"}
         : action == MessageAction::kPark  ? Verb{"park", "parked"}
         : action == MessageAction::kDrop  ? Verb{"drop", "dropped"}
                                           : Verb{"replay", "replayed"};
}

MessagesResult RemoveNow(const MessagesOptions& options, const Scope& scope, Action action) {
  std::vector<std::string> rows;
  action.removes = true;
  const Verb verb = VerbOf(options.action);
  action.again = verb.now + " again";
  if (options.json || options.dry_run) {
    action.on_removed = [&](const amqp::Message& message, const Source& source) {
      rows.push_back(RowOf(options, message, source, absl::Now()));
    };
  }
  const ReadResult result = ReadQueues(options, scope, options.limit, action);
  absl::Status status = StatusOf(options, scope, result);
  if (status.ok() && action.applies && result.matched == 0) {
    status = absl::NotFoundError(NoMatches(options, result));
  }
  if (!HasResult(options, result, status)) return {.text = "", .status = status};
  std::string text = RowsText(options, rows);
  if (options.json) return {.text = std::move(text), .status = std::move(status)};
  if (!text.empty()) text.push_back('\n');
  const std::uint64_t count = options.dry_run ? rows.size() : result.removed;
  absl::StrAppend(&text, options.dry_run ? "would " + verb.now : verb.past, " ", count, " of ",
                  result.total, " messages ", Where(options), "\n");
  if (options.is_waiting) {
    for (const auto& [queue, removed] : result.removed_from) {
      absl::StrAppend(&text, "  ", removed, " from ", queue, "\n");
    }
  } else {
    for (const auto& [target, copies] : result.targets) {
      absl::StrAppend(&text, "  ", copies, " to ", Describe(target), "\n");
    }
  }
  return {.text = std::move(text), .status = std::move(status)};
}

// Removes the messages that match, after a question on the terminal if the options require it. A
// message is removed once its copy is confirmed and was not returned. Otherwise it stays, and the
// status contains the reason.
MessagesResult RemoveMessages(const MessagesOptions& options, const Scope& scope,
                              const Action& action) {
  if (!options.ask) return RemoveNow(options, scope, action);
  const Action count{.decide = [](const auto&, const Source&) { return Keep(); },
                     .applies = action.applies};
  const ReadResult result = ReadQueues(options, scope, options.limit, count);
  const absl::Status status = StatusOf(options, scope, result);
  if (!result.status.ok()) return {.text = "", .status = status};
  if (result.matched == 0) {
    return {.text = status.ok() ? NoMatches(options, result) + "\n" : "", .status = status};
  }
  const Verb verb = VerbOf(options.action);
  std::string question =
      absl::StrCat(verb.now, " ", result.matched, " of the ", result.total, " messages ",
                   Where(options), options.action == MessageAction::kDrop ? " for good?" : "?");
  question.front() = absl::ascii_toupper(static_cast<unsigned char>(question.front()));
  if (!Agrees(question)) return {.text = absl::StrCat("nothing was ", verb.past, "\n")};
  // Excludes messages that arrived after the question.
  MessagesOptions limited = options;
  limited.limit = result.matched;
  return RemoveNow(limited, scope, action);
}

// Returns the target of a replayed message, or why it stays. Anyone who may publish to the work
// queue or the parked queue can set `x-retry-queue`, so it is used only if it names the requested
// work queue.
std::variant<CopyTarget, Keep> TargetOf(const MessagesOptions& options,
                                        const amqp::Message& message) {
  const MessageHistory facts(message);
  if (options.target) {
    const auto& [exchange, routing_key] = *options.target;
    if (routing_key) return CopyTarget(exchange, *routing_key);
    if (facts.routing_key) return CopyTarget(exchange, *facts.routing_key);
    return Keep{
        "they do not contain the routing key of their first publish; remedy: --routing-key KEY"};
  }
  if (facts.queue == options.work_queue) return CopyTarget("", options.work_queue);
  if (!facts.queue || facts.queue->empty()) {
    return Keep{
        "they do not name the queue in which they failed (x-retry-queue); remedy: --to-queue "
        "QUEUE"};
  }
  const std::string queue = EscapedText(*facts.queue);
  return Keep{absl::StrCat("their headers name ", queue, " as the queue in which they failed, not ",
                           options.work_queue,
                           ", and anyone can write these headers; remedy: if they failed there, "
                           "--queue ",
                           queue, " --parked ", options.parked_queue)};
}

}  // namespace

MessagesResult ListMessages(const MessagesOptions& options, const Scope& scope) {
  const absl::Time now = absl::Now();
  std::vector<std::pair<absl::Time, std::string>> rows;
  const auto list = [&](const amqp::MessagePtr& message, const Source& source) {
    const MessageHistory facts(*message);
    rows.emplace_back(
        facts.due.value_or(absl::InfiniteFuture()),
        options.by.empty() ? RowOf(options, *message, source, now) : KindOf(options, facts, now));
    return Keep();
  };
  // Any of the delay queues may contain the message that is due first, so all messages of all
  // queues are read.
  const auto limit = options.is_waiting ? std::nullopt : options.limit;
  const ReadResult result = ReadQueues(options, scope, limit, {.decide = list});
  absl::Status status = StatusOf(options, scope, result);
  if (!HasResult(options, result, status)) return {.text = "", .status = status};
  if (options.is_waiting) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    rows.resize(std::min<std::size_t>(rows.size(), options.limit.value_or(rows.size())));
  }
  std::vector<std::string> texts;
  std::map<std::string, std::uint64_t> counts;
  for (auto& [due, row] : rows) {
    options.by.empty() ? texts.push_back(std::move(row)) : void(++counts[row]);
  }
  std::string text =
      options.by.empty() ? RowsText(options, texts) : CountsText(counts, options.by, options.json);
  if (options.json) return {.text = std::move(text), .status = std::move(status)};
  if (!text.empty()) text.push_back('\n');
  absl::StrAppend(&text, rows.size(), " of ", result.total, " messages ", Where(options));
  if (options.is_waiting) {
    absl::StrAppend(&text, ", in ", result.queues,
                    result.queues == 1 ? " delay queue" : " delay queues");
  }
  return {.text = text + "\n", .status = std::move(status)};
}

absl::StatusOr<std::pair<amqp::MessagePtr, Source>> FindMessage(const MessagesOptions& options,
                                                                const Scope& scope) {
  std::pair<amqp::MessagePtr, Source> found;
  const auto find = [&](const amqp::MessagePtr& message, const Source& source) {
    found = {message, source};
    return Keep();
  };
  const ReadResult result = ReadQueues(options, scope, 1, {.decide = find});
  if (!result.status.ok()) return StatusOf(options, scope, result);
  if (found.first != nullptr) return found;
  const absl::Status status = StatusOf(options, scope, result);
  return status.ok() ? absl::NotFoundError(NoMatches(options, result)) : status;
}

MessagesResult ShowMessage(const MessagesOptions& options, const Scope& scope) {
  constexpr std::size_t kMostOnTerminal = 4096;
  const auto found = FindMessage(options, scope);
  if (!found.ok()) return {.text = "", .status = found.status()};
  const auto& [message, source] = *found;
  if (options.json) return {.text = MessageJson(*message, source.delay_queue())};
  const bool is_cut = !options.full && ::isatty(STDOUT_FILENO) != 0;
  absl::StatusOr<std::string> text =
      MessageText(*message, source.delay_queue(), options.body,
                  is_cut ? kMostOnTerminal : std::numeric_limits<std::size_t>::max());
  if (!text.ok()) return {.text = "", .status = text.status()};
  return {.text = *std::move(text),
          .status = absl::OkStatus(),
          .is_raw = options.body == BodyFormat::kRaw};
}

MessagesResult DropMessages(const MessagesOptions& options, const Scope& scope) {
  Backup backup(options.backup, options.is_waiting ? options.work_queue : options.parked_queue);
  constexpr char kDoesNotFit[] =
      "the file cannot contain them exactly, because a text in them is not UTF-8, or a header "
      "nests too deep or occurs twice; remedy: replay them, or drop them without a copy by "
      "--no-backup";
  Action drop{.decide = [&](const amqp::MessagePtr& message, const Source&) -> Decision {
    const bool is_kept = !options.backup.empty() && !SendLine(*message, "");
    return is_kept ? Decision(Keep{kDoesNotFit}) : Decision(Discard());
  }};
  if (!options.backup.empty()) {
    drop.save = [&](const std::vector<amqp::MessagePtr>& messages) {
      return backup.Save(messages);
    };
  }
  MessagesResult result = RemoveMessages(options, scope, drop);
  if (options.json) {
    WriteErrors(backup.Text());
  } else {
    result.text += backup.Text();
  }
  return result;
}

MessagesResult Replay(const MessagesOptions& options, const Scope& scope,
                      const Replacement* replacement) {
  Action replay{.decide = nullptr,
                .elsewhere = "name another destination by --to-queue or --to-exchange"};
  replay.decide = [&](const amqp::MessagePtr& message, const Source&) -> Decision {
    const auto target = TargetOf(options, *message);
    if (const Keep* const stays = std::get_if<Keep>(&target)) return *stays;
    MessageCopy copy{.message = message, .plan = {}, .target = std::get<CopyTarget>(target)};
    if (replacement != nullptr) {
      copy.message = Replaced(message, *replacement);
      copy.plan = {.path = CopyPath::kEdit, .edited = absl::Now()};
    }
    return copy;
  };
  if (replacement != nullptr) {
    replay.applies = [&](const amqp::Message& message) {
      return replacement->original == nullptr || IsSame(message, *replacement->original);
    };
  }
  return RemoveMessages(options, scope, replay);
}

MessagesResult ReplayMessages(const MessagesOptions& options, const Scope& scope) {
  if (!options.body_file) return Replay(options, scope, nullptr);
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

MessagesResult ReleaseMessages(const MessagesOptions& options, const Scope& scope) {
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
  return RemoveMessages(options, scope,
                        {.decide = copy,
                         .elsewhere = is_parked ? "name another queue by --parked"
                                                : "park the messages (retryq waiting park)"});
}

}  // namespace retryq::cli
