#include "retryq/backoff.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "retry/backoff_growth.h"
#include "retryq/delay_queue_options.h"

namespace retryq {
namespace {

constexpr absl::Duration kMillisecond = absl::Milliseconds(1);
const absl::Duration kAlmostAMillisecond = kMillisecond - absl::Nanoseconds(1) / 4;

// Abseil counts time in these.
constexpr std::int64_t kTicksPerMillisecond = 4'000'000;

std::uint64_t Ticks(absl::Duration duration) {
  const std::int64_t whole = absl::ToInt64Milliseconds(duration);
  const absl::Duration rest = duration - absl::Milliseconds(whole);
  const std::int64_t ticks = rest == absl::ZeroDuration() ? 0 : absl::ToInt64Nanoseconds(4 * rest);
  return static_cast<std::uint64_t>(whole * kTicksPerMillisecond + ticks);
}

absl::Duration EffectiveMax(const BackoffOptions& options) {
  return options.max == kDefaultMaxBackoff ? std::max(options.base, options.max) : options.max;
}

}  // namespace

absl::Status Validate(const BackoffOptions& options, const std::string& field) {
  std::vector<std::string> errors;
  const auto refuse = [&](const char* name, const char* rule, const std::string& value) {
    errors.push_back(absl::StrCat(field, ".", name, " must be ", rule, ", but is ", value));
  };
  if (options.base < kMillisecond || options.base > kMaxQueueLifetime) {
    refuse("base", "between 1ms and 3650 days", absl::FormatDuration(options.base));
  }
  if (!std::isfinite(options.factor) || options.factor < 1.0) {
    refuse("factor", "a finite number of at least 1", absl::StrCat(options.factor));
  }
  if (options.max > kMaxQueueLifetime) {
    refuse("max", "at most 3650 days", absl::FormatDuration(options.max));
  } else if (EffectiveMax(options) < options.base) {
    refuse("max", absl::StrCat("at least base (", absl::FormatDuration(options.base), ")").c_str(),
           absl::FormatDuration(options.max));
  }
  if (!(options.jitter >= 0.0 && options.jitter <= 1.0)) {
    refuse("jitter", "between 0 and 1", absl::StrCat(options.jitter));
  } else if (options.jitter != 0.0) {
    errors.push_back(absl::StrCat(field, ".jitter is not supported yet: set it to 0"));
  }
  if (errors.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(errors, "; "));
}

absl::Duration BackoffDelay(const BackoffOptions& options, std::uint64_t failures) {
  const std::int64_t limit = absl::ToInt64Milliseconds(EffectiveMax(options) + kAlmostAMillisecond);
  const std::uint64_t delay = GrowUp(Ticks(options.base), kTicksPerMillisecond, options.factor,
                                     failures, static_cast<std::uint64_t>(limit));
  return absl::Milliseconds(static_cast<std::int64_t>(delay));
}

absl::Duration RoundUpToGrid(absl::Duration delay) {
  constexpr std::int64_t kEnd = std::int64_t{1} << 60;
  if (delay > absl::Milliseconds(kEnd)) return absl::InfiniteDuration();
  const absl::Duration whole = std::max(absl::Ceil(delay, kMillisecond), kMillisecond);
  const auto wanted = static_cast<std::uint64_t>(absl::ToInt64Milliseconds(whole));
  const std::uint64_t power = std::bit_ceil(wanted);
  const std::uint64_t between = power - power / 4;
  const std::uint64_t step = power >= 4 && wanted <= between ? between : power;
  return absl::Milliseconds(static_cast<std::int64_t>(step));
}

}  // namespace retryq
