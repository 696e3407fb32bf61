#ifndef RETRYQ_SRC_LOOP_LOOP_EXECUTOR_H_
#define RETRYQ_SRC_LOOP_LOOP_EXECUTOR_H_

#include <memory>
#include <mutex>
#include <vector>

#include "loop/libevent_ptr.h"
#include "loop/own_process.h"
#include "loop/runner_thread.h"
#include "loop/worker_pool.h"
#include "retryq/broker/executor.h"

namespace retryq {

// Runs work on the loop's thread: a queue behind a mutex, and an eventfd that wakes the loop.
// libevent itself is used only on the loop's thread, so its locking is not needed.
class LoopExecutor final : public Executor, public PoolHost {
 public:
  explicit LoopExecutor(event_base* base);
  ~LoopExecutor() override;

  void Post(Work work) override;
  Thread thread() const override { return runner_.thread(); }
  RunnerThread& runner() { return runner_; }

  void Drop(const WorkOrigin& origin) override;
  void Keep(std::unique_ptr<WorkerPool> pool) override;

  // Runs the work that has been posted, but not what that work posts. On the loop's thread.
  void RunPosted();

  // Destroys the work that has not run; work that is posted later is destroyed at once. Then waits
  // for the threads of the pools that it keeps. On the loop's thread.
  void Close();

 private:
  struct Posted {
    Work work;
    WorkOrigin origin;
  };

  const OwnProcess process_;
  const int wakeup_;  // eventfd
  EventPtr readable_;
  RunnerThread runner_;

  std::mutex mutex_;
  bool closed_ = false;         // guarded by mutex_
  std::vector<Posted> posted_;  // guarded by mutex_

  std::vector<Posted> running_;  // a member to keep its capacity
  std::vector<std::unique_ptr<WorkerPool>> pools_;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_LOOP_LOOP_EXECUTOR_H_
