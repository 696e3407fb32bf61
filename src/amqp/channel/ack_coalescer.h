#ifndef RETRYQ_SRC_AMQP_CHANNEL_ACK_COALESCER_H_
#define RETRYQ_SRC_AMQP_CHANNEL_ACK_COALESCER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "amqp/transport/ring.h"

namespace retryq::amqp {

// Collects the acks and rejects of one channel during a turn of the loop and says them in as
// few methods as there can be: one `multiple` for all acks up to the oldest delivery
// that is still unsettled, the others one by one.
//
// What is asked twice, or about a delivery that is not open, is ignored: the broker would
// close the channel.
class AckCoalescer {
 public:
  // A delivery has arrived; a channel's tags count up from 1. False, and nothing is changed, if
  // this one does not count up, or skips more than kMostSkipped, each of which costs a byte.
  static constexpr std::uint64_t kMostSkipped = 1 << 16;
  [[nodiscard]] bool OnDelivered(std::uint64_t tag);

  void Ack(std::uint64_t tag);
  void Reject(std::uint64_t tag, bool requeue);

  // How many deliveries were open at once, at most, since this was last asked.
  std::size_t TakeMostOpen() { return std::exchange(most_open_, open_); }

  // Deliveries that are not settled.
  std::size_t open() const { return open_; }

  bool pending() const { return !acked_.empty() || !rejected_.empty(); }

  // Says what was asked since the last call, by `reject(tag, requeue)` and `ack(tag, multiple)`.
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

  // Marks an open delivery settled; false if it is not open.
  bool Settle(std::uint64_t tag);
  void DropSettled();

  enum class State : std::uint8_t { kSettled, kOpen };

  Ring<State> states_;       // by tag
  std::uint64_t first_ = 1;  // the tag of states_[0]: the oldest open delivery
  std::size_t open_ = 0;     // of states_
  std::size_t most_open_ = 0;
  std::vector<std::uint64_t> acked_;
  std::vector<Rejected> rejected_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CHANNEL_ACK_COALESCER_H_
