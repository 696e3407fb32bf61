#ifndef RETRYQ_EXECUTOR_H_
#define RETRYQ_EXECUTOR_H_

#include <functional>

#include "retryq/export.h"

namespace retryq {

// Runs work elsewhere: on the loop's thread (`EventLoop::executor`), or on threads of a pool. Held
// by shared_ptr, so that a handler that finishes after the loop is gone meets a closed door instead
// of freed memory.
class RETRYQ_EXPORT Executor {
 public:
  virtual ~Executor() = default;

  // Thread-safe, never blocks for long, never runs `work` before it returns.
  // Work begins in the order it was posted by one thread. Once the loop or the
  // pool is destroyed the work is destroyed unrun.
  virtual void Post(std::function<void()> work) = 0;
};

}  // namespace retryq

#endif  // RETRYQ_EXECUTOR_H_
