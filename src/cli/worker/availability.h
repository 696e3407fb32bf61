#ifndef RETRYQ_CLI_WORKER_AVAILABILITY_H_
#define RETRYQ_CLI_WORKER_AVAILABILITY_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace retryq::cli {

// Whether COMMAND can be run at all. A run that came to nothing (exit status 126 or 127, or the end
// of a program before its first answer) has two possible reasons: the message, or the command. It
// was the message if the command has worked for another one since the last such run; else the
// command, and consuming pauses.
class Availability {
 public:
  enum class State {
    kWorks,
    kFails,  // nothing is consumed
    kTried,  // it has failed, and is tried again with what is consumed now
  };
  // Called at each failure, `why` saying more, and at each change to another state.
  using OnState = std::function<void(State state, const std::string& why)>;

  static constexpr int kManyInVain = 3;

  explicit Availability(OnState on_state) : on_state_(std::move(on_state)) {}

  State state() const { return state_; }

  // The command has handled a message, whatever came of it.
  void Worked() {
    has_worked_ = true;
    in_vain_ = 0;
    Recover();
  }

  // It seems to work, although nothing is handled yet.
  void Recover() { Change(State::kWorks); }

  // After a run that came to nothing: whether the command has worked since the last such run, so
  // that this one says nothing about the command.
  bool TakeProof() { return std::exchange(has_worked_, false); }

  // A run, or the life of a program, has ended without having handled a message.
  void EndedInVain(const std::string& why) {
    ++in_vain_;
    why_in_vain_ = why;
  }

  // Why the command is of no use; nothing as long as fewer than kManyInVain have ended so in a row.
  std::optional<std::string> Trouble() const {
    if (in_vain_ < kManyInVain) return std::nullopt;
    return absl::StrCat("COMMAND has ended ", in_vain_,
                        " times in a row without having handled a message: ", why_in_vain_);
  }

  void Fail(const std::string& why) {
    state_ = State::kFails;
    on_state_(state_, why);
  }

  // After a pause.
  void TryAgain() {
    if (state_ == State::kFails) Change(State::kTried);
  }

 private:
  void Change(State state) {
    if (std::exchange(state_, state) != state) on_state_(state, "");
  }

  const OnState on_state_;
  State state_ = State::kWorks;
  bool has_worked_ = false;  // since the last run that came to nothing
  int in_vain_ = 0;          // in a row
  std::string why_in_vain_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_AVAILABILITY_H_
