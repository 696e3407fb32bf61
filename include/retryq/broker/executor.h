#ifndef RETRYQ_BROKER_EXECUTOR_H_
#define RETRYQ_BROKER_EXECUTOR_H_

#include "absl/functional/any_invocable.h"
#include "retryq/export.h"

namespace retryq {

// Runs work on another thread: the loop's (`EventLoop::executor`), or those of a pool. Held by
// shared_ptr, so that a handler that finishes after the loop is gone can still call `Post`.
class RETRYQ_EXPORT Executor {
 public:
  virtual ~Executor() = default;

  // Thread-safe, never blocks for long, never runs `work` before it returns. Work that one thread
  // posts begins in the order of posting. Once the loop or the pool is destroyed, work is destroyed
  // without being run.
  using Work = absl::AnyInvocable<void() &&>;
  virtual void Post(Work work) = 0;

  // The thread that runs the work. The library uses it to detect calls on a wrong thread.
  enum class Thread {
    kUnknown,  // no thread is known to run work now
    kThis,     // the calling thread runs the work now
    kOther,    // another thread runs the work now
    kLast,     // no thread is known to run work now; the calling thread was the last one
  };
  // Thread-safe. An executor of your own need not override it.
  virtual Thread thread() const { return Thread::kUnknown; }
};

}  // namespace retryq

#endif  // RETRYQ_BROKER_EXECUTOR_H_
