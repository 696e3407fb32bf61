#include "timeline/tally.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"

namespace examples {

bool MessageStory::handled() const {
  return std::any_of(answers.begin(), answers.end(),
                     [](const std::string& answer) { return absl::StartsWith(answer, "2"); });
}

Tally::Tally(std::string queue, std::string parked_queue)
    : queue_(std::move(queue)), parked_queue_(std::move(parked_queue)) {}

std::vector<Row> Tally::Update(const QueueInfos& queues) {
  const absl::Time now = absl::Now();
  queues_ = queues;
  std::vector<Row> rows;
  for (const auto& [name, info] : queues) {
    if (name == queue_ || name == parked_queue_ || there_.contains(name)) continue;
    there_.emplace(name, now);
    seen_.insert(name);
    rows.push_back(
        {.time = now,
         .subject = name,
         .what = absl::StrCat("+ the broker has it: holds messages for ", Short(info.ttl),
                              ", goes ", Short(info.expires), " after its last use"),
         .color = Color::kBlue});
  }
  std::erase_if(there_, [&](const auto& queue) {
    const auto& [name, since] = queue;
    if (queues.contains(name)) return false;
    rows.push_back({.time = now,
                    .subject = name,
                    .what = absl::StrCat("- gone from the broker, after ", Short(now - since)),
                    .color = Color::kBlue});
    return true;
  });
  return rows;
}

Balance Tally::balance() const {
  Balance balance;
  for (const auto& [id, message] : messages_) {
    balance.sent += message.sent ? 1 : 0;
    balance.handled += message.handled() ? 1 : 0;
  }
  for (const auto& [name, info] : queues_) {
    (name == parked_queue_ ? balance.parked : balance.waiting) += info.messages;
  }
  return balance;
}

bool Tally::all_ended() const {
  return std::none_of(messages_.begin(), messages_.end(),
                      [](const auto& entry) { return entry.second.end.empty(); });
}

absl::Status Tally::Verdict() const {
  std::vector<std::string> wrong;
  const std::int64_t lost = balance().lost();
  if (lost > 0) wrong.push_back(absl::StrCat(lost, " messages are lost"));
  if (lost < 0) wrong.push_back(absl::StrCat(-lost, " messages are there twice"));
  if (!all_ended()) wrong.push_back("not every message has ended");
  if (!there_.empty()) wrong.push_back(absl::StrCat(there_.size(), " delay queues are left"));
  if (wrong.empty()) return absl::OkStatus();
  return absl::InternalError(absl::StrJoin(wrong, ", "));
}

void Tally::Print(const Screen& screen) const {
  screen.PrintLine(absl::StrFormat("%-12s %8s  %-8s %8s  %s", "message", "attempts", "ended",
                                   "after", "the endpoint's answers"),
                   Color::kFaint);
  for (const auto& [id, message] : messages_) {
    const bool ended = !message.end.empty();
    screen.PrintLine(
        absl::StrFormat(
            "%-12s %8d  %-8s %7.2fs  %s", id, message.answers.size(), ended ? message.end : "open",
            absl::ToDoubleSeconds((ended ? message.ended : absl::Now()) - message.sending),
            absl::StrJoin(message.answers, ", ")),
        message.end == "handled" ? Color::kGreen : Color::kRed);
  }
  const Balance sum = balance();
  screen.PrintLine("");
  screen.PrintLine(absl::StrFormat("sent %d = handled %d + parked %d + waiting %d, lost %d",
                                   sum.sent, sum.handled, sum.parked, sum.waiting, sum.lost()),
                   sum.lost() == 0 ? Color::kGreen : Color::kRed);
  screen.PrintLine(
      "(sent: the broker has confirmed; handled: the endpoint says 2xx; parked, waiting: in the "
      "broker's queues)",
      Color::kFaint);
  screen.PrintLine(absl::StrFormat("delay queues: %d made (%s), %d left", seen_.size(),
                                   absl::StrJoin(seen_, ", "), there_.size()));
}

}  // namespace examples
