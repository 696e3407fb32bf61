#include "cli/parked/parked_replay.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "cli/parked/pacer.h"
#include "cli/parked/parked_message.h"
#include "cli/parked/parked_question.h"
#include "cli/parked/parked_row.h"
#include "cli/text/escaped_text.h"

namespace retryq::cli {
namespace {

// What waits for its turn is unacked meanwhile, and the broker ends a consumer after half an hour.
constexpr double kLongestTurnSeconds = 300;

std::uint16_t Window(const ParkedOptions& options) {
  if (options.dry_run) return ReadingWindow(options);
  if (options.rate <= 0) return options.window;
  const double in_a_turn = std::max(1.0, options.rate * kLongestTurnSeconds);
  return static_cast<std::uint16_t>(std::min<double>(options.window, in_a_turn));
}

std::string Describe(const std::string& exchange, const std::string& routing_key) {
  if (exchange.empty()) return absl::StrCat("queue ", EscapedText(routing_key));
  return absl::StrCat("exchange ", EscapedText(exchange), " with routing key ",
                      EscapedText(routing_key));
}

class Replaying final : public ParkedPass {
 public:
  explicit Replaying(const ParkedOptions& options)
      : ParkedPass(options, Window(options)),
        options_(options),
        window_(Window(options)),
        pacer_(options.rate) {}

  ParkedResult Replay() {
    absl::Status status = Run();
    std::vector<std::string> lines;
    if (!status.ok()) lines.emplace_back(status.message());
    for (const auto& [why, count] : stayed_) {
      lines.push_back(absl::StrCat(count, " stay in ", options_.queue, ": ", why));
    }
    if (foreign() > 0) lines.push_back(WhyForeignStay());
    if (status.ok() && !lines.empty()) status = absl::UnavailableError("");
    if (in_doubt_ + open_ > 0) {
      lines.push_back(absl::StrCat(
          in_doubt_ + open_, " stay in ", options_.queue,
          ", and their copies may still have arrived: the broker's answer is missing"));
    }
    if (!status.ok()) status = absl::Status(status.code(), absl::StrJoin(lines, "\n"));
    return {.text = began() ? Text() : "", .status = std::move(status)};
  }

 private:
  using Target = std::pair<std::string, std::string>;  // exchange and routing key

  void OnMatch(amqp::MessagePtr message) override {
    std::optional<Target> target = TargetOf(*message);
    if (!target) {
      ++stayed_[WhyNowhere(*message)];
      return reader().Keep(message);
    }
    if (options_.dry_run) {
      ++targets_[*target];
      rows_.append(ParkedTableRow(*message, {})).append("\n");
      return reader().Keep(message);
    }
    waiting_.emplace_back(std::move(message), *std::move(target));
    Advance();
  }

  std::optional<Target> TargetOf(const amqp::Message& message) const {
    const ParkedMessage parked(message);
    if (!options_.target) {
      if (parked.queue != options_.work_queue) return std::nullopt;
      return Target("", options_.work_queue);
    }
    if (options_.target->routing_key) {
      return Target(options_.target->exchange, *options_.target->routing_key);
    }
    if (!parked.routing_key) return std::nullopt;
    return Target(options_.target->exchange, *parked.routing_key);
  }

  // Anyone who may publish to the work queue or to this one can write an `x-retry-queue`: it is
  // believed only where it names the work queue that was asked for.
  std::string WhyNowhere(const amqp::Message& message) const {
    if (options_.target) {
      return "they do not say with which routing key they were published; "
             "remedy: --routing-key KEY";
    }
    const ParkedMessage parked(message);
    if (!parked.queue || parked.queue->empty()) {
      return "they do not say which queue they failed in (x-retry-queue); "
             "remedy: --to-queue QUEUE";
    }
    const std::string queue = EscapedText(*parked.queue);
    return absl::StrCat("they claim to have failed in ", queue, ", not in ", options_.work_queue,
                        ", and anyone could have written that; remedy: where it is true, --queue ",
                        queue, " --parked ", options_.queue);
  }

