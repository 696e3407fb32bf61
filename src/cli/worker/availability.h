#ifndef RETRYQ_CLI_WORKER_AVAILABILITY_H_
#define RETRYQ_CLI_WORKER_AVAILABILITY_H_

#include <functional>
#include <string>
#include <utility>

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

  explicit Availability(OnState on_state) : on_state_(std::move(on_state)) {}

  State state() const { return state_; }

  // The command has handled a message, whatever came of it.
  void Worked() {
    has_worked_ = true;
    Recover();
  }

  // It seems to work, although nothing is handled yet.
  void Recover() { Change(State::kWorks); }

  // After a run that came to nothing: whether the command has worked since the last such run, so
  // that this one says nothing about the command.
  bool TakeProof() { return std::exchange(has_worked_, false); }

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
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_AVAILABILITY_H_
