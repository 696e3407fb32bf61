#ifndef RETRYQ_SRC_LOOP_WORKER_POOL_H_
#define RETRYQ_SRC_LOOP_WORKER_POOL_H_

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "loop/own_process.h"

namespace retryq {

// Identifies the pool whose work is running on this thread: the threads of the pool, and an
// executor that runs work posted by them. Null: no pool. True once the results of the work are no
// longer needed.
using WorkOrigin = std::shared_ptr<std::atomic<bool>>;
WorkOrigin& CurrentOrigin();

// Threads for work that blocks. Work starts in the order in which it was submitted. The queue has
// no limit; prefetch limits it.
class WorkerPool {
 public:
  using Work = absl::AnyInvocable<void() &&>;

  // Starts one or more threads. Returns kResourceExhausted if the operating system refuses one of
  // them; then no thread is left.
  //
  // `in_step`: for simulated time. Every call that gives work to a thread then waits until all
  // threads have finished their work or wait for the loop's thread by AnswerForPool. If this takes
  // longer than five seconds of real time, the loop continues without them.
  static absl::StatusOr<std::unique_ptr<WorkerPool>> Create(int threads, bool in_step = false);

  // Waits for running work and drops waiting work. Must not be called on a thread of the pool. In a
  // forked child, which has no such threads, it does nothing.
  ~WorkerPool();

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Thread-safe. `work` must not throw.
  void Submit(Work work);

  // Drops waiting work. Thread-safe.
  void DropWaiting();

  // Ends all waits by AnswerForPool, now and later, with kCancelled.
  void EndWaits();

  // Drops waiting work and starts no more. Returns whether running work has ended in that time.
  bool Finish(absl::Duration patience);

  const WorkOrigin& origin() const { return state_->origin; }

 private:
  friend class AnswerForPool;
  struct State : std::enable_shared_from_this<State> {
    // The pool that the calling thread belongs to.
    static std::weak_ptr<State>& OfThread();
    void Run();
    // Returns once every thread has finished its work or waits for the loop.
    void AwaitQuiet(std::unique_lock<std::mutex>& lock);

    const WorkOrigin origin = std::make_shared<std::atomic<bool>>(false);
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Work> waiting;  // guarded by mutex, like the members below
    bool stopping = false;
    std::size_t running = 0;
    std::vector<std::thread> threads;

    bool in_step = false;
    std::size_t blocked = 0;  // running work that waits for the loop's thread
    bool waits_end = false;
    std::condition_variable quiet;     // a thread has ended its work or is blocked
    std::condition_variable answered;  // an answer has arrived, or waits end
  };

  WorkerPool() = default;

  const OwnProcess process_{};
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

// An answer of the loop's thread that a thread of a pool in step waits for. Thread-safe.
class AnswerForPool {
 public:
  // Returns null if the calling thread does not belong to a pool that is in step.
  static std::shared_ptr<AnswerForPool> Make();

  void Set(absl::Status answer);
  // Called once, by the thread that made it.
  absl::Status Wait();

 private:
  explicit AnswerForPool(std::shared_ptr<WorkerPool::State> pool) : pool_(std::move(pool)) {}

  const std::shared_ptr<WorkerPool::State> pool_;
  std::optional<absl::Status> answer_;  // guarded by the pool's mutex, like the member below
  bool waiting_ = false;
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
