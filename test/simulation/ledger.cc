#include "simulation/ledger.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace retryq::simulation {
namespace {

std::string IdOf(const Delivery& delivery) {
  return std::string(delivery.properties().message_id.value_or(std::string_view()));
}

std::pair<std::string, std::uint64_t> AttemptOf(const Delivery& delivery) {
  return {std::string(delivery.queue()), delivery.attempt()};
}

}  // namespace

void Ledger::Called(const Delivery& delivery, absl::Time now) {
  ++calls_;
  const std::string id = IdOf(delivery);
  Account& account = accounts_[id];
  const Attempt attempt = AttemptOf(delivery);
  const auto snooze = account.snoozes.find(attempt);
  const bool has_snoozed = snooze != account.snoozes.end();
  ++account.calls[attempt];
  if (CalledTooOften(account, attempt)) ++duplicates_;
  if (account.most_calls > 1) return;  // no failure says which of the copies it was
  const absl::Duration delay = delivery.history().delay.value_or(absl::ZeroDuration());
  if (has_snoozed && delay == snooze->second.delay) {
    CheckTime(absl::StrCat(id, ": what was snoozed"), now - snooze->second.at, delay);
    return;
  }
  if (delivery.attempt() == 0) return;
  const auto failure = account.failures.find({attempt.first, attempt.second - 1});
  if (failure == account.failures.end()) {
    early_.push_back(absl::StrCat(id, ": call ", delivery.attempt(), " follows no failure"));
    return;
  }
  CheckTime(absl::StrCat(id, ": call ", delivery.attempt()), now - failure->second, delay);
}

bool Ledger::CalledTooOften(const Account& account, const Attempt& attempt) {
  return account.calls.at(attempt) >
         account.most_calls + (account.snoozes.contains(attempt) ? 1 : 0);
}

void Ledger::CheckTime(const std::string& what, absl::Duration waited, absl::Duration delay) {
  if (waited >= delay - clocks_differ_) return;
  early_.push_back(absl::StrCat(what, " came after ", absl::FormatDuration(waited), " instead of ",
                                absl::FormatDuration(delay)));
}

bool Ledger::MaySnooze(const Delivery& delivery) const {
  return !accounts_.at(IdOf(delivery)).snoozes.contains(AttemptOf(delivery));
}

void Ledger::Snoozed(const Delivery& delivery, absl::Duration delay, absl::Time now) {
  ++snoozes_;
  accounts_[IdOf(delivery)].snoozes.emplace(AttemptOf(delivery), Snooze{.at = now, .delay = delay});
}

void Ledger::Failed(const Delivery& delivery, absl::Time now) {
  accounts_[IdOf(delivery)].failures.try_emplace(AttemptOf(delivery), now);
}

void Ledger::Handled(const Delivery& delivery) { ++accounts_[IdOf(delivery)].handled; }

std::vector<std::string> Ledger::Faults() const {
  std::vector<std::string> faults = early_;
  for (const auto& [id, account] : accounts_) {
    const int done = account.handled + account.parked;
    if (done < account.copies && !account.forgiven) {
      faults.push_back(absl::StrCat(id, ": lost after ", account.calls.size(), " calls"));
    }
    const bool called_twice = std::any_of(
        account.calls.begin(), account.calls.end(),
        [&account = account](const auto& call) { return CalledTooOften(account, call.first); });
    if ((done > account.copies || called_twice) && !account.excused) {
      faults.push_back(absl::StrCat(id, ": arrived twice without a reason"));
    }
  }
  return faults;
}

std::uint64_t Ledger::forgiven() const {
  return static_cast<std::uint64_t>(
      std::count_if(accounts_.begin(), accounts_.end(), [](const auto& entry) {
        const Account& account = entry.second;
        return account.forgiven && account.handled + account.parked < account.copies;
      }));
}

}  // namespace retryq::simulation
