#ifndef RETRYQ_CLI_FLAGS_BREAKER_FLAGS_H_
#define RETRYQ_CLI_FLAGS_BREAKER_FLAGS_H_

#include <optional>
#include <string>

#include "cli/flags/flag_parser.h"
#include "cli/flags/flag_reader.h"
#include "retryq/breaker.h"

namespace retryq::cli {

// The flags of the circuit breaker: of what has one, and of what shows what it does.
struct BreakerFlags {
  bool breaker = false;
  FlagText calls, ratio, pause, probes;
};

// `description`: of --breaker.
void AddFlags(FlagParser& parser, BreakerFlags& flags, const std::string& description);

// Their values; nothing without --breaker. What is wrong is complained of.
void ReadFlags(const BreakerFlags& flags, FlagReader& reader, std::optional<BreakerOptions>* value);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_FLAGS_BREAKER_FLAGS_H_
