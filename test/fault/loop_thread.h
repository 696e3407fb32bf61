#ifndef RETRYQ_TEST_FAULT_LOOP_THREAD_H_
#define RETRYQ_TEST_FAULT_LOOP_THREAD_H_

#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "retryq/event_loop.h"

namespace retryq::fault {

// An event loop that runs on its own thread, so that traffic continues while another thread waits.
class LoopThread {
 public:
  LoopThread() {
    std::promise<std::shared_ptr<Executor>> ready;
    std::future<std::shared_ptr<Executor>> executor = ready.get_future();
    thread_ = std::thread([this, &ready] {
      EventLoop loop;
      loop_ = &loop;
      ready.set_value(loop.executor());
      loop.Run().IgnoreError();
    });
    executor_ = executor.get();
  }
  ~LoopThread() {
    executor_->Post([this] { loop_->Stop(); });
    thread_.join();
  }
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  // Calls `function(loop)` on the loop's thread and returns its result. Call it on another thread.
  // `function` must not throw.
  template <typename Function>
  auto Call(Function&& function) {
    // Shared, because the loop's thread may still use it when the result is already known here.
    const auto task = std::make_shared<std::packaged_task<decltype(function(*loop_))()>>(
        [&] { return std::forward<Function>(function)(*loop_); });
    auto result = task->get_future();
    executor_->Post([task] { (*task)(); });
    return result.get();
  }

 private:
  EventLoop* loop_ = nullptr;
  std::shared_ptr<Executor> executor_;
  std::thread thread_;
};

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_LOOP_THREAD_H_
