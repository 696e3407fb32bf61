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
  if (++account.calls[delivery.attempt()] > 1) ++duplicates_;
  if (delivery.attempt() == 0) return;
  const auto failure = account.failures.find(delivery.attempt() - 1);
  if (failure == account.failures.end()) {
    early_.push_back(absl::StrCat(id, ": call ", delivery.attempt(), " follows no failure"));
    return;
  }
  const absl::Duration waited = now - failure->second;
  const absl::Duration delay = delivery.history().delay.value_or(absl::ZeroDuration());
  if (waited < delay - clocks_differ_) {
    early_.push_back(absl::StrCat(id, ": call ", delivery.attempt(), " came after ",
                                  absl::FormatDuration(waited), " instead of ",
                                  absl::FormatDuration(delay)));
  }
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
    const bool called_twice = std::any_of(account.calls.begin(), account.calls.end(),
                                          [](const auto& call) { return call.second > 1; });
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
