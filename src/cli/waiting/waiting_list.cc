#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
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

// What has been listed so far, printed when all queues have theirs back: a reader of this output
// that takes its time must not hold up what is due.
struct WaitingListed {
  std::vector<std::pair<absl::Time, std::string>> lines;  // by when they are due
  std::map<std::string, std::uint64_t> counts;
};

class ListingWaiting final : public WaitingPass {
 public:
  ListingWaiting(const WaitingOptions& options, const WaitingQueue& queue,
                 const MessageChoice& choice, WaitingListed& listed)
      : WaitingPass(options, queue, choice), listed_(listed) {}

 private:
  void OnMatch(amqp::MessagePtr message) override {
    const MessagePast past(*message);
    if (options().by != WaitingCount::kNone) {
      ++listed_.counts[KindOf(*message, past)];
    } else {
      listed_.lines.emplace_back(
          past.due.value_or(absl::InfiniteFuture()),
          options().json ? JsonLine(WaitingJsonRow(*message, queue(), options().columns))
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

std::string ListText(WaitingListed listed, const WaitingOptions& options) {
  switch (options.by) {
    case WaitingCount::kError:
      return CountsText(listed.counts, "error", options.json);
    case WaitingCount::kAttempt:
      return CountsText(listed.counts, "attempt", options.json);
    case WaitingCount::kDue:
      return CountsText(listed.counts, "due", options.json);
    case WaitingCount::kNone:
      break;
  }
  std::stable_sort(listed.lines.begin(), listed.lines.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  if (!options.json && !listed.lines.empty()) text = WaitingTableHead(options.columns) + "\n";
  for (const auto& [due, line] : listed.lines) text.append(line).push_back('\n');
  return text;
}

}  // namespace

MessagesResult ListWaiting(const WaitingOptions& options, const WaitingPlace& place) {
  WaitingListed listed;
  WaitingSum sum{.options = options, .place = place};
  absl::Status status;
  MessageChoice choice = options.choice;
  for (const WaitingQueue& queue : place.queues) {
    ListingWaiting pass(options, queue, choice, listed);
    status = pass.Run();
    sum.Add(pass);
    sum.NoteIfCutShort(pass, queue);
    WarnOfLimit(queue, pass.returns());
    if (!status.ok()) break;
    if (choice.limit) *choice.limit -= pass.matched();
    if (choice.limit == 0) break;
  }
  status = sum.StatusWith(status);
  if (!status.ok() && sum.waiting == 0) return {.status = std::move(status)};
  std::string text = ListText(std::move(listed), options);
  if (!options.json) {
    if (!text.empty()) text.push_back('\n');
    absl::StrAppend(&text, sum.matched, " of ", sum.waiting, " messages that wait for ",
                    options.work_queue, ", in ", sum.queues,
                    sum.queues == 1 ? " delay queue\n" : " delay queues\n");
  }
  return {.text = std::move(text), .status = std::move(status)};
}

}  // namespace retryq::cli
