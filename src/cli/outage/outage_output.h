#ifndef RETRYQ_CLI_OUTAGE_OUTAGE_OUTPUT_H_
#define RETRYQ_CLI_OUTAGE_OUTAGE_OUTPUT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/outage/outage_options.h"
#include "cli/outage/outage_report.h"
#include "cli/plot/plot_style.h"

namespace retryq::cli {

// A description of the simulation as one line, without a line break.
std::string OutageTitle(const OutageOptions& outage, const OutageReport& report);

// A simulated outage as text: plots followed by a summary.
std::string OutageText(const OutageOptions& outage, const OutageReport& report,
                       const PlotStyle& style);

// The effect of a circuit breaker in figures. `with`: the same outage with `breaker`.
std::string BreakerText(const BreakerOptions& breaker, const OutageReport& without,
                        const OutageReport& with);

// All figures of a simulated outage. Times are in milliseconds; missing values (a capacity, a
// recovery) are null.
nlohmann::ordered_json OutageJson(const OutageOptions& outage, const OutageReport& report);

// A simulated outage as an SVG image: calls, waiting messages, delay queues and parked messages
// over one axis of time.
std::string OutageSvg(const OutageOptions& outage, const OutageReport& report);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_OUTAGE_OUTAGE_OUTPUT_H_
