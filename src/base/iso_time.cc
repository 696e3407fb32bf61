#include "base/iso_time.h"

namespace retryq {

std::string IsoTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

std::string IsoSeconds(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

std::optional<absl::Time> ParseIsoTime(std::string_view text) {
  absl::Time time;
  if (!absl::ParseTime(absl::RFC3339_full, std::string(text), &time, nullptr)) return std::nullopt;
  if (time == absl::InfiniteFuture() || time == absl::InfinitePast()) return std::nullopt;
  return time;
}

}  // namespace retryq
