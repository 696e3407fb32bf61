#ifndef RETRYQ_SRC_RETRY_WORKER_POOL_H_
#define RETRYQ_SRC_RETRY_WORKER_POOL_H_

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"

namespace retryq {

// Threads for handlers that block. Work starts in the order it was submitted. The queue has no
// bound of its own: prefetch bounds it.
class WorkerPool {
 public:
  using Work = absl::AnyInvocable<void() &&>;

  // At least one thread.
  explicit WorkerPool(int threads);

  // Waits for what runs and drops what waits, unrun. Not on one of its own threads.
  ~WorkerPool();

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Thread-safe. `work` must not throw.
  void Submit(Work work);

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;  // guarded by mutex_
  bool stopping_ = false;     // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_WORKER_POOL_H_
