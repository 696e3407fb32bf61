#ifndef RETRYQ_CLI_WORKER_AVAILABILITY_H_
#define RETRYQ_CLI_WORKER_AVAILABILITY_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace retryq::cli {

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

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_AVAILABILITY_H_
