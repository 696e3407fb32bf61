#include "retry/publisher/isolated_publishes.h"

#include <algorithm>

#include "loop/pauses.h"

namespace retryq {
namespace {

constexpr absl::Duration kFirstPauseBetweenTurns = absl::Seconds(10);
constexpr absl::Duration kLongestPauseBetweenTurns = absl::Minutes(1);
// If no such publish has had a turn for this time, the pauses start again from zero.
constexpr absl::Duration kPausesEndAfter = absl::Minutes(10);

// Whether the broker reports this code by connection.close only, never by channel.close.
bool ClosesConnection(std::uint16_t code) {
  return (code >= 501 && code <= 503) || code == 540 || code == 541;
}

}  // namespace

absl::Duration IsolatedPublishes::TimeToTurn() {
  if (pause_ == absl::ZeroDuration()) return absl::ZeroDuration();
  const absl::Duration now = environment_.clock->SinceBoot();
  if (now - next_turn_ > kPausesEndAfter) {
    connections_lost_ = 0;
    pause_ = absl::ZeroDuration();
    return absl::ZeroDuration();
  }
  const absl::Duration turn = std::max(now, next_turn_);
  next_turn_ = turn + pause_;
  return turn - now;
}

void IsolatedPublishes::OnRefusedAgain(std::uint16_t code) {
  if (!ClosesConnection(code)) return;
  pause_ = Pauses::After(++connections_lost_, kFirstPauseBetweenTurns, kLongestPauseBetweenTurns,
                         *environment_.random);
  next_turn_ = std::max(next_turn_, environment_.clock->SinceBoot() + pause_);
}

}  // namespace retryq
