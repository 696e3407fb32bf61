#include "cli/send/parse_time.h"

#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"
#include "cli/text/duration.h"

namespace retryq::cli {
namespace {

// Up to the largest integer that a JSON number holds without loss.
std::optional<std::int64_t> WholeNumber(std::string_view text) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  std::int64_t number = 0;
  if (text.find_first_not_of("0123456789") != std::string_view::npos ||
      !absl::SimpleAtoi(std::string(text), &number) || number > kMost) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

std::optional<absl::Time> ParseTime(std::string_view text) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, std::string(text), &time, &error)) return std::nullopt;
  if (time == absl::InfiniteFuture() || time == absl::InfinitePast()) return std::nullopt;
  return time;
}

std::optional<absl::Time> ParseTimestamp(std::string_view text) {
  if (const auto seconds = WholeNumber(text)) return absl::FromUnixSeconds(*seconds);
  return ParseTime(text);
}

std::optional<absl::Duration> ParseExpiration(std::string_view text) {
  if (const auto duration = ParseDuration(text)) return duration;
  const auto milliseconds = WholeNumber(text);
  return milliseconds ? std::optional(absl::Milliseconds(*milliseconds)) : std::nullopt;
}

}  // namespace retryq::cli
