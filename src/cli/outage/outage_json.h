#ifndef RETRYQ_CLI_OUTAGE_OUTAGE_JSON_H_
#define RETRYQ_CLI_OUTAGE_OUTAGE_JSON_H_

#include <nlohmann/json_fwd.hpp>

#include "cli/outage/outage_options.h"
#include "cli/outage/outage_report.h"

namespace retryq::cli {

// All numbers of a simulated outage. Times are in milliseconds; what is not there (a capacity, a
// recovery) is null.
nlohmann::ordered_json OutageJson(const OutageOptions& outage, const OutageReport& report);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_OUTAGE_OUTAGE_JSON_H_
