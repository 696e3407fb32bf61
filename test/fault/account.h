#ifndef RETRYQ_TEST_FAULT_ACCOUNT_H_
#define RETRYQ_TEST_FAULT_ACCOUNT_H_

#include "fault/messages.h"
#include "fault/run_referee.h"
#include "fault/worker_log.h"
#include "support/standard.h"

namespace retryq::fault {

// The known results of the messages of one kind while the workers run.
class Account {
 public:
  void Add(const WorkerEntry& entry) {
    switch (entry.act) {
      case WorkerAct::kRetried:
        due_.push_back(entry.at + DelayAfter(entry.failures));
        return;
      case WorkerAct::kCalled:
        NoteCall(entry);
        return;
      case WorkerAct::kHandled:
        referee_.Handled(entry.name);
        Mark(entry.name.number, &handled_);
        break;
      case WorkerAct::kParked:
        any_parked_ = true;
        break;
    }
    Mark(entry.name.number, &ended_);
  }

  RunReferee& referee() { return referee_; }
  const RunReferee& referee() const { return referee_; }

  // Messages that have been handled, and those that have been handled or parked.
  std::uint64_t handled() const { return CountOf(handled_); }
  std::uint64_t ended() const { return CountOf(ended_); }
  bool any_parked() const { return any_parked_; }
  // Messages whose delay ends in this time, as far as the workers have reported it.
  std::uint64_t DueBetween(absl::Time from, absl::Time to) const {
    return static_cast<std::uint64_t>(std::count_if(
        due_.begin(), due_.end(), [=](absl::Time at) { return from <= at && at <= to; }));
  }

  // The lateness of messages that failed before this time is not measured: the first publish to a
  // new quorum queue takes longer.
  void MeasureLatenessFrom(absl::Time from) { measured_from_ = from; }
  // The largest lateness of a retry: the time from the end of its delay, counted from the failure,
  // to the call. Not set before the first retry. Includes only messages whose calls are written to
  // the log.
  std::optional<absl::Duration> lateness() const { return lateness_; }

 private:
  struct Call {
    std::uint64_t failures = 0;
    absl::Time at;
  };

  static void Mark(std::uint64_t number, std::vector<bool>* numbers) {
    if (numbers->size() <= number) numbers->resize(number + 1);
    (*numbers)[number] = true;
  }
  static std::uint64_t CountOf(const std::vector<bool>& numbers) {
    return static_cast<std::uint64_t>(std::count(numbers.begin(), numbers.end(), true));
  }

  void NoteCall(const WorkerEntry& entry) {
    const Call call{.failures = entry.failures, .at = entry.at};
    const auto [last, is_first] = calls_.try_emplace(entry.name, call);
    if (is_first) return;
    if (call.failures == last->second.failures + 1 && last->second.at > measured_from_) {
      const absl::Duration late = call.at - last->second.at - DelayAfter(call.failures);
      lateness_ = std::max(late, lateness_.value_or(late));
    }
    last->second = call;
  }

  RunReferee referee_;
  std::vector<bool> ended_;    // by number
  std::vector<bool> handled_;  // likewise
  bool any_parked_ = false;
  std::vector<absl::Time> due_;        // of all retries
  std::map<MessageName, Call> calls_;  // the last one
  absl::Time measured_from_ = absl::InfiniteFuture();
  std::optional<absl::Duration> lateness_;
};

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_ACCOUNT_H_
