#ifndef RETRYQ_TEST_SIMULATION_LEDGER_H_
#define RETRYQ_TEST_SIMULATION_LEDGER_H_

#include "retryq/delivery.h"
#include "support/test.h"

namespace retryq::simulation {

// The ledger of one history: every message by its id, and everything that happened to it.
//
//   sent = handled + parked + waiting + destroyed, nothing early, nothing twice without a reason
class Ledger {
 public:
  // To `copies` queues, in each of which it may be called for `calls` times an attempt.
  void Sent(const std::string& id, int copies = 1, int calls = 1) {
    accounts_[id].copies = copies;
    accounts_[id].most_calls = calls;
  }

  // A handler is called, and reports a failure. The time is that of the broker, which determines
  // delays.
  void Called(const Delivery& delivery, absl::Time now) {
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
  void Failed(const Delivery& delivery, absl::Time now) {
    accounts_[IdOf(delivery)].failures.try_emplace(AttemptOf(delivery), now);
  }
  void Handled(const Delivery& delivery) { ++accounts_[IdOf(delivery)].handled; }

  // The same: it wants the message again after `delay`, once for each attempt.
  bool MaySnooze(const Delivery& delivery) const {
    return !accounts_.at(IdOf(delivery)).snoozes.contains(AttemptOf(delivery));
  }
  void Snoozed(const Delivery& delivery, absl::Duration delay, absl::Time now) {
    ++snoozes_;
    accounts_[IdOf(delivery)].snoozes.emplace(AttemptOf(delivery),
                                              Snooze{.at = now, .delay = delay});
  }

  // Calls may be early by this much: delays of several hops depend on the workers' clocks.
  void LetClocksDiffer(absl::Duration by) { clocks_differ_ = by; }

  // Found in the parked queue at the end.
  void Parked(std::string_view id) { ++accounts_[std::string(id)].parked; }

  // May arrive twice, because it was under way during a fault.
  void Excuse(std::string_view id) { accounts_[std::string(id)].excused = true; }

  // May be missing: an operator deleted it, or RabbitMQ itself may lose it.
  void Forgive(std::string_view id) { accounts_[std::string(id)].forgiven = true; }

  // Returns the errors, one per line; empty if there are none.
  std::vector<std::string> Faults() const {
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

  std::uint64_t calls() const { return calls_; }
  std::uint64_t duplicates() const { return duplicates_; }
  std::uint64_t snoozes() const { return snoozes_; }
  std::uint64_t forgiven() const {
    return static_cast<std::uint64_t>(
        std::count_if(accounts_.begin(), accounts_.end(), [](const auto& entry) {
          const Account& account = entry.second;
          return account.forgiven && account.handled + account.parked < account.copies;
        }));
  }
  std::size_t size() const { return accounts_.size(); }

 private:
  static std::string IdOf(const Delivery& delivery) {
    return std::string(delivery.properties().message_id.value_or(std::string_view()));
  }

  static std::pair<std::string, std::uint64_t> AttemptOf(const Delivery& delivery) {
    return {std::string(delivery.queue()), delivery.attempt()};
  }

  struct Snooze {
    absl::Time at;
    absl::Duration delay;
  };
  using Attempt = std::pair<std::string, std::uint64_t>;  // in a queue
  struct Account {
    std::map<Attempt, int> calls;
    std::map<Attempt, absl::Time> failures;  // the first of each attempt
    std::map<Attempt, Snooze> snoozes;       // the same
    int copies = 1;
    int most_calls = 1;
    int handled = 0;
    int parked = 0;
    bool excused = false;
    bool forgiven = false;
  };

  static bool CalledTooOften(const Account& account, const Attempt& attempt) {
    return account.calls.at(attempt) >
           account.most_calls + (account.snoozes.contains(attempt) ? 1 : 0);
  }
  void CheckTime(const std::string& what, absl::Duration waited, absl::Duration delay) {
    if (waited >= delay - clocks_differ_) return;
    early_.push_back(absl::StrCat(what, " came after ", absl::FormatDuration(waited),
                                  " instead of ", absl::FormatDuration(delay)));
  }

  std::map<std::string, Account> accounts_;
  std::vector<std::string> early_;
  absl::Duration clocks_differ_;
  std::uint64_t calls_ = 0;
  std::uint64_t duplicates_ = 0;
  std::uint64_t snoozes_ = 0;
};

}  // namespace retryq::simulation

#endif  // RETRYQ_TEST_SIMULATION_LEDGER_H_
