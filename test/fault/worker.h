#ifndef RETRYQ_TEST_FAULT_WORKER_H_
#define RETRYQ_TEST_FAULT_WORKER_H_

#include <sys/types.h>

#include "fault/worker_log.h"
#include "support/standard.h"

namespace retryq::fault {

// A fault_worker in its own process, which can be started repeatedly. Throws std::runtime_error if
// it cannot be started, or has ended by itself. Used on one thread, which must outlive the object,
// because the process dies with that thread.
class Worker {
 public:
  struct Options {
    std::string program;
    std::string log;  // each start appends the worker's actions to it, and its stderr to LOG.err
    std::string queue_type;
    absl::Duration confirm_timeout;
    std::vector<std::string> flags;  // further ones of fault_worker
    std::vector<std::string> urls;
  };

  explicit Worker(Options options);
  // Kills it.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void Start();
  // Sets the flags from its next start on.
  void SetFlags(std::vector<std::string> flags) { options_.flags = std::move(flags); }
  // SIGKILL, SIGSTOP and SIGCONT.
  void Kill();
  void Freeze() const;
  void Thaw() const;
  // Sends SIGTERM; returns whether it exited with 0 within `patience`, after which it is killed.
  bool Stop(absl::Duration patience);

  // Fails if it has ended by itself.
  void CheckRuns();
  // Starts it again if it has ended by itself; returns whether it had.
  bool StartAgainIfDead();

  // Returns its actions since the last call.
  std::vector<WorkerEntry> News() { return ReadWorkerLog(options_.log, &offset_); }

 private:
  bool HasEnded();

  Options options_;
  pid_t process_ = 0;  // 0: none runs
  std::size_t offset_ = 0;
};

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_WORKER_H_
