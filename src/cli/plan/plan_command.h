#ifndef RETRYQ_CLI_PLAN_PLAN_COMMAND_H_
#define RETRYQ_CLI_PLAN_PLAN_COMMAND_H_

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/flags/flag_parser.h"
#include "retryq/breaker.h"
#include "retryq/delay_queue_options.h"
#include "retryq/retry_options.h"

namespace retryq::cli {

// An outage of a downstream service, which the handlers of messages call, and its traffic.
struct OutageOptions {
  // The time during which every call fails. The outage begins after a tenth of this time, in whole
  // seconds.
  absl::Duration outage = absl::ZeroDuration();
  double rate = 0;          // messages that arrive evenly per second
  std::uint64_t burst = 0;  // additional messages that arrive at once at the start of the outage
  // The calls per second that the downstream accepts, with a reserve of up to one second (at least
  // one call). Further calls fail at once.
  double capacity = std::numeric_limits<double>::infinity();
  // With a breaker: the most calls per second by the workers, so that messages that waited while it
  // was open take time. Not set: twice the rate, at least 100.
  std::optional<double> speed;

  absl::Duration begin() const { return absl::Ceil(outage / 10, absl::Seconds(1)); }
  absl::Duration end() const { return begin() + outage; }
};

// Parses the value of --simulate: `outage=10m,rate=200/s,capacity=500/s`.
OutageOptions ReadSimulate(const std::string& text, FlagReader& reader);

// The result of a simulated outage. A call is an attempt of a message, which calls the downstream.
struct OutageReport {
  // A period of time. A peak is the highest number in one second.
  struct Sample {
    std::uint64_t calls = 0;
    std::uint64_t failures = 0;  // of these calls
    std::uint64_t most_calls = 0;
    std::uint64_t most_failures = 0;
    std::uint64_t waiting = 0;  // most messages that wait for their next attempt
    std::uint64_t parked = 0;   // from the start to its end
  };

  // The simulation ends somewhat after the recovery, for which it waits up to ten outages plus two
  // of the policy's longest delays plus a minute.
  absl::Duration end;
  absl::Duration interval;  // the length of a sample
  std::vector<Sample> samples;

  std::uint64_t arrived = 0;
  std::uint64_t handled = 0;
  std::uint64_t parked = 0;
  std::uint64_t waiting = 0;  // at the end
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;
  std::uint64_t most_calls_until_end = 0;  // of a second, until the outage ends
  std::uint64_t most_calls_after = 0;
  std::uint64_t waiting_at_outage_end = 0;
  std::uint64_t most_waiting = 0;
  std::uint64_t most_attempts = 0;  // of one message

  // The time from the end of the outage until all messages that failed because of it, or because of
  // the load after it, are handled or parked. Not set if some of them never were.
  std::optional<absl::Duration> recovery;

  // The time from the arrival of a message until it was handled.
  absl::Duration latency_p50;
  absl::Duration latency_p99;
  absl::Duration latency_max;
};

// The limits of a simulation, for memory and time.
struct SimulationLimits {
  std::uint64_t messages = 5'000'000;
  std::uint64_t calls = 100'000'000;
};

// Simulates an outage, event by event. Each message calls the downstream as it arrives; failed
// messages wait as NextRetry decides. Broker and workers keep up with any load; workers with a
// circuit breaker up to `speed`. The options must be valid. Returns kInvalidArgument, with the
// remedy, if the simulation becomes too large.
absl::StatusOr<OutageReport> SimulateOutage(
    const OutageOptions& outage, const RetryOptions& retry,
    const std::optional<BreakerOptions>& breaker = std::nullopt,
    const SimulationLimits& limits = {});

// A simulation in one line, and the figures of its results, one column each.
std::string OutageTitle(const OutageOptions& outage);
std::string OutageSummary(const OutageOptions& outage,
                          const std::vector<const OutageReport*>& reports);

// A simulated outage as text: the title, a table over time with bars of the calls, and the figures;
// also of the same outage `with` a breaker, if there is one.
std::string OutageText(const OutageOptions& outage, const OutageReport& report,
                       const std::optional<BreakerOptions>& breaker = std::nullopt,
                       const OutageReport* with = nullptr);

// As an SVG image: calls, waiting messages and parked messages over one axis of time.
std::string OutageSvg(const OutageOptions& outage, const OutageReport& report);

// All figures of a simulated outage. Missing values (a capacity, a recovery) are null.
nlohmann::ordered_json OutageJson(const OutageOptions& outage, const OutageReport& report,
                                  const std::optional<BreakerOptions>& breaker = std::nullopt);

// The marks of an axis of time from zero to `end`, which is above zero: at most `most`, at least
// two.
std::vector<absl::Duration> TimeTicks(absl::Duration end, int most);

// The options of `retryq plan`.
struct PlanOptions {
  RetryOptions retry;
  DelayQueueOptions delay_queues;
  std::optional<OutageOptions> outage;    // to simulate
  std::optional<BreakerOptions> breaker;  // simulates the outage with it, too
  bool json = false;
  std::string svg_file;  // an image of the outage; empty: none
  std::string queue;     // part of the names of quorum delay queues; empty: no specific one

  // Instead of all this: a file to import into RabbitMQ.
  bool definitions = false;
  std::string vhost = "/";
  std::string work_exchange;
  std::string parked_queue;             // empty: none
  std::optional<QueueType> work_queue;  // type of `queue`; not set: it exists already
  bool any_delay = false;               // also queues for delays outside the schedule
};

Parsed<PlanOptions> ParsePlan(const Arguments& arguments);

// Runs `retryq plan`: simulates and draws as requested and returns the text to print.
absl::StatusOr<std::string> ShowPlan(const PlanOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLAN_PLAN_COMMAND_H_
