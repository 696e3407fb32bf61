#ifndef RETRYQ_EXAMPLES_ASYNC_HANDLERS_THREAD_POOL_H_
#define RETRYQ_EXAMPLES_ASYNC_HANDLERS_THREAD_POOL_H_

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"

namespace examples {

// Threads that run what they are given, in order of arrival. Stands for the one that your program
// has already.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  // Waits for what runs, and drops what has not begun.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Thread-safe. Takes as much as it is given: the caller bounds that.
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
