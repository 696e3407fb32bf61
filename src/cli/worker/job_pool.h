#ifndef RETRYQ_CLI_WORKER_JOB_POOL_H_
#define RETRYQ_CLI_WORKER_JOB_POOL_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/worker/job.h"

namespace retryq::cli {

// Handles messages by running programs. All calls are on the loop's thread.
class JobPool {
 public:
  virtual ~JobPool() = default;

  virtual void Start() = 0;

  virtual void Handle(Delivery delivery, Settlement settlement) = 0;

  // Requeues the messages that wait for a program.
  virtual void GiveBackWaiting() = 0;

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
  virtual std::vector<Job> EndAll() = 0;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_JOB_POOL_H_
