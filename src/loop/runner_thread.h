#ifndef RETRYQ_SRC_LOOP_RUNNER_THREAD_H_
#define RETRYQ_SRC_LOOP_RUNNER_THREAD_H_

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "retryq/broker/executor.h"

namespace retryq {

// The thread that runs the work of an executor: see Executor::thread. Thread-safe.
class RunnerThread {
 public:
  // Exists on the stack while the calling thread runs work. May be nested.
  class Run {
   public:
    explicit Run(RunnerThread& runner)
        : runner_(runner), outer_(runner.now_.exchange(std::this_thread::get_id())) {
      runner.last_ = std::this_thread::get_id();
    }
    ~Run() { runner_.now_ = outer_; }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    RunnerThread& runner_;
    const std::thread::id outer_;
  };

  // A thread finds its own id here only if it has written it itself, so no order is needed.
  Executor::Thread thread() const {
    const std::thread::id self = std::this_thread::get_id();
    const std::thread::id now = now_.load(std::memory_order_relaxed);
    if (now == self) return Executor::Thread::kThis;
    if (now != std::thread::id()) return Executor::Thread::kOther;
    return last_.load(std::memory_order_relaxed) == self ? Executor::Thread::kLast
                                                         : Executor::Thread::kUnknown;
  }

 private:
  std::atomic<std::thread::id> now_ = std::thread::id();
  std::atomic<std::thread::id> last_ = std::thread::id();
};

// An executor in simulated time, which runs in step with the threads of handlers: see
// WorkerPool::Create.
class InStep {
 public:
  virtual ~InStep() = default;
};

// Ends the process if another thread runs the work of `executor` now: the call would corrupt
// memory.
inline void CheckThread(const Executor& executor, const char* function) {
  if (executor.thread() != Executor::Thread::kOther) return;
  std::fprintf(
      stderr,
      "retryq: %s was called on another thread than the one that runs the event loop; "
      "remedy: publish by Client::publisher(), or call it in EventLoop::executor()->Post\n",
      function);
  std::abort();
}

}  // namespace retryq

#endif  // RETRYQ_SRC_LOOP_RUNNER_THREAD_H_
