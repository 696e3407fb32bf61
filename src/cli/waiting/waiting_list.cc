#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/messages/message_past.h"
#include "cli/messages/message_row.h"
#include "cli/text/json_line.h"
#include "cli/waiting/waiting_actions.h"
#include "cli/waiting/waiting_pass.h"
#include "cli/waiting/waiting_row.h"

namespace retryq::cli {
namespace {

// The messages listed so far. They are printed after all queues have their messages back: a slow
// reader of the output must not delay due messages.
class WaitingListed {
 public:
  explicit WaitingListed(std::optional<std::uint64_t> limit) : limit_(limit) {}

  void Add(absl::Time due, std::string line) {
    lines_.emplace_back(due, std::move(line));
    // Drops the lines beyond the limit from time to time.
    if (limit_ && lines_.size() / 2 > *limit_ + kMostBeyond) Sort();
  }

  // Adds a message to the counts instead of the lines.
  void Count(absl::Time due, std::string kind) {
    limit_ ? Add(due, std::move(kind)) : void(++counts_[std::move(kind)]);
  }

  std::map<std::string, std::uint64_t> Counts() {
    for (const auto& [due, kind] : Take()) ++counts_[kind];
    return counts_;
  }

  // Returns the lines ordered by due time, up to the limit.
  std::vector<std::pair<absl::Time, std::string>> Take() {
    Sort();
    return std::move(lines_);
  }

 private:
  static constexpr std::size_t kMostBeyond = 1000;

  void Sort() {
    std::stable_sort(lines_.begin(), lines_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (limit_ && lines_.size() > *limit_) lines_.resize(*limit_);
  }

  const std::optional<std::uint64_t> limit_;
  std::vector<std::pair<absl::Time, std::string>> lines_;
  std::map<std::string, std::uint64_t> counts_;
};

class ListingWaiting final : public WaitingPass {
 public:
  ListingWaiting(const WaitingOptions& options, const WaitingQueue& queue,
                 const MessageChoice& choice, WaitingListed& listed)
      : WaitingPass(options, queue, choice), listed_(listed) {}

 private:
  void OnMatch(amqp::MessagePtr message) override {
    const MessagePast past(*message);
    const absl::Time due = past.due.value_or(absl::InfiniteFuture());
    if (options().by != WaitingCount::kNone) {
      listed_.Count(due, KindOf(*message, past));
    } else {
      listed_.Add(due, options().json
                           ? JsonLine(WaitingJsonRow(*message, queue(), options().columns))
                           : WaitingTableRow(*message, queue(), options().columns));
    }
    reader().Keep(message);
  }

  std::string KindOf(const amqp::Message& message, const MessagePast& past) const {
    switch (options().by) {
      case WaitingCount::kAttempt:
        return past.attempts ? std::to_string(*past.attempts) : "";
      case WaitingCount::kDue:
        return DueText(message, now());
      case WaitingCount::kNone:
      case WaitingCount::kError:
        break;
    }
    return std::string(past.error.value_or(""));
  }

  WaitingListed& listed_;
};

std::string ListText(WaitingListed& listed, const WaitingOptions& options) {
  switch (options.by) {
    case WaitingCount::kError:
      return CountsText(listed.Counts(), "error", options.json);
    case WaitingCount::kAttempt:
      return CountsText(listed.Counts(), "attempt", options.json);
    case WaitingCount::kDue:
      return CountsText(listed.Counts(), "due", options.json);
    case WaitingCount::kNone:
      break;
  }
  const auto lines = listed.Take();
  std::string text;
  if (!options.json && !lines.empty()) text = WaitingTableHead(options.columns) + "\n";
  for (const auto& [due, line] : lines) text.append(line).push_back('\n');
  return text;
}

}  // namespace

MessagesResult ListWaiting(const WaitingOptions& options, const WaitingPlace& place) {
  WaitingListed listed(options.choice.limit);
  WaitingSum sum{.options = options, .place = place};
  absl::Status status;
  // Any of the queues may contain the message that is due first, so the limit applies to all
  // together.
  MessageChoice choice = options.choice;
  choice.limit.reset();
  for (const WaitingQueue& queue : place.queues) {
    ListingWaiting pass(options, queue, choice, listed);
    status = pass.Run();
    sum.Add(pass);
    sum.NoteUnseen(pass, queue);
    WarnOfLimit(queue, pass.returns());
    if (!status.ok()) break;
  }
  status = sum.StatusWith(status);
  if (!status.ok() && sum.waiting == 0) return {.status = std::move(status)};
  std::string text = ListText(listed, options);
  if (!options.json) {
    if (!text.empty()) text.push_back('\n');
    absl::StrAppend(&text, std::min(sum.matched, options.choice.limit.value_or(sum.matched)),
                    " of ", sum.waiting, " messages that wait for ", options.work_queue, ", in ",
                    sum.queues, sum.queues == 1 ? " delay queue\n" : " delay queues\n");
  }
  return {.text = std::move(text), .status = std::move(status)};
}

}  // namespace retryq::cli
