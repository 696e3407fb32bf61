#include "amqp/read_pace.h"

#include <algorithm>

namespace retryq::amqp {
namespace {

// What makes a pause worth its timer, and how many may bring less.
constexpr std::size_t kWorthwhile = 8;
constexpr int kMostVainPauses = 16;

// So many reads in the time of half as many pauses, and as much in them as those are to bring, are
// better done in pauses.
constexpr int kReads = 8;
constexpr int kPauses = kReads / 2;

// Of what the broker may send, in a read: of more than that the pause is halved, of less than half
// of that it is doubled.
constexpr double kMostShare = 1.0 / 16;

}  // namespace

void ReadPace::Reset() {
  pause_ = absl::ZeroDuration();
  vain_pauses_ = 0;
  reads_ = 0;
}

absl::Duration ReadPace::After(const Arrivals& arrivals, absl::Duration now) {
  if (pause_ > absl::ZeroDuration()) {
    Adjust(arrivals);
  } else if (IsBusy(arrivals, now)) {
    pause_ = kShortest;
  }
  return leader_ == nullptr ? pause_ : std::max(pause_, leader_->pause_);
}

void ReadPace::Adjust(const Arrivals& arrivals) {
  vain_pauses_ = arrivals.count < kWorthwhile ? vain_pauses_ + 1 : 0;
  if (arrivals.share > kMostShare) {
    pause_ /= 2;
  } else if (arrivals.share < kMostShare / 2 && 2 * pause_ <= longest_) {
    pause_ *= 2;
  }
  if (pause_ < kShortest || vain_pauses_ > kMostVainPauses) Reset();
}

bool ReadPace::IsBusy(const Arrivals& arrivals, absl::Duration now) {
  if (reads_ == 0 || arrivals.share > kMostShare) {
    reads_ = 1;
    first_read_ = now;
    count_ = 0;
    return false;
  }
  count_ += arrivals.count;
  if (++reads_ <= kReads) return false;
  reads_ = 0;
  return longest_ >= kShortest && now - first_read_ < kPauses * longest_ &&
         count_ >= kPauses * kWorthwhile;
}

}  // namespace retryq::amqp
