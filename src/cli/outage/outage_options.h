#ifndef RETRYQ_CLI_OUTAGE_OUTAGE_OPTIONS_H_
#define RETRYQ_CLI_OUTAGE_OUTAGE_OPTIONS_H_

#include <cstdint>
#include <limits>
#include <optional>

#include "absl/time/time.h"
#include "retryq/breaker.h"

namespace retryq::cli {

// An outage of a downstream, the service that the handlers of messages call, and the traffic that
// it meets.
struct OutageOptions {
  // For how long every call fails, and when that begins. Not set: after a tenth of
  // the outage, in whole seconds.
  absl::Duration outage = absl::ZeroDuration();
  std::optional<absl::Duration> start;

  // Messages a second that arrive all the time: evenly, or independently of each other (a Poisson
  // process).
  double rate = 0;
  bool poisson = false;

  // Messages that arrive beside them, all at once as the outage begins.
  std::uint64_t burst = 0;

  // Calls a second that the downstream takes, of which it has up to a second's worth in hand (at
  // least one call). What comes beyond that fails at once.
  double capacity = std::numeric_limits<double>::infinity();

  // The part of the calls it takes that fails anyway, from 0 to below 1.
  double error_rate = 0;

  // The consumer's circuit breaker, if it has one.
  std::optional<BreakerOptions> breaker;

  // With a breaker: calls a second that the workers make at most, so that what has piled up while
  // it was open takes its time. Not set: twice the rate, at least 100.
  std::optional<double> speed;

  // How long the simulation goes on, not less than until the outage ends. Not set: somewhat beyond
  // the recovery, which it waits for as long as ten outages and two of the policy's longest delays
  // take, and a minute.
  std::optional<absl::Duration> duration;

  // One seed is one history.
  std::uint64_t seed = 1;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_OUTAGE_OUTAGE_OPTIONS_H_
