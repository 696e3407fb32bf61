#ifndef RETRYQ_CLI_WORKER_LINES_PROTOCOL_H_
#define RETRYQ_CLI_WORKER_LINES_PROTOCOL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "retryq/delivery.h"
#include "retryq/outcome.h"

namespace retryq::cli {

// The protocol between `work --lines` and its children: one JSON object per line in each direction.

// The longest answer, so that a child that writes without line breaks does not fill the memory.
inline constexpr std::size_t kLongestAnswer = std::size_t{1} << 20;

// A message for a child, with the line break, as `retryq work --help` shows it. All fields are
// always present; if the message does not have a property, its text is empty or its number null. A
// body that is not UTF-8 is in "body_base64" instead of "body". `headers` is written by
// HeadersJson, up to a mebibyte. `traceparent`, if set, replaces the context of the message.
std::string LineFor(std::uint64_t id, const Delivery& delivery, std::uint64_t max_attempts,
                    std::optional<std::string> traceparent = std::nullopt);

// The answer of a child.
struct LinesAnswer {
  std::uint64_t id = 0;
  Outcome outcome = Outcome::Ok();
  std::string ignored = {};  // an unknown field; empty: there is none
};

// The warning about a field in `LinesAnswer::ignored`.
std::string IgnoredFieldWarning(std::string_view field);

// Parses an answer, without its line break, as `retryq work --help` shows it. Ignores unknown
// fields. Returns kInvalidArgument with the reason for any other line.
absl::StatusOr<LinesAnswer> ParseAnswer(std::string_view line);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_LINES_PROTOCOL_H_
