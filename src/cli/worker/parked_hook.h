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

// Runs a shell line for each parked message, one at a time on a thread of its own. Whatever
// becomes of it, the message stays parked.
class ParkedHook {
 public:
  struct Options {
    std::string line;  // for /bin/sh -c
    absl::Duration timeout = absl::InfiniteDuration();
    std::uint64_t max_attempts = 0;   // for the environment
    std::size_t most_waiting = 1024;  // each keeps its message in memory
    ChildRunner::Options children = {};
  };

  // Says that the line failed for this message, which has this id, or was not run. Called on the
  // loop.
  using OnFailure =
      std::function<void(const Delivery& parked, const std::string& id, const std::string& error)>;

  // `thread`: one.
  ParkedHook(Options options, std::unique_ptr<WorkerPool> thread, std::shared_ptr<Executor> loop,
             OnFailure on_failure);
  // Ends what runs. What waits is not run.
  ~ParkedHook();
  ParkedHook(const ParkedHook&) = delete;
  ParkedHook& operator=(const ParkedHook&) = delete;

  // Takes an event of kind kParked. Never blocks.
  void OnParked(const Event& parked);

  // Calls `idle` on the loop once nothing runs or waits. One at a time.
  void WhenIdle(std::function<void()> idle);

  // Messages whose command runs or waits.
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
  // With the mutex held.
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

  std::unique_ptr<WorkerPool> thread_;  // last, as it uses all of the above
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_PARKED_HOOK_H_
