#ifndef RETRYQ_CLI_WORKER_JOB_POOL_H_
#define RETRYQ_CLI_WORKER_JOB_POOL_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/worker/job.h"

namespace retryq::cli {

// What handles messages by means of programs. Everything on the loop's thread.
class JobPool {
 public:
  virtual ~JobPool() = default;

  virtual void Start() = 0;

  virtual void Handle(Delivery delivery, Settlement settlement) = 0;

  // Gives back to its queue what waits for a program.
  virtual void GiveBackWaiting() = 0;

  // Begins nothing more: what waits goes back to its queue. Calls `stopped` when all that runs has
  // ended.
  virtual void Stop(std::function<void()> stopped) = 0;

  // Messages that programs have.
  virtual std::size_t open() const = 0;

  virtual std::optional<OldestJob> Oldest() const = 0;

  // Why programs handle nothing: see Availability.
  virtual std::optional<std::string> Trouble() const = 0;

  // Ends the programs, and waits for that. Returns what is unsettled: dropping it makes it a
  // failure as long as its consumer lives.
  virtual std::vector<Job> EndAll() = 0;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_JOB_POOL_H_