  void OnAbandoned() override {
    abandoned_ = true;
    for (const auto& [message, target] : std::exchange(waiting_, {})) reader().Keep(message);
  }

  void Advance() {
    again_.reset();
    while (!waiting_.empty() && open_ < window_) {
      const absl::Duration now = loop().clock().SinceBoot();
      if (const absl::Duration wait = pacer_.Wait(now); wait > absl::ZeroDuration()) {
        again_ = loop().After(wait, [this] { Advance(); });
        return;
      }
      pacer_.Step(now);
      auto [message, target] = std::move(waiting_.front());
      waiting_.pop_front();
      Send(message, target);
    }
  }

  void Send(const amqp::MessagePtr& message, const Target& target) {
    ++open_;
    reader().publisher().Publish({.message = message,
                                  .purpose = ParkedCopy::Purpose::kReplay,
                                  .exchange = target.first,
                                  .routing_key = target.second},
                                 [this, message, target](const PublishResult& result) {
                                   OnPublished(message, target, result);
                                 });
  }

  void OnPublished(const amqp::MessagePtr& message, const Target& target,
                   const PublishResult& result) {
    --open_;
    if (result.outcome == PublishOutcome::kConfirmed) {
      ++targets_[target];
      reader().Take(message);
    } else {
      NoteFailure(target, result);
      reader().Keep(message);
    }
    if (!abandoned_) Advance();
  }

  void NoteFailure(const Target& target, const PublishResult& result) {
    constexpr std::uint16_t kNoExchange = 404;
    constexpr std::uint16_t kDoesNotFit = 501;
    const std::string where = Describe(target.first, target.second);
    if (result.outcome == PublishOutcome::kReturned) {
      ++stayed_[absl::StrCat(where, " is not there or leads nowhere (", EscapedText(result.text),
                             "); remedy: declare it, or name another place "
                             "by --to-queue or --to-exchange")];
    } else if (result.outcome == PublishOutcome::kNacked) {
      ++stayed_[absl::StrCat(
          where,
          " refuses them, as a full queue does (x-max-length with "
          "x-overflow reject-publish); remedy: replay again when there is room")];
    } else if (result.code == kDoesNotFit) {
      ++stayed_
          ["their headers do not fit into a frame; remedy: raise frame_max, on the broker too"];
    } else if (result.code == kNoExchange) {
      ++stayed_[absl::StrCat(where, " is not there")];
    } else {
      ++in_doubt_;
    }
  }

  std::string Text() const {
    const bool dry = options_.dry_run;
    std::uint64_t count = 0;
    for (const auto& [target, messages] : targets_) count += messages;
    std::string text = rows_.empty() ? "" : absl::StrCat(ParkedTableHead({}), "\n", rows_, "\n");
    absl::StrAppend(&text, dry ? "would replay " : "replayed ", count, " of ", total(),
                    " messages in ", options_.queue, "\n");
    for (const auto& [target, messages] : targets_) {
      absl::StrAppend(&text, "  ", messages, " to ", Describe(target.first, target.second), "\n");
    }
    return text;
  }

  const ParkedOptions& options_;
  const std::uint16_t window_;
  Pacer pacer_;
  std::unique_ptr<Timer> again_;  // while the pace holds up the first that waits
  std::deque<std::pair<amqp::MessagePtr, Target>> waiting_;
  std::uint64_t open_ = 0;  // copies under way
  bool abandoned_ = false;

  std::uint64_t in_doubt_ = 0;
  std::map<Target, std::uint64_t> targets_;      // how many went where
  std::map<std::string, std::uint64_t> stayed_;  // how many did not, and why
  std::string rows_;                             // of a dry run
};

}  // namespace

ParkedResult ReplayParked(const ParkedOptions& options) {
  const ParkedAgreement agreement = AskAboutParked(options, "Replay", "replayed", "");
  return agreement.options ? Replaying(*agreement.options).Replay() : agreement.result;
}

}  // namespace retryq::cli
