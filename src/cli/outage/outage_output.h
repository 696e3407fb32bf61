#ifndef RETRYQ_CLI_OUTAGE_OUTAGE_OUTPUT_H_
#define RETRYQ_CLI_OUTAGE_OUTAGE_OUTPUT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/outage/outage_options.h"
#include "cli/outage/outage_report.h"
#include "cli/plot/plot_style.h"

namespace retryq::cli {

// What was simulated, in a line without its break: for people.
std::string OutageTitle(const OutageOptions& outage, const OutageReport& report);

// A simulated outage for people: plots, and below them what it comes down to.
std::string OutageText(const OutageOptions& outage, const OutageReport& report,
                       const PlotStyle& style);

// What a circuit breaker changes, in figures. `with`: the same outage with `breaker`.
std::string BreakerText(const BreakerOptions& breaker, const OutageReport& without,
                        const OutageReport& with);

// All numbers of a simulated outage. Times are in milliseconds; what is not there (a capacity, a
// recovery) is null.
nlohmann::ordered_json OutageJson(const OutageOptions& outage, const OutageReport& report);

// A simulated outage as an SVG image: calls, messages waiting, delay queues and parked messages
// over one axis of time.
std::string OutageSvg(const OutageOptions& outage, const OutageReport& report);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_OUTAGE_OUTAGE_OUTPUT_H_
