#include "cli/outage/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace retryq::cli {
namespace {

// Numbers with up to this many binary digits have their own place. Of longer numbers only these
// leading digits count, the first of which is always 1.
constexpr int kDigits = 8;
constexpr std::uint64_t kHalf = std::uint64_t{1} << (kDigits - 1);

std::size_t PlaceOf(std::uint64_t number) {
  const int shift = std::max(static_cast<int>(std::bit_width(number)) - kDigits, 0);
  return static_cast<std::size_t>((static_cast<std::uint64_t>(shift) * kHalf) + (number >> shift));
}

// The smallest number of a place.
std::uint64_t NumberAt(std::size_t place) {
  if (place < 2 * kHalf) return place;
  const std::uint64_t shift = (place / kHalf) - 1;
  return (place - (shift * kHalf)) << shift;
}

}  // namespace

void LatencyHistogram::Add(absl::Duration latency) {
  const std::int64_t ms = std::max<std::int64_t>(absl::ToInt64Milliseconds(latency), 0);
  const std::size_t place = PlaceOf(static_cast<std::uint64_t>(ms));
  if (place >= counts_.size()) counts_.resize(place + 1);
  ++counts_[place];
  ++count_;
  longest_ = std::max(longest_, latency);
}

absl::Duration LatencyHistogram::Quantile(double part) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t place = 0; place < counts_.size(); ++place) {
    seen += counts_[place];
    if (seen >= wanted && seen > 0) {
      return absl::Milliseconds(static_cast<std::int64_t>(NumberAt(place)));
    }
  }
  return absl::ZeroDuration();
}

}  // namespace retryq::cli
