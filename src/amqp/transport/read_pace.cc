#include "amqp/transport/read_pace.h"

#include <algorithm>

namespace retryq::amqp {
namespace {

// Rates are measured over the time of this number of longest pauses, because brokers send in
// bursts.
constexpr int kPauses = 16;

// A pause is worth its timer if it replaces this number of reads, and brings this number of
// messages. If there are pauses already, half of these numbers are enough.
constexpr double kReads = 1.5;
constexpr double kWorthwhile = 5;

// The largest fraction of the data that the broker may send that a pause may bring.
constexpr double kMostShareOfNear = 1.0 / 4;
constexpr double kMostShareOfFar = 1.0 / 8;

// The factor for pauses if everything waits for the broker, and the fraction of the prefetch that
// must then wait for confirms.
constexpr int kLonger = 4;
constexpr double kShareOfWaiting = 1.0 / 2;

// After this number of consecutive pauses without data, data does not accumulate until some has
// arrived.
constexpr int kMostVainPauses = 1;

}  // namespace

void Arrivals::Add(const Arrivals& other) {
  count += other.count;
  bytes += other.bytes;
  used_up += other.used_up;
  unconfirmed += other.unconfirmed;
  share = std::max(share, other.share);
}

void ReadPace::Reset(absl::Duration round_trip) {
  round_trip_ = round_trip;
  pause_ = absl::ZeroDuration();
  current_ = absl::ZeroDuration();
  limit_ = longest_;
  reads_ = 0;
}

absl::Duration ReadPace::After(const Arrivals& arrivals, absl::Duration now) {
  Count(arrivals, now);
  const bool in_vain = arrivals.count == 0;
  vain_pauses_ = in_vain ? std::min(vain_pauses_, kMostVainPauses) + 1 : 0;
  if (leader_ != nullptr) {
    if (!in_vain) leader_->vain_pauses_ = 0;
    leader_->followers_unconfirmed_ = pause_ > absl::ZeroDuration() ? arrivals.unconfirmed : 0;
  }
  current_ = vain_pauses_ > kMostVainPauses ? absl::ZeroDuration() : pause_;
  return leader_ == nullptr ? current_ : std::max(current_, leader_->current_);
}

void ReadPace::Count(const Arrivals& arrivals, absl::Duration now) {
  if (reads_ == 0) return Begin(now);
  ++reads_;
  come_.count += arrivals.count;
  come_.bytes += arrivals.bytes;
  come_.share += arrivals.share;
  waited_for_broker_ |=
      arrivals.used_up > 0 && static_cast<double>(followers_unconfirmed_) >=
                                  kShareOfWaiting * static_cast<double>(arrivals.used_up);
  const absl::Duration elapsed = now - start_;
  if (elapsed >= kPauses * limit_) {
    limit_ = waited_for_broker_ && IsNear() ? kLonger * longest_ : longest_;
    pause_ = BestPause(elapsed);
    Begin(now);
  } else if (pause_ > absl::ZeroDuration() && !Fits(kPauses * absl::FDivDuration(limit_, pause_))) {
    // More data has arrived than fits into the pauses of the whole time.
    pause_ = pause_ > kShortest ? pause_ / 2 : absl::ZeroDuration();
  }
}

void ReadPace::Begin(absl::Duration now) {
  start_ = now;
  reads_ = 1;
  come_ = Arrivals();
  waited_for_broker_ = false;
}

absl::Duration ReadPace::BestPause(absl::Duration elapsed) const {
  const auto fits = [&](absl::Duration pause) {
    return pause <= limit_ && Fits(absl::FDivDuration(elapsed, pause));
  };
  absl::Duration pause = kShortest;
  if (!fits(pause)) return absl::ZeroDuration();
  while (fits(2 * pause)) pause *= 2;
  return IsWorthwhile(absl::FDivDuration(elapsed, pause)) ? pause : absl::ZeroDuration();
}

bool ReadPace::Fits(double pauses) const {
  const double most_share = IsNear() ? kMostShareOfNear : kMostShareOfFar;
  return come_.share <= most_share * pauses &&
         static_cast<double>(come_.bytes) <= static_cast<double>(kFull) * pauses;
}

bool ReadPace::IsWorthwhile(double pauses) const {
  const auto count = static_cast<double>(come_.count);
  if (pause_ > absl::ZeroDuration()) return count >= kWorthwhile / 2 * pauses;
  return count >= kWorthwhile * pauses && static_cast<double>(reads_) >= kReads * pauses;
}

}  // namespace retryq::amqp
