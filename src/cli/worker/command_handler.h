#ifndef RETRYQ_CLI_WORKER_COMMAND_HANDLER_H_
#define RETRYQ_CLI_WORKER_COMMAND_HANDLER_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/worker/child_process.h"
#include "retryq/delivery.h"
#include "retryq/outcome.h"

namespace retryq::cli {

// Handles messages by running a command for each. Thread-safe: as many run at once as threads call.
//
// A message whose command cannot be run (see WhyNotRun) is kept, however long it takes: that is no
// fault of the message's, and costs it no attempt. The command is tried again every `recheck`.
class CommandHandler {
 public:
  struct Options {
    std::vector<std::string> command;  // program and arguments
    absl::Duration timeout = absl::InfiniteDuration();
    std::uint64_t max_attempts = 0;  // for the environment
    absl::Duration recheck = absl::Seconds(2);
  };

  // Says that the command cannot be run and why; or, with nothing, that it can be again. Called on
  // the handler's threads, one call at a time, once for each change.
  using OnAvailability = std::function<void(std::optional<std::string> why_not)>;

  // `children` must outlive it.
  CommandHandler(ChildRunner& children, Options options, OnAvailability on_availability);

  // Blocks until the command has ended. After ChildRunner::EndAll it returns soon, and the message
  // goes back to its queue.
  Outcome Handle(const Delivery& delivery);

  // Lets what runs finish and starts nothing more: all other messages go back to their queue.
  void StartNoMore();

 private:
  void AddWithoutCommand(int change, std::optional<std::string> why_not);
  bool starts_no_more() const;

  ChildRunner& children_;
  const Options options_;
  const OnAvailability on_availability_;

  mutable std::mutex mutex_;
  bool start_no_more_ = false;
  int without_command_ = 0;  // messages whose command could not be run when last tried
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_COMMAND_HANDLER_H_
