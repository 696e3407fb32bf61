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

// Names the pool that asks for what runs on this thread: on the pool's threads, and where an
// executor runs what those have posted. Null: none. True once nobody waits for what comes of it any
// more.
using WorkOrigin = std::shared_ptr<std::atomic<bool>>;
WorkOrigin& CurrentOrigin();

// Threads for work that blocks. Work starts in the order it was submitted. The queue has no bound
// of its own: prefetch bounds it.
class WorkerPool {
 public:
  using Work = absl::AnyInvocable<void() &&>;

  // With so many threads, one or more. kResourceExhausted where the operating system refuses one of
  // them; then none is left.
  static absl::StatusOr<std::unique_ptr<WorkerPool>> Create(int threads);

  // Waits for what runs and drops what waits, unrun. Not on one of its own threads. In a forked
  // child, where there are none, it does nothing.
  ~WorkerPool();

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Thread-safe. `work` must not throw.
  void Submit(Work work);

  // Drops what waits, unrun. Thread-safe.
  void DropWaiting();

  // Drops what waits and begins nothing more. Whether what runs has ended within that time.
  bool Finish(absl::Duration patience);

  const WorkOrigin& origin() const { return state_->origin; }

 private:
  struct State {
    void Run();

    const WorkOrigin origin = std::make_shared<std::atomic<bool>>(false);
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Work> waiting;  // guarded by mutex, as all that follows
    bool stopping = false;
    std::size_t running = 0;
    std::vector<std::thread> threads;
  };

  WorkerPool() = default;

  const OwnProcess process_{};
  std::unique_ptr<State> state_ = std::make_unique<State>();
};

// An executor that the threads of pools may wait for.
class PoolHost {
 public:
  virtual ~PoolHost() = default;

  // Destroys what this origin has posted and what has not begun.
  virtual void Drop(const WorkOrigin& origin) = 0;

  // Waits for the pool's threads once nothing that they may wait for comes any more.
  virtual void Keep(std::unique_ptr<WorkerPool> pool) = 0;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_LOOP_WORKER_POOL_H_
