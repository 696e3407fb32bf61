#include "loop/pauses.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace retryq {
namespace {

absl::Duration Jittered(absl::Duration whole, Random& random) {
  const double fraction = static_cast<double>(random.Next() >> 11) * 0x1p-53;  // [0, 1)
  return whole * (0.5 + fraction / 2);
}

}  // namespace

Pauses::Pauses(absl::Duration first, absl::Duration longest)
    : first_(std::min(first, longest)), longest_(longest) {}

absl::Duration Pauses::Next(absl::Duration now, Random& random) {
  const std::optional<absl::Duration> since = std::exchange(works_since_, std::nullopt);
  if (since && now - *since >= kLasting) failures_ = 0;
  if (failures_ < std::numeric_limits<std::uint32_t>::max()) ++failures_;
  return After(failures_, first_, longest_, random);
}

absl::Duration Pauses::Longest(Random& random) { return Jittered(longest_, random); }

absl::Duration Pauses::After(std::uint32_t failures, absl::Duration first, absl::Duration longest,
                             Random& random) {
  return Jittered(WholeAfter(failures, first, longest), random);
}

absl::Duration Pauses::WholeAfter(std::uint32_t failures, absl::Duration first,
                                  absl::Duration longest) {
  const std::uint32_t doublings = std::min<std::uint32_t>(failures - 1, 30);
  return std::min(longest, first * (std::int64_t{1} << doublings));
}

}  // namespace retryq
