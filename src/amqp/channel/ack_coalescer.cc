#include "amqp/channel/ack_coalescer.h"

namespace retryq::amqp {

bool AckCoalescer::OnDelivered(std::uint64_t tag) {
  const std::uint64_t next = first_ + states_.size();
  if (tag < next || tag - next > kMostSkipped) return false;
  // A skipped tag has no delivery on this channel.
  for (std::uint64_t skipped = next; skipped < tag; ++skipped) states_.push_back(State::kSettled);
  states_.push_back(State::kOpen);
  most_open_ = std::max(most_open_, ++open_);
  return true;
}

void AckCoalescer::Settle(std::uint64_t tag, Kind kind) {
  if (tag < first_ || tag - first_ >= states_.size()) return;
  State& state = states_[tag - first_];
  if (state == State::kSettled) return;
  state = State::kSettled;
  --open_;
  settled_.push_back({.tag = tag, .kind = kind});
}

void AckCoalescer::DropSettled() {
  while (!states_.empty() && states_.front() == State::kSettled) {
    states_.pop_front();
    ++first_;
  }
}

}  // namespace retryq::amqp
