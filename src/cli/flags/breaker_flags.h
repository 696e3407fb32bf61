#ifndef RETRYQ_CLI_FLAGS_BREAKER_FLAGS_H_
#define RETRYQ_CLI_FLAGS_BREAKER_FLAGS_H_

#include <optional>
#include <string>

#include "cli/flags/flag_parser.h"
#include "cli/flags/flag_reader.h"
#include "retryq/breaker.h"

namespace retryq::cli {

// The flags of the circuit breaker, for commands that have one or show its effect.
struct BreakerFlags {
  bool breaker = false;
  FlagText calls, ratio, pause, probes;
};

// `description` is the help of --breaker.
void AddFlags(FlagParser& parser, BreakerFlags& flags, const std::string& description);

// Reads the values, or nullopt without --breaker, and reports errors.
void ReadFlags(const BreakerFlags& flags, FlagReader& reader, std::optional<BreakerOptions>* value);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_FLAGS_BREAKER_FLAGS_H_
