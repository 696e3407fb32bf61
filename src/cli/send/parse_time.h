#ifndef RETRYQ_CLI_SEND_PARSE_TIME_H_
#define RETRYQ_CLI_SEND_PARSE_TIME_H_

#include <optional>
#include <string_view>

#include "absl/time/time.h"

namespace retryq::cli {

// Parses a time in RFC 3339, such as 2027-01-31T08:00:00Z or with an offset.
std::optional<absl::Time> ParseTime(std::string_view text);

// Parses a time in RFC 3339, or whole seconds since 1970.
std::optional<absl::Time> ParseTimestamp(std::string_view text);

// Parses a duration, such as 30s, or milliseconds as in AMQP, such as 30000.
std::optional<absl::Duration> ParseExpiration(std::string_view text);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_SEND_PARSE_TIME_H_
