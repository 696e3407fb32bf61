#ifndef RETRYQ_SRC_RETRY_CLIENT_HELD_CLOCK_H_
#define RETRYQ_SRC_RETRY_CLIENT_HELD_CLOCK_H_

#include "absl/time/time.h"
#include "retryq/clock.h"

namespace retryq {

// Another clock, that can be held: what happens at one moment asks for the time from many places,
// and each look at a real clock keeps the processor from working ahead. On the loop's thread.
class HeldClock final : public Clock {
 public:
  // `clock` must outlive it.
  explicit HeldClock(const Clock& clock) : clock_(clock) {}

  absl::Time Now() const override { return held_ != nullptr ? held_->now : clock_.Now(); }
  absl::Duration SinceBoot() const override {
    return held_ != nullptr ? held_->since_boot : clock_.SinceBoot();
  }
  Moment Look() const override { return held_ != nullptr ? *held_ : clock_.Look(); }

  // While it lives, the time is that of its making, or the moment given. To be gone before anything
  // runs that may take its time, such as a handler. Several end in the reverse order; the clock
  // must outlive them.
  class Hold {
   public:
    explicit Hold(HeldClock& clock) : Hold(clock, clock.clock_.Look()) {}
    Hold(HeldClock& clock, const Moment& moment)
        : clock_(clock), outer_(clock.held_), moment_(moment) {
      clock_.held_ = &moment_;
    }
    ~Hold() { clock_.held_ = outer_; }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    HeldClock& clock_;
    const Moment* const outer_;
    const Moment moment_;
  };

 private:
  const Clock& clock_;
  const Moment* held_ = nullptr;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_CLIENT_HELD_CLOCK_H_
