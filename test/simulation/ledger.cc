#include "simulation/ledger.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace retryq::simulation {
namespace {

std::string IdOf(const Delivery& delivery) {
  return std::string(delivery.properties().message_id.value_or(std::string_view()));
}

}  // namespace

void Ledger::Called(const Delivery& delivery, absl::Time now) {
  ++calls_;
  const std::string id = IdOf(delivery);
  Account& account = accounts_[id];
  const auto snooze = account.snoozes.find(delivery.attempt());
  const bool has_snoozed = snooze != account.snoozes.end();
  if (++account.calls[delivery.attempt()] > (has_snoozed ? 2 : 1)) ++duplicates_;
  const absl::Duration delay = delivery.history().delay.value_or(absl::ZeroDuration());
  if (has_snoozed && delay == snooze->second.delay) {
    CheckTime(absl::StrCat(id, ": what was snoozed"), now - snooze->second.at, delay);
    return;
  }
  if (delivery.attempt() == 0) return;
  const auto failure = account.failures.find(delivery.attempt() - 1);
  if (failure == account.failures.end()) {
    early_.push_back(absl::StrCat(id, ": call ", delivery.attempt(), " follows no failure"));
    return;
  }
  CheckTime(absl::StrCat(id, ": call ", delivery.attempt()), now - failure->second, delay);
}

void Ledger::CheckTime(const std::string& what, absl::Duration waited, absl::Duration delay) {
  if (waited >= delay - clocks_differ_) return;
  early_.push_back(absl::StrCat(what, " came after ", absl::FormatDuration(waited), " instead of ",
                                absl::FormatDuration(delay)));
}

bool Ledger::MaySnooze(const Delivery& delivery) const {
  return !accounts_.at(IdOf(delivery)).snoozes.contains(delivery.attempt());
}

void Ledger::Snoozed(const Delivery& delivery, absl::Duration delay, absl::Time now) {
  ++snoozes_;
  accounts_[IdOf(delivery)].snoozes.emplace(delivery.attempt(), Snooze{.at = now, .delay = delay});
}

void Ledger::Failed(const Delivery& delivery, absl::Time now) {
  accounts_[IdOf(delivery)].failures.try_emplace(delivery.attempt(), now);
}

void Ledger::Handled(const Delivery& delivery) { ++accounts_[IdOf(delivery)].handled; }

std::vector<std::string> Ledger::Faults() const {
  std::vector<std::string> faults = early_;
  for (const auto& [id, account] : accounts_) {
    const int done = account.handled + account.parked;
    if (done == 0 && !account.forgiven) {
      faults.push_back(absl::StrCat(id, ": lost after ", account.calls.size(), " calls"));
    }
    const bool called_twice = std::any_of(
        account.calls.begin(), account.calls.end(), [&snoozes = account.snoozes](const auto& call) {
          return call.second > (snoozes.contains(call.first) ? 2 : 1);
        });
    if ((done > 1 || called_twice) && !account.excused) {
      faults.push_back(absl::StrCat(id, ": arrived twice without a reason"));
    }
  }
  return faults;
}

std::uint64_t Ledger::forgiven() const {
  return static_cast<std::uint64_t>(
      std::count_if(accounts_.begin(), accounts_.end(), [](const auto& entry) {
        const Account& account = entry.second;
        return account.forgiven && account.handled + account.parked == 0;
      }));
}

}  // namespace retryq::simulation
