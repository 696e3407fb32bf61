#include "retryq/testing/simulated_time.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "loop/runner_thread.h"

namespace retryq::testing {

// Shared with timers and with threads that post, which may outlive the SimulatedTime.
class SimulatedTime::Loop final : public Executor,
                                  public InStep,
                                  public std::enable_shared_from_this<Loop> {
 public:
  // May be called on any thread.
  absl::Duration now() const {
    const std::lock_guard lock(now_mutex_);
    return now_;
  }
  std::size_t pending() const { return pending_.size(); }

  std::unique_ptr<Timer> Set(absl::Duration delay, Timers::Callback callback) {
    const Due due{now() + std::max(delay, absl::ZeroDuration()), ++timers_set_};
    pending_.emplace(due, std::move(callback));
    return std::make_unique<Cancelling>(weak_from_this(), due);
  }

  Thread thread() const override { return runner_.thread(); }

  void Post(Work work) override {
    const std::lock_guard lock(mutex_);
    if (!closed_) posted_.push_back(std::move(work));
  }

  void RunPosted() {
    const RunnerThread::Run here(runner_);
    while (Work work = TakePosted()) std::move(work)();
  }

  // Returns the time of the next timer; infinite if there is none.
  absl::Duration next_due() const {
    return pending_.empty() ? absl::InfiniteDuration() : pending_.begin()->first.first;
  }

  void RunUntil(absl::Duration end) {
    const RunnerThread::Run here(runner_);
    RunPosted();
    while (next_due() <= end) {
      SetNow(next_due());
      Timers::Callback callback = std::move(pending_.begin()->second);
      pending_.erase(pending_.begin());
      std::move(callback)();
      RunPosted();
    }
    SetNow(std::max(now(), end));
  }

  void Close() {
    std::deque<Work> posted;
    std::map<Due, Timers::Callback> pending;
    pending.swap(pending_);
    const std::lock_guard lock(mutex_);
    closed_ = true;
    posted.swap(posted_);
  }

 private:
  using Due = std::pair<absl::Duration, std::uint64_t>;

  class Cancelling final : public Timer {
   public:
    Cancelling(std::weak_ptr<Loop> loop, Due due) : loop_(std::move(loop)), due_(std::move(due)) {}
    ~Cancelling() override {
      const std::shared_ptr<Loop> loop = loop_.lock();
      if (loop == nullptr) return;
      // The callback is destroyed after the timer has been removed from the map.
      const auto callback = loop->pending_.extract(due_);
    }

   private:
    const std::weak_ptr<Loop> loop_;
    const Due due_;
  };

  void SetNow(absl::Duration now) {
    const std::lock_guard lock(now_mutex_);
    now_ = now;
  }

  Work TakePosted() {
    const std::lock_guard lock(mutex_);
    if (posted_.empty()) return nullptr;
    Work work = std::move(posted_.front());
    posted_.pop_front();
    return work;
  }

  mutable std::mutex now_mutex_;
  absl::Duration now_ = absl::Hours(1);  // guarded by now_mutex_
  std::uint64_t timers_set_ = 0;
  std::map<Due, Timers::Callback> pending_;
  RunnerThread runner_;

  std::mutex mutex_;
  bool closed_ = false;      // guarded by mutex_
  std::deque<Work> posted_;  // guarded by mutex_
};

SimulatedTime::SimulatedTime()
    : loop_(std::make_shared<Loop>()),
      wall_clock_at_boot_(absl::FromCivil(absl::CivilSecond(2026), absl::UTCTimeZone()) -
                          loop_->now()) {}
SimulatedTime::~SimulatedTime() { loop_->Close(); }

absl::Time SimulatedTime::Now() const { return wall_clock_at_boot_ + loop_->now(); }
absl::Duration SimulatedTime::SinceBoot() const { return loop_->now(); }

std::unique_ptr<Timer> SimulatedTime::After(Duration delay, Callback callback) {
  return loop_->Set(delay, std::move(callback));
}

std::shared_ptr<Executor> SimulatedTime::executor() const { return loop_; }

void SimulatedTime::Advance(Duration by) { loop_->RunUntil(loop_->now() + by); }

bool SimulatedTime::AdvanceToNextTimer() {
  loop_->RunPosted();
  if (loop_->pending() == 0) return false;
  loop_->RunUntil(loop_->next_due());
  return true;
}

void SimulatedTime::StepWallClock(Duration by) { wall_clock_at_boot_ += by; }

std::size_t SimulatedTime::pending_timers() const { return loop_->pending(); }

Environment EnvironmentOf(SimulatedTime& time, Random& random, Observer* observer) {
  return {.clock = &time,
          .timers = &time,
          .random = &random,
          .executor = time.executor(),
          .observer = observer};
}

}  // namespace retryq::testing
