#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/messages/copy_sender.h"
#include "cli/messages/message_past.h"
#include "cli/parked/parked_actions.h"
#include "cli/parked/parked_pass.h"
#include "cli/parked/parked_question.h"
#include "cli/parked/parked_row.h"
#include "cli/text/io.h"
#include "loop/escaped_text.h"

namespace retryq::cli {
namespace {

// Messages that wait for their turn are unacked, and the broker ends a consumer after half an hour.
constexpr double kLongestTurnSeconds = 300;

std::uint16_t Window(const ParkedOptions& options) {
  if (options.dry_run) return ReadingWindow(options.choice);
  if (options.rate <= 0) return options.window;
  const double in_a_turn = std::max(1.0, options.rate * kLongestTurnSeconds);
  return static_cast<std::uint16_t>(std::min<double>(options.window, in_a_turn));
}

class Replaying final : public ParkedPass {
 public:
  Replaying(const ParkedOptions& options, const Replacement* replacement)
      : ParkedPass(options, Window(options)),
        options_(options),
        replacement_(replacement),
        sender_(loop(), {.rate = options.rate,
                         .window = Window(options),
                         .again = "replay again",
                         .elsewhere = "name another place by --to-queue or --to-exchange"}) {}

  MessagesResult Replay() {
    absl::Status status = WithUnseen(Run());
    std::vector<std::string> lines;
    if (!status.ok()) lines.emplace_back(status.message());
    const auto add = [&](const std::string& why, std::uint64_t count) {
      lines.push_back(absl::StrCat(count, " stay in ", options_.queue, ": ", why));
    };
    for (const auto& [why, count] : nowhere_) add(why, count);
    for (const auto& [why, count] : sender_.kept()) add(why, count);
    if (foreign() > 0) lines.push_back(WhyForeignStay());
    if (status.ok() && !lines.empty()) status = absl::UnavailableError("");
    if (sender_.in_doubt() > 0) {
      lines.push_back(absl::StrCat(
          sender_.in_doubt(), " stay in ", options_.queue,
          ", and their copies may still have arrived: the broker's answer is missing"));
    }
    if (status.ok() && replacement_ != nullptr && matched() == 0) {
      status = absl::NotFoundError("");
      lines.push_back(absl::StrCat("there is no such message in ", options_.queue,
                                   replacement_->original == nullptr
                                       ? ": see retryq parked list"
                                       : " any more, or it was changed: nothing was replayed"));
    }
    if (!status.ok()) status = absl::Status(status.code(), absl::StrJoin(lines, "\n"));
    return {.text = began() ? Text() : "", .status = std::move(status)};
  }

 private:
  bool IsCandidate(const amqp::Message& message) override {
    return replacement_ == nullptr || replacement_->original == nullptr ||
           IsSame(message, *replacement_->original);
  }

  void OnMatch(amqp::MessagePtr message) override {
    std::optional<CopyTarget> target = TargetOf(*message);
    if (!target) {
      ++nowhere_[WhyNowhere(*message)];
      return reader().Keep(message);
    }
    if (options_.dry_run) {
      ++would_go_[*target];
      rows_.append(ParkedTableRow(*message, {})).append("\n");
      return reader().Keep(message);
    }
    CopyPlan plan{.path = CopyPath::kReplay};
    if (replacement_ != nullptr) {
      plan = {.path = CopyPath::kEdit, .edited = now()};
      message = Replaced(*message, *replacement_);
    }
    sender_.Send(reader(), {.message = std::move(message),
                            .plan = std::move(plan),
                            .exchange = target->first,
                            .routing_key = target->second});
  }

  std::optional<CopyTarget> TargetOf(const amqp::Message& message) const {
    const MessagePast past(message);
    if (!options_.target) {
      if (past.queue != options_.work_queue) return std::nullopt;
      return CopyTarget("", options_.work_queue);
    }
    if (options_.target->routing_key) {
      return CopyTarget(options_.target->exchange, *options_.target->routing_key);
    }
    if (!past.routing_key) return std::nullopt;
    return CopyTarget(options_.target->exchange, *past.routing_key);
  }

  // Anyone who may publish to the work queue or the parked queue can set `x-retry-queue`, so it is
  // used only if it names the requested work queue.
  std::string WhyNowhere(const amqp::Message& message) const {
    if (options_.target) {
      return "they do not say with which routing key they were published; "
             "remedy: --routing-key KEY";
    }
    const MessagePast past(message);
    if (!past.queue || past.queue->empty()) {
      return "they do not say which queue they failed in (x-retry-queue); "
             "remedy: --to-queue QUEUE";
    }
    const std::string queue = EscapedText(*past.queue);
    return absl::StrCat("they claim to have failed in ", queue, ", not in ", options_.work_queue,
                        ", and anyone could have written that; remedy: where it is true, --queue ",
                        queue, " --parked ", options_.queue);
  }

  void OnAbandoned() override { sender_.Abandon(); }

  std::string Text() const {
    const bool dry = options_.dry_run;
    const auto& targets = dry ? would_go_ : sender_.targets();
    std::uint64_t count = 0;
    for (const auto& [target, messages] : targets) count += messages;
    std::string text = rows_.empty() ? "" : absl::StrCat(ParkedTableHead({}), "\n", rows_, "\n");
    absl::StrAppend(&text, dry ? "would replay " : "replayed ", count, " of ", total(),
                    " messages in ", options_.queue, "\n");
    for (const auto& [target, messages] : targets) {
      absl::StrAppend(&text, "  ", messages, " to ", Describe(target), "\n");
    }
    return text;
  }

  const ParkedOptions& options_;
  const Replacement* const replacement_;  // of the one matching message; null: unchanged
  CopySender sender_;
  std::map<CopyTarget, std::uint64_t> would_go_;  // of a dry run
  std::map<std::string, std::uint64_t> nowhere_;  // messages without a target, by reason
  std::string rows_;                              // of a dry run
};

absl::StatusOr<std::string> ReadBodyFile(const std::string& name) {
  if (name == "-") return ReadAll(STDIN_FILENO);
  const FileDescriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--body '", EscapedText(name), "': ", std::strerror(errno)));
  }
  return ReadAll(file.get());
}

}  // namespace

MessagesResult ReplayParked(const ParkedOptions& options) {
  if (options.body_file) {
    absl::StatusOr<std::string> body = ReadBodyFile(*options.body_file);
    if (!body.ok()) return {.status = body.status()};
    return ReplaceParked(options, {.body = *std::move(body)});
  }
  const ParkedAgreement agreement = AskAboutParked(options, "Replay", "replayed", "");
  if (!agreement.options) return agreement.result;
  return Replaying(*agreement.options, nullptr).Replay();
}

MessagesResult ReplaceParked(const ParkedOptions& options, const Replacement& replacement) {
  return Replaying(options, &replacement).Replay();
}

}  // namespace retryq::cli
