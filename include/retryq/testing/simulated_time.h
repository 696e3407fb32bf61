#ifndef RETRYQ_TESTING_SIMULATED_TIME_H_
#define RETRYQ_TESTING_SIMULATED_TIME_H_

#include <cstddef>
#include <memory>

#include "absl/time/time.h"
#include "retryq/broker/clock.h"
#include "retryq/broker/executor.h"
#include "retryq/broker/random.h"
#include "retryq/broker/retrier.h"
#include "retryq/broker/timers.h"
#include "retryq/duration.h"
#include "retryq/observer.h"

namespace retryq::testing {

// Simulated time, which passes only when the test advances it: clocks, timers and the loop's
// executor in one. Nothing runs except inside `Advance`, `AdvanceToNextTimer` and `RunReady`: on
// the caller's thread, or on the threads of `handler_threads`. These functions wait until each of
// those threads has finished its work or waits in Publisher::PublishAndWait. Used on one thread,
// except for the executor.
//
//   SimulatedTime time;
//   SeededRandom random;
//   Client client(EnvironmentOf(time, random), broker, {}, fatal);
//   time.Advance(absl::Minutes(30));  // all that is due in this half hour runs, each at its time
class SimulatedTime final : public Clock, public Timers {
 public:
  SimulatedTime();
  SimulatedTime(const SimulatedTime&) = delete;
  SimulatedTime& operator=(const SimulatedTime&) = delete;
  // Pending timers never fire; posted work is destroyed without being run.
  ~SimulatedTime() override;

  // Begins at 2026-01-01 00:00 UTC.
  absl::Time Now() const override;
  // Begins at one hour.
  absl::Duration SinceBoot() const override;

  [[nodiscard]] std::unique_ptr<Timer> After(Duration delay, Callback callback) override;

  // `Post` is thread-safe and may be called after this object is gone.
  std::shared_ptr<Executor> executor() const;

  // Lets this much time pass. Timers fire in the order in which they are due (those due at the same
  // time, in the order in which they were set), with both clocks at that instant; posted work runs
  // before the next timer.
  void Advance(Duration by);

  // Advances the time until the next timer is due, and fires all timers that are due then. If there
  // is no timer, runs posted work and returns false.
  bool AdvanceToNextTimer();

  // Runs posted work and timers that are due, without time passing.
  void RunReady() { Advance(absl::ZeroDuration()); }

  // Steps only the wall clock, forward or back.
  void StepWallClock(Duration by);

  // Number of timers that are set and have not fired.
  std::size_t pending_timers() const;

 private:
  class Loop;
  const std::shared_ptr<Loop> loop_;
  absl::Time wall_clock_at_boot_;
};

// A clock that is wrong by `skew`: the wall clock of one of several machines.
class SkewedClock final : public Clock {
 public:
  // `clock` must outlive it.
  SkewedClock(const Clock& clock, absl::Duration skew) : clock_(clock), skew_(skew) {}

  absl::Time Now() const override { return clock_.Now() + skew_; }
  absl::Duration SinceBoot() const override { return clock_.SinceBoot(); }

 private:
  const Clock& clock_;
  const absl::Duration skew_;
};

// Makes an Environment of simulated parts. All of them must outlive every object that is made with
// it.
Environment EnvironmentOf(SimulatedTime& time, Random& random, Observer* observer = nullptr);

}  // namespace retryq::testing

#endif  // RETRYQ_TESTING_SIMULATED_TIME_H_
