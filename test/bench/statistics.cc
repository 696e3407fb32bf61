#include "bench/statistics.h"

#include <cmath>
#include <random>

#include "support/standard.h"

namespace retryq::bench {
namespace {

constexpr int kResamples = 10'000;
constexpr std::mt19937_64::result_type kSeed = 1;
constexpr double kExcluded = 0.025;  // on each side

}  // namespace

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double Quantile(std::vector<double> values, double part) {
  const double rank = std::ceil(part * static_cast<double>(values.size()));
  const auto index = static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(values.begin(), values.begin() + index, values.end());
  return values[static_cast<std::size_t>(index)];
}

Interval MedianInterval(const std::vector<double>& values) {
  std::mt19937_64 random(kSeed);
  std::uniform_int_distribution<std::size_t> any(0, values.size() - 1);
  std::vector<double> medians;
  std::vector<double> sample(values.size());
  for (int i = 0; i < kResamples; ++i) {
    for (double& value : sample) value = values[any(random)];
    medians.push_back(Median(sample));
  }
  return {.from = Quantile(medians, kExcluded), .to = Quantile(std::move(medians), 1 - kExcluded)};
}

}  // namespace retryq::bench
