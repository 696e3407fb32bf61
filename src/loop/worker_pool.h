#ifndef RETRYQ_SRC_LOOP_WORKER_POOL_H_
#define RETRYQ_SRC_LOOP_WORKER_POOL_H_

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "loop/own_process.h"

namespace retryq {

// Identifies the pool whose work is running on this thread: the threads of the pool, and an
// executor that runs work posted by them. Null: no pool. True once the results of that work are no
// longer needed.
using WorkOrigin = std::shared_ptr<std::atomic<bool>>;
WorkOrigin& CurrentOrigin();

// Threads for work that blocks. Work starts in the order in which it was submitted. The queue has
// no limit of its own: prefetch limits it.
class WorkerPool {
 public:
  using Work = absl::AnyInvocable<void() &&>;

  // Starts one or more threads. Returns kResourceExhausted if the operating system refuses one of
  // them; then no thread is left.
  static absl::StatusOr<std::unique_ptr<WorkerPool>> Create(int threads);

  // Waits for running work and drops waiting work. Must not be called on a thread of the pool. In a
  // forked child, which has no such threads, it does nothing.
  ~WorkerPool();

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Thread-safe. `work` must not throw.
  void Submit(Work work);

  // Drops waiting work. Thread-safe.
  void DropWaiting();

  // Drops waiting work and starts no more. Returns whether running work has ended in that time.
  bool Finish(absl::Duration patience);

  const WorkOrigin& origin() const { return state_->origin; }

 private:
  struct State {
    void Run();

    const WorkOrigin origin = std::make_shared<std::atomic<bool>>(false);
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Work> waiting;  // guarded by mutex, like the members below
    bool stopping = false;
    std::size_t running = 0;
    std::vector<std::thread> threads;
  };

  WorkerPool() = default;

  const OwnProcess process_{};
  std::unique_ptr<State> state_ = std::make_unique<State>();
};

// An executor that threads of pools may wait for.
class PoolHost {
 public:
  virtual ~PoolHost() = default;

  // Destroys the work posted by this origin that has not begun.
  virtual void Drop(const WorkOrigin& origin) = 0;

  // Keeps the pool until all work that its threads may wait for has been dropped, then waits for
  // the threads.
  virtual void Keep(std::unique_ptr<WorkerPool> pool) = 0;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_LOOP_WORKER_POOL_H_
