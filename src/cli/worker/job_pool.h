#ifndef RETRYQ_CLI_WORKER_JOB_POOL_H_
#define RETRYQ_CLI_WORKER_JOB_POOL_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "retryq/delivery.h"
#include "retryq/outcome.h"
#include "retryq/settlement.h"

namespace retryq::cli {

// A message on its way through `retryq work`.
struct Job {
  Delivery delivery;
  Settlement settlement;
  // A program has ended while it had this message and others. This message is now given to a
  // program alone, to find the one that is the cause.
  bool alone = false;
  int crashes = 0;            // of programs that had only this message
  absl::Duration begun = {};  // since boot, if a command runs for it
};

// The message that has been with a program for longest.
struct OldestJob {
  const Delivery& delivery;
  absl::Duration running;
};

// Messages that wait for a program, in order. If the channel of a message is gone, the broker
// redelivers it, so the old delivery is not begun. Prefetch limits the number of waiting messages.
class WaitingJobs {
 public:
  void Add(Job job) {
    if (!jobs_.empty() && jobs_.front().delivery.abandoned()) {
      std::erase_if(jobs_, [](const Job& each) { return each.delivery.abandoned(); });
    }
    jobs_.push_back(std::move(job));
  }

  // Puts back messages that a program had, at the front (`first`) or at the end.
  void Return(std::deque<Job> jobs, bool first) {
    if (first) jobs.swap(jobs_);
    for (Job& job : jobs) jobs_.push_back(std::move(job));
  }

  // The next message; null if there is none.
  const Job* Front() {
    while (!jobs_.empty() && jobs_.front().delivery.abandoned()) jobs_.pop_front();
    return jobs_.empty() ? nullptr : &jobs_.front();
  }

  std::optional<Job> Next() {
    if (Front() == nullptr) return std::nullopt;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
  }

  std::deque<Job> TakeAll() { return std::exchange(jobs_, {}); }

  void Requeue() {
    for (Job& job : TakeAll()) std::move(job.settlement).Settle(Outcome::Requeue());
  }

 private:
  std::deque<Job> jobs_;
};

// Tracks whether COMMAND can be run at all. If a run handles no message (exit status 126 or 127, or
// a program that ends before its first answer), the cause is either the message or the command. It
// is the message if the command has handled another message since the last such run. Otherwise it
// is the command, and consuming pauses.
class Availability {
 public:
  enum class State {
    kWorks,
    kFails,  // nothing is consumed
    kTried,  // it has failed, and the next message tries it again
  };
  // Called at each failure, with the reason in `why`, and at each change to another state.
  using OnState = std::function<void(State state, const std::string& why)>;

  static constexpr int kManyInVain = 3;

  explicit Availability(OnState on_state) : on_state_(std::move(on_state)) {}

  State state() const { return state_; }

  // The command has handled a message, with any outcome.
  void Worked() {
    has_worked_ = true;
    in_vain_ = 0;
    Recover();
  }

  // The command seems to work, although it has not handled a message yet.
  void Recover() { Change(State::kWorks); }

  // Call it after a run that handled no message. Returns whether the command has handled a message
  // since the last such run, in which case the command is not the cause.
  bool TakeProof() { return std::exchange(has_worked_, false); }

  // A run, or a program of `work --lines`, has ended without handling a message.
  void EndedInVain(const std::string& why) {
    ++in_vain_;
    why_in_vain_ = why;
  }

  // Returns why the command does not work, or nullopt if fewer than kManyInVain runs in a row have
  // ended without handling a message.
  std::optional<std::string> Trouble() const {
    if (in_vain_ < kManyInVain) return std::nullopt;
    return absl::StrCat("COMMAND has ended ", in_vain_,
                        " times in a row without having handled a message: ", why_in_vain_);
  }

  void Fail(const std::string& why) {
    state_ = State::kFails;
    on_state_(state_, why);
  }

  // Call it after a pause, before the next try.
  void TryAgain() {
    if (state_ == State::kFails) Change(State::kTried);
  }

 private:
  void Change(State state) {
    if (std::exchange(state_, state) != state) on_state_(state, "");
  }

  const OnState on_state_;
  State state_ = State::kWorks;
  bool has_worked_ = false;  // since the last run that handled no message
  int in_vain_ = 0;          // in a row
  std::string why_in_vain_;
};

// Handles messages by running programs. All calls are on the loop's thread.
class JobPool {
 public:
  virtual ~JobPool() = default;

  virtual void Start() = 0;

  virtual void Handle(Delivery delivery, Settlement settlement) = 0;

  // Requeues the messages that wait for a program.
  virtual void RequeueWaiting() = 0;

  // Starts no more messages and requeues those that wait. Calls `stopped` when all running programs
  // have ended.
  virtual void Stop(std::function<void()> stopped) = 0;

  // The number of messages that programs have.
  virtual std::size_t open() const = 0;

  virtual std::optional<OldestJob> Oldest() const = 0;

  // Returns why the programs handle no messages: see Availability.
  virtual std::optional<std::string> Trouble() const = 0;

  // Stops the programs and waits until they have ended. Returns the messages that are not settled.
  // Dropping one makes it a failure, as long as its consumer exists.
  virtual std::vector<Job> StopNow() = 0;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_JOB_POOL_H_
