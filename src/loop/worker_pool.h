#ifndef RETRYQ_SRC_LOOP_WORKER_POOL_H_
#define RETRYQ_SRC_LOOP_WORKER_POOL_H_

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"

namespace retryq {

// Threads for work that blocks. Work starts in the order it was submitted. The queue has no bound
// of its own: prefetch bounds it.
class WorkerPool {
 public:
  using Work = absl::AnyInvocable<void() &&>;

  // With so many threads, one or more. kResourceExhausted where the operating system refuses one of
  // them; then none is left.
  static absl::StatusOr<std::unique_ptr<WorkerPool>> Create(int threads);

  // Waits for what runs and drops what waits, unrun. Not on one of its own threads.
  ~WorkerPool();

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Thread-safe. `work` must not throw.
  void Submit(Work work);

  // Drops what waits, unrun. Thread-safe.
  void DropWaiting();

 private:
  WorkerPool() = default;
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;  // guarded by mutex_
  bool stopping_ = false;     // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_LOOP_WORKER_POOL_H_
