#ifndef RETRYQ_BREAKER_H_
#define RETRYQ_BREAKER_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/duration.h"
#include "retryq/export.h"

namespace retryq {

// Sets when a consumer stops calling a handler that fails for most messages because the service
// that the handler calls is down: see ConsumerOptions::breaker.
struct BreakerOptions {
  // Number of most recent calls that are considered. 1 to 10 000.
  int calls = 20;

  // The breaker opens when at least this fraction of them has failed. Above 0, up to 1.
  double ratio = 0.5;

  // How long each pause of consuming lasts. 1 s to 1 day.
  Duration pause = absl::Seconds(30);

  // Number of successful calls in a row that close the breaker. After the pause, messages are tried
  // one at a time. 1 to 1 000.
  int probes = 3;
};

// kInvalidArgument names every invalid field, as "breaker.calls".
RETRYQ_EXPORT absl::Status Validate(const BreakerOptions& options);

// The result of a handler call, which shows whether the service that the handler calls works.
enum class CallResult {
  kSucceeded,
  kFailed,   // with an error that is retried, even if a limit ends the retries
  kNeither,  // parked, discarded, snoozed or requeued: the call does not count
};

// Decides when consuming stops, when single messages are tried, and when consuming resumes. It has
// no clock and no consumer: the caller passes the times, as durations since any fixed moment of one
// clock.
//
//   kClosed  ── at least `ratio` of the last `calls` calls have failed ──▶ kOpen
//   kOpen    ── TryAgain, after `pause` ──────────────────────────────────▶ kProbing
//   kProbing ── a call fails ─────────────────────────────────────────────▶ kOpen
//            ── `probes` calls in a row have succeeded ───────────────────▶ kClosed
//
// Uses one bit of memory per call in its window. Not thread-safe.
class RETRYQ_EXPORT Breaker {
 public:
  enum class State {
    kClosed,   // messages are handled normally
    kProbing,  // one message is tried at a time
    kOpen,     // no message is tried
  };

  // `options` must be valid.
  explicit Breaker(const BreakerOptions& options);

  State state() const { return state_; }
  const BreakerOptions& options() const { return options_; }

  // Reports the end of a call that began after the breaker last opened. Returns whether the state
  // has changed. A call that ends while the breaker is open is ignored.
  bool OnCall(CallResult result, absl::Duration now);

  // The rest of the pause; zero in other states than kOpen.
  absl::Duration PauseLeft(absl::Duration now) const;

  // Changes kOpen to kProbing if the pause is over. Returns whether it did.
  bool TryAgain(absl::Duration now);

 private:
  void Open(absl::Duration now);
  void Count(bool failed);

  const BreakerOptions options_;
  State state_ = State::kClosed;
  std::vector<bool> failed_;  // the last calls, in a ring
  std::size_t next_ = 0;      // index of the next call in the ring
  std::size_t counted_ = 0;   // number of calls in the ring
  std::size_t failures_ = 0;  // number of failed calls in the ring
  int successes_ = 0;         // kProbing: successful calls in a row
  absl::Duration open_until_ = absl::ZeroDuration();
};

// "closed", "probing" or "open". Static storage.
RETRYQ_EXPORT std::string_view NameOf(Breaker::State state);

}  // namespace retryq

#endif  // RETRYQ_BREAKER_H_
