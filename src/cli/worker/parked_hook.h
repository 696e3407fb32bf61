#ifndef RETRYQ_CLI_WORKER_PARKED_HOOK_H_
#define RETRYQ_CLI_WORKER_PARKED_HOOK_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cli/worker/child_process.h"
#include "loop/worker_pool.h"
#include "retryq/delivery.h"
#include "retryq/executor.h"
#include "retryq/observer.h"

namespace retryq::cli {

// Runs a shell command for each parked message, one at a time on its own thread. The message stays
// parked, whatever the result.
class ParkedHook {
 public:
  struct Options {
    std::string line;  // for /bin/sh -c
    absl::Duration timeout = absl::InfiniteDuration();
    std::uint64_t max_attempts = 0;   // for the environment
    std::size_t most_waiting = 1024;  // messages that wait in memory
    ChildRunner::Options children = {};
  };

  // Receives the error if the command failed for this message, which has this id, or was not run.
  // Called on the loop.
  using OnFailure =
      std::function<void(const Delivery& parked, const std::string& id, const std::string& error)>;

  // `thread` has one thread.
  ParkedHook(Options options, std::unique_ptr<WorkerPool> thread, std::shared_ptr<Executor> loop,
             OnFailure on_failure);
  // Stops the running command. Waiting commands are not run.
  ~ParkedHook();
  ParkedHook(const ParkedHook&) = delete;
  ParkedHook& operator=(const ParkedHook&) = delete;

  // Takes an event of kind kParked. Never blocks.
  void OnParked(const Event& parked);

  // Calls `idle` on the loop once no command runs or waits. Only one such call may be pending.
  void WhenIdle(std::function<void()> idle);

  // The number of messages whose command runs or waits.
  std::size_t unfinished() const;

 private:
  struct Task {
    Delivery delivery;
    std::string id;
    std::uint64_t failures;
    std::string error;
  };

  void Work();
  void Run(const Task& task);
  void Fail(const Delivery& parked, const std::string& id, const std::string& error);
  // Called with the mutex locked.
  void TellIfIdle();

  const Options options_;
  const std::vector<std::string> command_;
  const std::shared_ptr<Executor> loop_;
  const std::shared_ptr<const OnFailure> on_failure_;
  ChildRunner children_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> waiting_;
  bool busy_ = false;
  bool stopping_ = false;
  std::function<void()> when_idle_;

  std::unique_ptr<WorkerPool> thread_;  // last, as it uses the members above
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_PARKED_HOOK_H_
