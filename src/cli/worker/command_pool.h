#ifndef RETRYQ_CLI_WORKER_COMMAND_POOL_H_
#define RETRYQ_CLI_WORKER_COMMAND_POOL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/worker/availability.h"
#include "cli/worker/child_process.h"
#include "cli/worker/job_pool.h"
#include "loop/pauses.h"
#include "loop/worker_pool.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

// Handles messages by running a command for each, up to `jobs` at a time.
//
// If a command cannot be run for a message (see WhyNotRun) but works for other messages, that
// message has failed (see Availability). If the command works for no message, the message stays at
// the end of the queue of waiting messages and loses no attempt. After a pause, which grows, one
// message is tried.
class CommandPool final : public JobPool {
 public:
  struct Options {
    std::vector<std::string> command;  // program and arguments
    std::size_t jobs = 1;              // commands at a time
    absl::Duration timeout = absl::InfiniteDuration();
    std::uint64_t max_attempts = 0;  // for the environment
    absl::Duration first_pause = absl::Seconds(1);
    absl::Duration longest_pause = absl::Seconds(10);
  };

  // `loop` and `children` must outlive it. `threads` needs one thread per job.
  CommandPool(EventLoop& loop, ChildRunner& children, std::unique_ptr<WorkerPool> threads,
              Options options, Availability::OnState on_state);
  // Stops the commands and waits until they have ended.
  ~CommandPool() override;

  void Start() override {}
  void Handle(Delivery delivery, Settlement settlement) override;
  void GiveBackWaiting() override { waiting_.Requeue(); }
  void Stop(std::function<void()> stopped) override;
  std::size_t open() const override { return running_.size(); }
  std::optional<OldestJob> Oldest() const override;
  std::optional<std::string> Trouble() const override { return availability_.Trouble(); }
  std::vector<Job> EndAll() override;

 private:
  using Running = std::list<Job>::iterator;

  void Feed();
  bool HasRoom() const;
  bool IsStuckOn(const Delivery& delivery) const;
  void Run(Job job);
  // Runs on a thread of the pool.
  ChildResult RunCommand(const Delivery& delivery) const;
  void OnEnded(Running running, const ChildResult& result, absl::Duration took);
  void Pause(const std::string& why);

  EventLoop& loop_;
  ChildRunner& children_;
  const Options options_;
  Availability availability_;
  Pauses pauses_;
  std::unique_ptr<Timer> try_again_;
  WaitingJobs waiting_;
  std::list<Job> running_;
  bool stopping_ = false;
  std::function<void()> stopped_;
  std::shared_ptr<const bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<WorkerPool> threads_;  // destroyed first, as the threads use the members above
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_COMMAND_POOL_H_
