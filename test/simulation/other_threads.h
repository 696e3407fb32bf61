#ifndef RETRYQ_TEST_SIMULATION_OTHER_THREADS_H_
#define RETRYQ_TEST_SIMULATION_OTHER_THREADS_H_

#include <condition_variable>
#include <mutex>
#include <thread>

#include "retryq/delivery.h"
#include "retryq/outcome.h"
#include "retryq/settlement.h"
#include "support/test.h"

namespace retryq::simulation {

// A thread that settles or drops the settlements that it receives. `Take` is called on other
// threads.
class SettlingThread {
 public:
  ~SettlingThread() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void Take(Settlement settlement) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      given_.push_back(std::move(settlement));
    }
    changed_.notify_all();
  }

 private:
  void Run() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (int round = 0;; ++round) {
      changed_.wait(lock, [this] { return ends_ || !given_.empty(); });
      if (given_.empty()) return;
      Settlement one = std::move(given_.front());
      given_.pop_front();
      lock.unlock();
      if (!one.abandoned() && round % 3 != 0) {
        std::move(one).Settle(round % 3 == 1 ? Outcome::Ok() : absl::UnavailableError("later"));
      }
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Settlement> given_;  // guarded by mutex_
  bool ends_ = false;             // guarded by mutex_
  std::thread thread_{[this] { Run(); }};
};

}  // namespace retryq::simulation

#endif  // RETRYQ_TEST_SIMULATION_OTHER_THREADS_H_
