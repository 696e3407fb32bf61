#ifndef RETRYQ_CLI_OUTAGE_OUTAGE_OPTIONS_H_
#define RETRYQ_CLI_OUTAGE_OUTAGE_OPTIONS_H_

#include <cstdint>
#include <limits>
#include <optional>

#include "absl/time/time.h"
#include "retryq/breaker.h"

namespace retryq::cli {

// An outage of a downstream service, which the handlers of messages call, and its traffic.
struct OutageOptions {
  // The time during which every call fails, and its start. Not set: after a tenth of the outage, in
  // whole seconds.
  absl::Duration outage = absl::ZeroDuration();
  std::optional<absl::Duration> start;

  // The rate of arriving messages per second: evenly, or independently of each other (a Poisson
  // process).
  double rate = 0;
  bool poisson = false;

  // Additional messages that arrive at once at the start of the outage.
  std::uint64_t burst = 0;

  // The calls per second that the downstream accepts, with a reserve of up to one second (at least
  // one call). Further calls fail at once.
  double capacity = std::numeric_limits<double>::infinity();

  // The part of accepted calls that fails anyway, from 0 to below 1.
  double error_rate = 0;

  // The consumer's circuit breaker, if it has one.
  std::optional<BreakerOptions> breaker;

  // With a breaker: the most calls per second by the workers, so that messages that waited while it
  // was open take time. Not set: twice the rate, at least 100.
  std::optional<double> speed;

  // The length of the simulation, at least until the end of the outage. Not set: until somewhat
  // after the recovery, for which it waits up to ten outages plus two of the policy's longest
  // delays plus a minute.
  std::optional<absl::Duration> duration;

  // Each seed produces one sequence of events.
  std::uint64_t seed = 1;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_OUTAGE_OUTAGE_OPTIONS_H_
