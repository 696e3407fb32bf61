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
  void Called(const Delivery& delivery, absl::Time now);
  void Failed(const Delivery& delivery, absl::Time now);
  void Handled(const Delivery& delivery);

  // The same: it wants the message again after `delay`, once for each attempt.
  bool MaySnooze(const Delivery& delivery) const;
  void Snoozed(const Delivery& delivery, absl::Duration delay, absl::Time now);

  // Calls may be early by this much: delays of several hops depend on the workers' clocks.
  void LetClocksDiffer(absl::Duration by) { clocks_differ_ = by; }

  // Found in the parked queue at the end.
  void Parked(std::string_view id) { ++accounts_[std::string(id)].parked; }

  // May arrive twice, because it was under way during a fault.
  void Excuse(std::string_view id) { accounts_[std::string(id)].excused = true; }

  // May be missing: an operator deleted it, or RabbitMQ itself may lose it.
  void Forgive(std::string_view id) { accounts_[std::string(id)].forgiven = true; }

  // Returns the errors, one per line; empty if there are none.
  std::vector<std::string> Faults() const;

  std::uint64_t calls() const { return calls_; }
  std::uint64_t duplicates() const { return duplicates_; }
  std::uint64_t snoozes() const { return snoozes_; }
  std::uint64_t forgiven() const;
  std::size_t size() const { return accounts_.size(); }

 private:
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

  static bool CalledTooOften(const Account& account, const Attempt& attempt);
  void CheckTime(const std::string& what, absl::Duration waited, absl::Duration delay);

  std::map<std::string, Account> accounts_;
  std::vector<std::string> early_;
  absl::Duration clocks_differ_;
  std::uint64_t calls_ = 0;
  std::uint64_t duplicates_ = 0;
  std::uint64_t snoozes_ = 0;
};

}  // namespace retryq::simulation

#endif  // RETRYQ_TEST_SIMULATION_LEDGER_H_
