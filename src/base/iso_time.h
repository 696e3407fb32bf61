#ifndef RETRYQ_SRC_BASE_ISO_TIME_H_
#define RETRYQ_SRC_BASE_ISO_TIME_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace retryq {

// Returns the time in UTC as in ISO 8601, with milliseconds: 2026-01-31T09:05:07.250Z.
std::string IsoTime(absl::Time time);

// Returns the time in UTC as in ISO 8601, in whole seconds: 2026-01-31T09:05:07Z.
std::string IsoSeconds(absl::Time time);

// Parses such a time, with or without a fraction of a second, and with any offset from
// UTC. Returns nullopt if the text is no such time.
std::optional<absl::Time> ParseIsoTime(std::string_view text);

}  // namespace retryq

#endif  // RETRYQ_SRC_BASE_ISO_TIME_H_
