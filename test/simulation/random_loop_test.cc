// A caller that makes any call of an event loop, which owns or borrows its base, in real time:
// timers, stops, drains, failures and work posted by other threads, from inside any callback.
//
//   RETRYQ_CALLERS=N   3 times as many as programs; 300 by default
//   RETRYQ_SEED=N      that one alone, as far as threads do the same again

#include <event2/event.h>

#include <atomic>
#include <ctime>
#include <list>
#include <thread>

#include "retryq/event_loop.h"
#include "retryq/testing/seeded_random.h"
#include "simulation/odd_values.h"
#include "simulation/seeds.h"
#include "support/test.h"

namespace retryq::simulation::random_loop_test {

using testing::SeededRandom;

constexpr int kRounds = 12;
constexpr int kDeepest = 3;
constexpr std::size_t kMostTimers = 20;
constexpr std::size_t kMostDrains = 8;
// The timer that stops a round.
constexpr absl::Duration kLongestRound = absl::Milliseconds(3);
constexpr absl::Duration kCalm = absl::Milliseconds(40);
constexpr absl::Duration kFarTooLong = absl::Seconds(60);

class RandomLoop {
 public:
  explicit RandomLoop(std::uint64_t seed)
      : random_(seed), base_(random_.OneIn(2) ? event_base_new() : nullptr) {
    base_ == nullptr ? (void)loop_.emplace() : Borrow();
  }
  ~RandomLoop() {
    if (base_ != nullptr) event_base_free(base_);
  }
  RandomLoop(const RandomLoop&) = delete;
  RandomLoop& operator=(const RandomLoop&) = delete;

  // Returns how often it was called back.
  int Run() {
    for (int round = 0; round < kRounds && !::testing::Test::HasFailure(); ++round) RunOnce();
    End();
    return calls_;
  }

 private:
  struct Waiting {
    std::unique_ptr<Timer> timer;
    bool fired = false;
  };
  struct Draining {
    std::shared_ptr<void> handle;
    int begun = 0;
  };

  // Elements that are emplaced need not be movable.
  struct Borrowed {
    explicit Borrowed(event_base* base) : loop(EventLoop::Borrow(base)) {}
    EventLoop loop;
  };
  void Borrow() { borrowed_.emplace(base_); }
  EventLoop& loop() { return borrowed_ ? borrowed_->loop : *loop_; }

  void RunOnce() {
    // The owner of a borrowed base may run that, and the loop in another round.
    const bool by_owner = borrowed_ && random_.OneIn(2);
    const absl::Duration begun = loop().clock().SinceBoot();
    for (std::uint64_t left = random_.Below(6); left > 0; --left) Act();
    std::thread other;
    if (random_.OneIn(2)) other = std::thread([this, to = loop().executor()] { PostAll(*to); });
    const std::unique_ptr<Timer> stop = loop().After(kLongestRound, [this] {
      event_base_loopbreak(loop().base());
      loop().Stop();
    });
    running_ = !by_owner;
    if (by_owner) {
      event_base_dispatch(base_);
    } else {
      const absl::Status ended =
          random_.OneIn(2) ? loop().RunUntilSignal(OddDuration(random_)) : loop().Run();
      EXPECT_EQ(ended, std::exchange(failure_, absl::OkStatus()));
    }
    running_ = false;
    if (other.joinable()) other.join();
    EXPECT_LT(loop().clock().SinceBoot() - begun, kFarTooLong);
  }

  // All posted work runs, unless the loop is destroyed first.
  void End() {
    ending_ = true;
    timers_.clear();
    drains_.clear();
    for (int turns = 0; turns < 10; ++turns) {
      const std::unique_ptr<Timer> stop =
          loop().After(absl::ZeroDuration(), [this] { loop().Stop(); });
      (void)loop().Run();  // whose failure is an earlier round's
    }
    ExpectCalm();
    EXPECT_EQ(ran_, posted_) << "work was posted that did not run";
    const std::shared_ptr<Executor> executor = loop().executor();
    // Some are destroyed with the loop.
    auto handle = loop().OnDrain([](const EventLoop::DrainDone&) {});
    auto pending = std::make_shared<int>(0);
    executor->Post([pending] { ++*pending; });
    borrowed_.reset();
    loop_.reset();
    executor->Post([pending] { ++*pending; });
    for (const EventLoop::DrainDone& done : done_) done();
    handle.reset();
    EXPECT_EQ(*pending, 0) << "work ran after its loop had gone";
    EXPECT_EQ(pending.use_count(), 1) << "work that cannot run any more is kept";
  }

  // Timers that are never due use no CPU time.
  void ExpectCalm() {
    if (!random_.OneIn(10)) return;
    const std::unique_ptr<Timer> never =
        loop().After(absl::InfiniteDuration(), [] { FAIL() << "infinity is over"; });
    const std::unique_ptr<Timer> stop = loop().After(kCalm, [this] { loop().Stop(); });
    const std::clock_t begun = std::clock();
    EXPECT_EQ(loop().Run(), absl::OkStatus());
    const double seconds = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
    EXPECT_LT(seconds, absl::ToDoubleSeconds(kCalm) / 2) << "waiting for ever is not idle";
  }

