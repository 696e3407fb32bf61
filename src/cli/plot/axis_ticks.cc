#include "cli/plot/axis_ticks.h"

#include <cmath>
#include <cstdint>

namespace retryq::cli {
namespace {

// The distances of marks, as durations; then days by powers of ten.
constexpr std::int64_t kSecond = 1000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;
constexpr std::int64_t kSteps[] = {1,
                                   2,
                                   5,
                                   10,
                                   20,
                                   50,
                                   100,
                                   200,
                                   500,
                                   kSecond,
                                   2 * kSecond,
                                   5 * kSecond,
                                   10 * kSecond,
                                   15 * kSecond,
                                   30 * kSecond,
                                   kMinute,
                                   2 * kMinute,
                                   5 * kMinute,
                                   10 * kMinute,
                                   15 * kMinute,
                                   30 * kMinute,
                                   kHour,
                                   2 * kHour,
                                   3 * kHour,
                                   6 * kHour,
                                   12 * kHour,
                                   kDay,
                                   2 * kDay,
                                   7 * kDay,
                                   14 * kDay,
                                   30 * kDay,
                                   90 * kDay,
                                   180 * kDay,
                                   360 * kDay};

}  // namespace

std::vector<double> NumberTicks(double end, int most) {
  double step = std::pow(10, std::floor(std::log10(end / most)));
  for (const double next : {2.0, 2.5, 2.0}) {
    if (std::floor(end / step) + 1 <= most) break;
    step *= next;
  }
  while (std::floor(end / step) + 1 > most) step *= 2;
  std::vector<double> ticks;
  for (int i = 0; i * step <= end; ++i) ticks.push_back(i * step);
  return ticks;
}

std::vector<absl::Duration> TimeTicks(absl::Duration end, int most) {
  absl::Duration step;
  for (const std::int64_t ms : kSteps) {
    step = absl::Milliseconds(ms);
    if (end < most * step) break;
  }
  while (end >= most * step) step *= 2;
  std::vector<absl::Duration> ticks;
  for (int i = 0; i * step <= end; ++i) ticks.push_back(i * step);
  return ticks;
}

}  // namespace retryq::cli
