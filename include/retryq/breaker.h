#ifndef RETRYQ_BREAKER_H_
#define RETRYQ_BREAKER_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/export.h"

namespace retryq {

// When a consumer stops calling a handler that fails for most messages, as the service that it
// calls is down: see ConsumerOptions::breaker.
struct BreakerOptions {
  // How many of the last calls are looked at. 1 to 10 000.
  int calls = 20;

  // The breaker opens when at least this part of them has failed. Above 0, up to 1.
  double ratio = 0.5;

  // How long consuming then pauses, each time. 1 s to 1 day.
  absl::Duration pause = absl::Seconds(30);

  // After the pause messages are tried one at a time. So many successes in a row close the breaker.
  // 1 to 1 000.
  int probes = 3;
};

// kInvalidArgument names every wrong field, as "breaker.calls".
RETRYQ_EXPORT absl::Status Validate(const BreakerOptions& options);

// What one call of a handler says about what the handler depends on.
enum class CallResult {
  kSucceeded,
  kFailed,   // with an error that is retried, also where a limit ends the retries
  kNeither,  // parked, discarded, snoozed or given back: it is not counted
};

// Decides when to stop, to try and to go on. Knows no clock and no consumer: times are those of one
// clock, since any moment.
//
//   kClosed  ── at least `ratio` of the last `calls` calls have failed ──▶ kOpen
//   kOpen    ── TryAgain, after `pause` ──────────────────────────────────▶ kProbing
//   kProbing ── a call fails ─────────────────────────────────────────────▶ kOpen
//            ── `probes` calls in a row have succeeded ───────────────────▶ kClosed
//
// Its memory is a bit per call that it looks at. One thread.
class RETRYQ_EXPORT Breaker {
 public:
  enum class State {
    kClosed,   // all is well
    kProbing,  // one message is tried at a time
    kOpen,     // nothing is tried
  };

  // Valid options only.
  explicit Breaker(const BreakerOptions& options);

  State state() const { return state_; }
  const BreakerOptions& options() const { return options_; }

  // A call has ended that began since the breaker opened last. Returns whether the state has
  // changed. A call that ends while the breaker is open is ignored.
  bool OnCall(CallResult result, absl::Duration now);

  // What is left of the pause; zero in other states than kOpen.
  absl::Duration PauseLeft(absl::Duration now) const;

  // kOpen becomes kProbing if the pause is over. Returns whether it did.
  bool TryAgain(absl::Duration now);

 private:
  void Open(absl::Duration now);
  void Count(bool failed);

  const BreakerOptions options_;
  State state_ = State::kClosed;
  std::vector<bool> failed_;  // the last calls, in a ring
  std::size_t next_ = 0;      // place in it
  std::size_t counted_ = 0;   // calls in it
  std::size_t failures_ = 0;  // of those
  int successes_ = 0;         // kProbing: in a row
  absl::Duration open_until_ = absl::ZeroDuration();
};

// "closed", "probing" or "open". Static storage.
RETRYQ_EXPORT std::string_view NameOf(Breaker::State state);

}  // namespace retryq

#endif  // RETRYQ_BREAKER_H_
