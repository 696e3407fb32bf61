#ifndef RETRYQ_CLI_TEXT_DURATION_H_
#define RETRYQ_CLI_TEXT_DURATION_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace retryq::cli {

// Reads `500ms`, `1s`, `1.5h`, `10m`, `1d`, and several in a row as in `1m30s`; also a bare `0`.
// Nothing for anything else: no sign, no number without unit, nothing above a hundred years.
std::optional<absl::Duration> ParseDuration(std::string_view text);

// As ParseDuration reads it, in whole milliseconds: `1m30s`, `1s500ms`, `0s`. Never negative.
std::string DurationText(absl::Duration duration);

// The delay in a line such as `retry-after: 30s`, whose name is case-insensitive; a bare number is
// seconds, as in HTTP. Nothing for any other line.
std::optional<absl::Duration> ParseDelayLine(std::string_view name, std::string_view line);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_TEXT_DURATION_H_
