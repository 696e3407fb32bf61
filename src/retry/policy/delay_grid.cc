#include "retryq/broker/delay_grid.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace retryq {
namespace {

constexpr std::int64_t kSecond = 1000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

// In milliseconds, in the order in which they are added to the grid: each is the round number that
// best divides the largest remaining ratio. Every grid has the first 16, the default grid the first
// 32. 1 ms is for delays that are shorter than any hop but must pass through a queue once.
constexpr std::array<std::int64_t, 64> kSteps = {
    // Up to 16 steps.
    1, 20, 1 * kSecond, 1 * kMinute, 1 * kHour, 30 * kDay, 12 * kHour, 7 * kDay, 5 * kMinute,
    5 * kSecond, 200, 2 * kDay, 3 * kHour, 15 * kMinute, 15 * kSecond, 50,
    // Up to 32.
    2 * kMinute, 2 * kSecond, 500, 14 * kDay, 1 * kDay, 6 * kHour, 30 * kMinute, 30 * kSecond, 100,
    4 * kDay, 2 * kHour, 10 * kMinute, 10 * kSecond, 3 * kMinute, 3 * kSecond, 300,
    // Up to 64.
    30, 20 * kDay, 80, 150, 700, 1500, 7 * kSecond, 20 * kSecond, 40 * kSecond, 90 * kSecond,
    7 * kMinute, 20 * kMinute, 40 * kMinute, 90 * kMinute, 4 * kHour, 8 * kHour, 16 * kHour,
    36 * kHour, 3 * kDay, 10 * kDay, 5 * kDay, 40, 400, 4 * kSecond, 4 * kMinute, 60, 25, 120, 250,
    2500, 12 * kSecond, 25 * kSecond};

constexpr std::size_t kFewestSteps = 16;

}  // namespace

DelayGrid::DelayGrid(std::size_t max_delay_queues, bool exact_queues) {
  const std::size_t share = exact_queues ? max_delay_queues / 2 : max_delay_queues;
  const std::size_t count = std::clamp(share, kFewestSteps, kSteps.size());
  steps_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) steps_.push_back(absl::Milliseconds(kSteps[i]));
  std::sort(steps_.begin(), steps_.end());
}

absl::Duration DelayGrid::RoundUp(absl::Duration delay) const {
  const auto step = std::lower_bound(steps_.begin(), steps_.end(), delay);
  return step == steps_.end() ? absl::InfiniteDuration() : *step;
}

}  // namespace retryq
