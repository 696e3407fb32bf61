#include "cli/outage/sample_series.h"

#include <algorithm>
#include <cstddef>

namespace retryq::cli {
namespace {

constexpr std::size_t kMostSamples = 512;

// Joins two consecutive samples.
OutageReport::Sample Joined(const OutageReport::Sample& a, const OutageReport::Sample& b) {
  return {.begin = a.begin,
          .calls = a.calls + b.calls,
          .failures = a.failures + b.failures,
          .most_calls = std::max(a.most_calls, b.most_calls),
          .most_failures = std::max(a.most_failures, b.most_failures),
          .waiting = std::max(a.waiting, b.waiting),
          .parked = b.parked};
}

}  // namespace

void SampleSeries::AddCall(absl::Duration time, bool failed) {
  Advance(time);
  OutageReport::Sample& sample = Current();
  ++sample.calls;
  sample.most_calls = std::max(sample.most_calls, ++calls_);
  if (!failed) return;
  ++sample.failures;
  sample.most_failures = std::max(sample.most_failures, ++failures_);
}

void SampleSeries::SetMessages(absl::Duration time, std::uint64_t waiting, std::uint64_t parked) {
  Advance(time);
  OutageReport::Sample& sample = Current();
  waiting_ = waiting;
  parked_ = parked;
  sample.waiting = std::max(sample.waiting, waiting);
  sample.parked = parked;
}

std::vector<OutageReport::Sample> SampleSeries::Finish(absl::Duration end) {
  // A simulation that ends at the start of a second does not include it.
  Advance(std::max(end - absl::Nanoseconds(1), absl::ZeroDuration()));
  Current();
  return samples_;
}

OutageReport::Sample& SampleSeries::Current() {
  while (static_cast<std::size_t>(second_ / seconds_) >= kMostSamples) HalveSamples();
  const auto place = static_cast<std::size_t>(second_ / seconds_);
  while (samples_.size() <= place) {
    samples_.push_back(
        {.begin = absl::Seconds(static_cast<std::int64_t>(samples_.size()) * seconds_),
         .waiting = waiting_,
         .parked = parked_});
  }
  return samples_[place];
}

void SampleSeries::Advance(absl::Duration time) {
  const std::int64_t second = absl::ToInt64Seconds(time);
  if (second == second_) return;
  second_ = second;
  calls_ = 0;
  failures_ = 0;
}

void SampleSeries::HalveSamples() {
  seconds_ *= 2;
  std::vector<OutageReport::Sample> half;
  for (std::size_t i = 0; i < samples_.size(); i += 2) {
    half.push_back(i + 1 < samples_.size() ? Joined(samples_[i], samples_[i + 1]) : samples_[i]);
  }
  samples_ = std::move(half);
}

}  // namespace retryq::cli
