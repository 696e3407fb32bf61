#ifndef RETRYQ_EXAMPLES_ASYNC_HANDLERS_THREAD_POOL_H_
#define RETRYQ_EXAMPLES_ASYNC_HANDLERS_THREAD_POOL_H_

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"

namespace examples {

// Runs functions on its threads, in the order of the calls. Replace it by the pool of your program.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  // Waits for running functions, and drops functions that have not started.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Thread-safe. The number of waiting functions is unlimited: the caller must limit it.
  void Run(absl::AnyInvocable<void()> work);

 private:
  void RunThread();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::deque<absl::AnyInvocable<void()>> waiting_;
  std::vector<std::thread> threads_;
};

}  // namespace examples

#endif  // RETRYQ_EXAMPLES_ASYNC_HANDLERS_THREAD_POOL_H_
