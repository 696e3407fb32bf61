#ifndef RETRYQ_CLI_OUTAGE_SIMULATE_FLAG_H_
#define RETRYQ_CLI_OUTAGE_SIMULATE_FLAG_H_

#include "cli/flags/flag_reader.h"
#include "cli/outage/outage_options.h"

namespace retryq::cli {

// Parses the value of --simulate: `outage=10m,rate=200/s,capacity=500/s`. Reports all errors, by
// key.
OutageOptions ReadSimulate(const std::string& text, FlagReader& reader);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_OUTAGE_SIMULATE_FLAG_H_
