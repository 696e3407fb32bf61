#ifndef RETRYQ_TEST_SUPPORT_MANUAL_TIME_H_
#define RETRYQ_TEST_SUPPORT_MANUAL_TIME_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "retryq/clock.h"
#include "retryq/executor.h"
#include "retryq/observer.h"
#include "retryq/random.h"
#include "retryq/retrier.h"
#include "retryq/timers.h"

namespace retryq {

// Time that passes when the test says so: clocks, timers and the loop's
// executor in one. Nothing runs but inside `Advance`, `AdvanceToNextTimer` and
// `RunReady`, on the caller's thread.
//
//   ManualTime time;
//   SeededRandom random;
//   DelayQueues queues(broker, EnvironmentOf(time, random, &observer), {});
//   time.Advance(absl::Seconds(30));  // everything due in these 30 s runs, each at its time
class ManualTime final : public Clock, public Timers {
 public:
  ManualTime();
  ManualTime(const ManualTime&) = delete;
  ManualTime& operator=(const ManualTime&) = delete;
  // Timers that are pending never fire; posted work is destroyed unrun.
  ~ManualTime() override;

  // Begins at 2026-01-01 00:00 UTC.
  absl::Time Now() const override;
  // Begins at one hour.
  absl::Duration SinceBoot() const override;

  [[nodiscard]] std::unique_ptr<Timer> After(absl::Duration delay,
                                             std::function<void()> callback) override;

  // Posting is thread-safe and possible after this object is gone.
  std::shared_ptr<Executor> executor() const;

  // Lets this much time pass. Timers fire in the order in which they are due (equal ones in
  // the order in which they were set), with both clocks at that instant; posted work runs
  // before the next timer.
  void Advance(absl::Duration by);

  // Lets time pass until the next timer is due, and fires what is due then. False, after
  // running posted work, if there is none.
  bool AdvanceToNextTimer();

  // Runs what is posted and what is due, without time passing.
  void RunReady() { Advance(absl::ZeroDuration()); }

  // Steps the wall clock alone, either way.
  void StepWallClock(absl::Duration by);

  // Timers that are set and have not fired.
  std::size_t pending_timers() const;

 private:
  class Loop;
  const std::shared_ptr<Loop> loop_;
  absl::Time wall_clock_at_boot_;
};

// What retrying takes from its surroundings, out of simulated parts.
Environment EnvironmentOf(ManualTime& time, Random& random, Observer* observer = nullptr);

}  // namespace retryq

#endif  // RETRYQ_TEST_SUPPORT_MANUAL_TIME_H_
