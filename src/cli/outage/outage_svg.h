#ifndef RETRYQ_CLI_OUTAGE_OUTAGE_SVG_H_
#define RETRYQ_CLI_OUTAGE_OUTAGE_SVG_H_

#include <string>

#include "cli/outage/outage_options.h"
#include "cli/outage/outage_report.h"

namespace retryq::cli {

// A simulated outage as an SVG image: calls, messages waiting, delay queues and parked messages
// over one axis of time.
std::string OutageSvg(const OutageOptions& outage, const OutageReport& report);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_OUTAGE_OUTAGE_SVG_H_
