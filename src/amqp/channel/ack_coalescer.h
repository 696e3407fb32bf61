#ifndef RETRYQ_SRC_AMQP_CHANNEL_ACK_COALESCER_H_
#define RETRYQ_SRC_AMQP_CHANNEL_ACK_COALESCER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "amqp/transport/ring.h"

namespace retryq::amqp {

// Collects the acks and rejects of one channel during a turn of the loop, and sends them in few
// methods: one ack with `multiple` for all acks up to the oldest unsettled delivery, the others one
// by one.
//
// A second settlement of a delivery, or one of a delivery that is not open, is ignored: the broker
// would close the channel.
class AckCoalescer {
 public:
  // Call it when a delivery arrives. The tags of a channel increase from 1. Returns false, and
  // changes nothing, if the tag does not increase, or skips more than kMostSkipped tags, each of
  // which needs a byte.
  static constexpr std::uint64_t kMostSkipped = 1 << 16;
  [[nodiscard]] bool OnDelivered(std::uint64_t tag);

  void Ack(std::uint64_t tag);
  void Reject(std::uint64_t tag, bool requeue);

  // Returns the largest number of deliveries that were open at once since the last call.
  std::size_t TakeMostOpen() { return std::exchange(most_open_, open_); }

  // Number of deliveries that are not settled.
  std::size_t open() const { return open_; }

  bool pending() const { return !acked_.empty() || !rejected_.empty(); }

  // Sends the settlements since the last call, by `reject(tag, requeue)` and `ack(tag, multiple)`.
  template <typename SendAck, typename SendReject>
  void Flush(const SendAck& ack, const SendReject& reject) {
    for (const Rejected& rejected : rejected_) reject(rejected.tag, rejected.requeue);
    rejected_.clear();
    DropSettled();
    std::uint64_t last = 0;
    std::size_t covered = 0;
    for (const std::uint64_t tag : acked_) {
      if (tag >= first_) continue;
      last = std::max(last, tag);
      ++covered;
    }
    if (covered > 0) ack(last, /*multiple=*/covered > 1);
    for (const std::uint64_t tag : acked_) {
      if (tag >= first_) ack(tag, /*multiple=*/false);
    }
    acked_.clear();
  }

 private:
  struct Rejected {
    std::uint64_t tag;
    bool requeue;
  };

  // Marks an open delivery as settled. Returns false if it is not open.
  bool Settle(std::uint64_t tag);
  void DropSettled();

  enum class State : std::uint8_t { kSettled, kOpen };

  Ring<State> states_;       // by tag
  std::uint64_t first_ = 1;  // tag of states_[0]
  std::size_t open_ = 0;     // open deliveries in states_
  std::size_t most_open_ = 0;
  std::vector<std::uint64_t> acked_;
  std::vector<Rejected> rejected_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CHANNEL_ACK_COALESCER_H_
