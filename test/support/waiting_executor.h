#ifndef RETRYQ_TEST_SUPPORT_WAITING_EXECUTOR_H_
#define RETRYQ_TEST_SUPPORT_WAITING_EXECUTOR_H_

#include <mutex>

#include "retryq/broker/executor.h"
#include "support/test.h"

namespace retryq::testing {

// Keeps work, posted by any thread, until the test runs or drops it.
class WaitingExecutor final : public Executor {
 public:
  void Post(Work work) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    works_.push_back(std::move(work));
  }

  // Runs the oldest piece of work, if there is any.
  void RunOne() {
    if (works_.empty()) return;
    Work work = std::move(works_.front());
    works_.pop_front();
    std::move(work)();
  }
  void RunAll() {
    for (std::size_t left = size(); left > 0; --left) RunOne();
  }
  // As a loop does that is destroyed.
  void Drop() { works_.clear(); }
  std::size_t size() const { return works_.size(); }

 private:
  std::mutex mutex_;
  std::deque<Work> works_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_WAITING_EXECUTOR_H_
