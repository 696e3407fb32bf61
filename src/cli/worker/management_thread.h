#ifndef RETRYQ_CLI_WORKER_MANAGEMENT_THREAD_H_
#define RETRYQ_CLI_WORKER_MANAGEMENT_THREAD_H_

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/management/management_api.h"
#include "cli/management/management_url.h"
#include "loop/worker_pool.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

// Asks the management API on its own thread, so that a worker's loop never waits for it.
class ManagementThread {
 public:
  ManagementThread(EventLoop& loop, const ManagementUrl& url)
      : loop_(loop),
        api_(asking_, url, {.timeout = kPatience, .say_waiting = false, .is_over = &stopping_}) {}
  // Interrupts the current request and waits for its thread.
  ~ManagementThread() {
    stopping_ = true;
    asking_.executor()->Post([this] { asking_.Stop(); });
  }
  ManagementThread(const ManagementThread&) = delete;
  ManagementThread& operator=(const ManagementThread&) = delete;

  // Runs `ask` on the thread, and then `done` with its result on the loop, unless this object is
  // destroyed first. If the thread cannot be started, `done` receives the error at once.
  template <typename Answer>
  void Ask(std::function<absl::StatusOr<Answer>(ManagementApi&)> ask,
           std::function<void(const absl::StatusOr<Answer>&)> done) {
    if (thread_ == nullptr) {
      absl::StatusOr<std::unique_ptr<WorkerPool>> thread = WorkerPool::Create(1);
      if (!thread.ok()) return done(thread.status());
      thread_ = *std::move(thread);
    }
    thread_->Submit([this, ask = std::move(ask), done = std::move(done), to = loop_.executor(),
                     alive = std::weak_ptr<bool>(alive_)] {
      to->Post([alive, done, answer = ask(api_)] {
        if (alive.lock() != nullptr) done(answer);
      });
    });
  }

 private:
  static constexpr absl::Duration kPatience = absl::Seconds(5);  // per request

  EventLoop& loop_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>();

  // Used by the thread.
  std::atomic<bool> stopping_ = false;
  EventLoop asking_;
  ManagementApi api_;
  std::unique_ptr<WorkerPool> thread_;  // null before the first request; destroyed first
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_MANAGEMENT_THREAD_H_
