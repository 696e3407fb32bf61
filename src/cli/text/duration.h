#ifndef RETRYQ_CLI_TEXT_DURATION_H_
#define RETRYQ_CLI_TEXT_DURATION_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace retryq::cli {

// Parses `500ms`, `1s`, `1.5h`, `10m`, `1d`, combinations such as `1m30s`, and `0`. Returns nullopt
// for anything else: a sign, a number without unit, more than a hundred years.
std::optional<absl::Duration> ParseDuration(std::string_view text);

// Formats a duration for ParseDuration, in whole milliseconds: `1m30s`, `1s500ms`, `0s`. Never
// negative.
std::string DurationText(absl::Duration duration);

// Parses a line such as `retry-after: 30s`, with a case-insensitive name; a number without unit is
// seconds, as in HTTP. Returns nullopt for any other line.
std::optional<absl::Duration> ParseDelayLine(std::string_view name, std::string_view line);

// Formats a number, which must not be negative, in at most six characters: "0.25", "9999", "12.3k",
// "1.2M".
std::string NumberText(double number);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_TEXT_DURATION_H_
