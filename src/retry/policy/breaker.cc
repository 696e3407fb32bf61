#include "retryq/breaker.h"

#include <algorithm>

#include "base/field_errors.h"

namespace retryq {
namespace {

constexpr int kMostCalls = 10'000;
constexpr int kMostProbesInARow = 1'000;
constexpr absl::Duration kShortestBreak = absl::Seconds(1);
constexpr absl::Duration kLongestBreak = absl::Hours(24);

// Tolerance for rounding errors: 0.1 * 3 is above 0.3.
constexpr double kRounding = 1e-9;

}  // namespace

absl::Status Validate(const BreakerOptions& options) {
  FieldErrors errors;
  errors.Require(options.calls >= 1 && options.calls <= kMostCalls, "breaker.calls must be 1 to ",
                 kMostCalls, ", but is ", options.calls);
  errors.Require(options.ratio > 0 && options.ratio <= 1,  // comparisons with NaN are false
                 "breaker.ratio must be above 0 and at most 1, but is ", options.ratio);
  errors.Require(options.pause >= kShortestBreak && options.pause <= kLongestBreak,
                 "breaker.pause must be 1s to 24h, but is ", absl::FormatDuration(options.pause));
  errors.Require(options.probes >= 1 && options.probes <= kMostProbesInARow,
                 "breaker.probes must be 1 to ", kMostProbesInARow, ", but is ", options.probes);
  return errors.status();
}

Breaker::Breaker(const BreakerOptions& options)
    : options_(options), failed_(static_cast<std::size_t>(options.calls)) {}

bool Breaker::OnCall(CallResult result, absl::Duration now) {
  if (result == CallResult::kNeither) return false;
  const bool failed = result == CallResult::kFailed;
  switch (state_) {
    case State::kOpen:
      return false;
    case State::kProbing:
      if (failed) {
        Open(now);
        return true;
      }
      if (++successes_ < options_.probes) return false;
      state_ = State::kClosed;
      return true;
    case State::kClosed:
      break;
  }
  Count(failed);
  const double enough = options_.ratio * static_cast<double>(failed_.size()) - kRounding;
  if (counted_ < failed_.size() || static_cast<double>(failures_) < enough) return false;
  Open(now);
  return true;
}

void Breaker::Count(bool failed) {
  if (counted_ < failed_.size()) {
    ++counted_;
  } else if (failed_[next_]) {
    --failures_;
  }
  failed_[next_] = failed;
  if (failed) ++failures_;
  next_ = (next_ + 1) % failed_.size();
}

// After the pause, earlier calls no longer count.
void Breaker::Open(absl::Duration now) {
  state_ = State::kOpen;
  open_until_ = now + options_.pause;
  successes_ = 0;
  next_ = counted_ = failures_ = 0;
}

absl::Duration Breaker::PauseLeft(absl::Duration now) const {
  if (state_ != State::kOpen) return absl::ZeroDuration();
  return std::max(open_until_ - now, absl::ZeroDuration());
}

bool Breaker::TryAgain(absl::Duration now) {
  if (state_ != State::kOpen || PauseLeft(now) > absl::ZeroDuration()) return false;
  state_ = State::kProbing;
  return true;
}

std::string_view NameOf(Breaker::State state) {
  switch (state) {
    case Breaker::State::kClosed:
      return "closed";
    case Breaker::State::kProbing:
      return "probing";
    case Breaker::State::kOpen:
      return "open";
  }
  return "closed";
}

}  // namespace retryq
