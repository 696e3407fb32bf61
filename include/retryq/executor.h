#ifndef RETRYQ_EXECUTOR_H_
#define RETRYQ_EXECUTOR_H_

#include <functional>

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
  virtual void Post(std::function<void()> work) = 0;
};

}  // namespace retryq

#endif  // RETRYQ_EXECUTOR_H_