  void PostAll(Executor& to) {
    for (int left = 20; left > 0; --left) Post(to);
  }
  void Post(Executor& to) {
    ++posted_;
    to.Post([this] {
      ++ran_;
      Called();
    });
  }

  void Called() {
    EXPECT_FALSE(amid_call_) << "called back from inside a call";
    ++calls_;
    if (ending_ || depth_ >= kDeepest || !random_.OneIn(3)) return;
    ++depth_;
    Act();
    --depth_;
  }

  void Act() {
    switch (random_.Below(12)) {
      case 0:
      case 1:
      case 2:
        return SetTimer();
      case 3:
        if (!timers_.empty()) timers_.erase(AnyTimer());
        return;
      case 4:
        return AddDrain();
      case 5:
        if (!drains_.empty()) drains_.erase(drains_.begin());
        return;
      case 6:
        if (!done_.empty()) done_[random_.Below(done_.size())]();  // twice, perhaps
        return;
      case 7:
        return Post(*loop().executor());
      case 8:
        return random_.OneIn(4) ? loop().Stop() : loop().Drain();
      case 9:
        if (random_.OneIn(4)) Fail();
        return;
      case 10:
        if (!running_) return;
        EXPECT_EQ(loop().Run().code(), absl::StatusCode::kFailedPrecondition);
        return;
      default:
        return (void)loop().executor();
    }
  }

  void Fail() {
    const absl::Status error = OneOf<absl::Status>(
        random_, {absl::NotFoundError("none"), absl::InternalError(OddText(random_))});
    if (failure_.ok()) failure_ = error;
    loop().Fail(error);
  }

  std::list<std::shared_ptr<Waiting>>::iterator AnyTimer() {
    return std::next(timers_.begin(), static_cast<std::ptrdiff_t>(random_.Below(timers_.size())));
  }

  void SetTimer() {
    if (timers_.size() >= kMostTimers) timers_.erase(AnyTimer());
    const absl::Duration delay =
        random_.OneIn(2) ? OddDuration(random_) : absl::Microseconds(random_.Below(2000));
    const absl::Duration due = loop().clock().SinceBoot() + std::max(delay, absl::ZeroDuration());
    auto waiting = std::make_shared<Waiting>();
    const bool goes_itself = random_.OneIn(3);
    amid_call_ = true;
    waiting->timer = loop().After(delay, [this, due, goes_itself, weak = std::weak_ptr(waiting)] {
      const auto self = weak.lock();
      ASSERT_NE(self, nullptr) << "a timer fired that is gone";
      EXPECT_FALSE(std::exchange(self->fired, true)) << "a timer fired twice";
      EXPECT_GE(loop().clock().SinceBoot(), due) << "a timer fired early";
      if (goes_itself) std::erase(timers_, self);
      if (goes_itself) self->timer.reset();
      Called();
    });
    amid_call_ = false;
    timers_.push_back(std::move(waiting));
  }

  void AddDrain() {
    if (drains_.size() >= kMostDrains) return;
    auto draining = std::make_shared<Draining>();
    draining->handle =
        loop().OnDrain([this, weak = std::weak_ptr(draining)](EventLoop::DrainDone done) {
          // If the drain begins at once, there is no handle yet.
          if (const auto self = weak.lock()) {
            EXPECT_EQ(++self->begun, 1) << "a drain began twice";
          }
          if (random_.OneIn(2)) done();
          if (random_.OneIn(2)) done_.push_back(std::move(done));
          if (done_.size() > kMostDrains) done_.erase(done_.begin());
          if (random_.OneIn(3)) {
            std::erase_if(drains_, [&](const auto& one) { return one == weak.lock(); });
          }
          ++depth_;
          if (depth_ < kDeepest && !ending_) Act();
          --depth_;
        });
    drains_.push_back(std::move(draining));
  }

  SeededRandom random_;
  event_base* const base_;  // where it is borrowed
  std::optional<EventLoop> loop_;
  std::optional<Borrowed> borrowed_;
  std::list<std::shared_ptr<Waiting>> timers_;
  std::vector<std::shared_ptr<Draining>> drains_;
  std::vector<EventLoop::DrainDone> done_;
  absl::Status failure_;  // that the run must end with
  std::atomic<int> posted_ = 0;
  int ran_ = 0;
  int calls_ = 0;
  int depth_ = 0;
  bool amid_call_ = false;
  bool running_ = false;
  bool ending_ = false;
};

TEST(RandomLoop, MayCallAnythingAtAnyTime) {
  int calls = 0;
  ForEachSeed(std::max<std::uint64_t>(NumberFrom("RETRYQ_CALLERS", 300) / 3, 1),
              [&calls](std::uint64_t seed) { calls += RandomLoop(seed).Run(); });
  EXPECT_GT(calls, 0);
}

}  // namespace retryq::simulation::random_loop_test
