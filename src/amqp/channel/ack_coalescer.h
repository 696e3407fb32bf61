#ifndef RETRYQ_SRC_AMQP_CHANNEL_ACK_COALESCER_H_
#define RETRYQ_SRC_AMQP_CHANNEL_ACK_COALESCER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "amqp/transport/ring.h"

namespace retryq::amqp {

// Collects the acks and nacks of one channel during a turn of the loop, and sends them in few
// methods. Up to the oldest unsettled delivery, consecutive settlements of one kind are one method
// with `multiple`; the others are sent one by one. Each method is a Raft command of a quorum queue,
// and if too many are under way, RabbitMQ keeps further ones in the channel, and loses them when
// the channel is closed (F74 in doc/rabbitmq_facts.md).
//
// A second settlement of a delivery, or one of a delivery that is not open, is ignored: the broker
// would close the channel.
class AckCoalescer {
 public:
  // Call it when a delivery arrives. The tags of a channel increase from 1. Returns false, and
  // changes nothing, if the tag does not increase, or skips more than kMostSkipped tags, each of
  // which needs a byte.
  static constexpr std::uint64_t kMostSkipped = 1 << 16;
  [[nodiscard]] bool OnDelivered(std::uint64_t tag) {
    const std::uint64_t next = first_ + states_.size();
    if (tag < next || tag - next > kMostSkipped) return false;
    // A skipped tag has no delivery on this channel.
    for (std::uint64_t skipped = next; skipped < tag; ++skipped) states_.push_back(State::kSettled);
    states_.push_back(State::kOpen);
    most_open_ = std::max(most_open_, ++open_);
    return true;
  }

  enum class Kind : std::uint8_t { kAck, kRequeue, kReject };
  void Settle(std::uint64_t tag, Kind kind) {
    if (tag < first_ || tag - first_ >= states_.size()) return;
    State& state = states_[tag - first_];
    if (state == State::kSettled) return;
    state = State::kSettled;
    --open_;
    settled_.push_back({.tag = tag, .kind = kind});
  }

  // Returns the largest number of deliveries that were open at once since the last call.
  std::size_t TakeMostOpen() { return std::exchange(most_open_, open_); }

  // Number of deliveries that are not settled.
  std::size_t open() const { return open_; }

  bool pending() const { return !settled_.empty(); }

  // Sends the settlements since the last call, by `send(tag, kind, multiple)`.
  template <typename Send>
  void Flush(const Send& send) {
    DropSettled();
    const auto is_earlier = [](const Settled& a, const Settled& b) { return a.tag < b.tag; };
    if (!std::is_sorted(settled_.begin(), settled_.end(), is_earlier)) {
      std::sort(settled_.begin(), settled_.end(), is_earlier);
    }
    for (auto run = settled_.begin(); run != settled_.end();) {
      auto next = run + 1;
      while (next != settled_.end() && next->tag < first_ && next->kind == run->kind) ++next;
      send((next - 1)->tag, run->kind, /*multiple=*/next - run > 1);
      run = next;
    }
    settled_.clear();
  }

 private:
  struct Settled {
    std::uint64_t tag;
    Kind kind;
  };

  void DropSettled() {
    while (!states_.empty() && states_.front() == State::kSettled) {
      states_.pop_front();
      ++first_;
    }
  }

  enum class State : std::uint8_t { kSettled, kOpen };

  Ring<State> states_;       // by tag
  std::uint64_t first_ = 1;  // tag of states_[0]
  std::size_t open_ = 0;     // open deliveries in states_
  std::size_t most_open_ = 0;
  std::vector<Settled> settled_;  // since the last flush
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CHANNEL_ACK_COALESCER_H_
