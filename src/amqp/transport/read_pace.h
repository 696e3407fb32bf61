#ifndef RETRYQ_SRC_AMQP_TRANSPORT_READ_PACE_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_READ_PACE_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/time/time.h"

namespace retryq::amqp {

// What a read has brought.
struct Arrivals {
  std::size_t count = 0;  // of messages, confirms and other answers
  std::size_t bytes = 0;

  std::size_t used_up = 0;      // prefetch, of channels that had as many deliveries open meanwhile
  std::size_t unconfirmed = 0;  // publishes that are left

  // How large a part of all that the broker had leave to send: of the prefetch, or of the publishes
  // unconfirmed. What is not limited has no part; what is waited for is all of it. 0 to 1.
  double share = 0;

  // What another channel of the same connection has brought.
  void Add(const Arrivals& other);
};

// How long what comes may gather before it is read, as network cards gather packets before they
// interrupt. A turn of the loop costs as much as dozens of messages in it: another thread gives up
// its core, memory is fetched anew, packets are sent and acknowledged. A client that is quicker
// than its broker would pay that for every few messages.
//
// Where nothing came for two pauses, the next that comes is read at once, and what follows upon it
// gathers again. How long the pauses are is decided now and then, by the rates since the last time:
//
// - While a pause lasts the broker must have enough to go on with. By Little's law, where pauses
//   bring an eighth of all that may be under way, a pause is an eighth of the time that a message
//   takes from one end to the other. So that is as long as it gets, and as much of its throughput
//   as a broker that has time to spare can lose. It is a quarter where packets take less than
//   kShortest there and back: the rest of that time is the broker's own work, which goes on.
// - What comes must fit into kFull, which ends a pause before its time.
// - Pauses may be four times as long where all wait for a near broker: a prefetch is used up, and
//   half of it or more are publishes whose confirms come a few at a time. What is not read for some
//   milliseconds would wait there for longer.
// - There are none at all unless they save turns, and bring enough for that to matter.
class ReadPace {
 public:
  // Pauses are no longer than that, or four times that where all wait for the broker; if it is
  // below kShortest there are none.
  explicit ReadPace(absl::Duration longest) : longest_(longest) {}

  // The pauses are this and its doubles: ticks of one length fall on those of all shorter ones.
  static constexpr absl::Duration kShortest = absl::Microseconds(250);

  // So many bytes are read before the pause is over.
  static constexpr std::size_t kFull = std::size_t{512} << 10;

  // From now on pauses are at least as long as that one's, which go on while something comes here.
  // What is published here comes from what is delivered there.
  void Follow(std::shared_ptr<ReadPace> leader) { leader_ = std::move(leader); }

  // A new connection, whose packets take so long there and back: nothing gathers any more.
  void Reset(absl::Duration round_trip = absl::InfiniteDuration());

  // To be called behind each read, or pause in which nothing came, at `now`. How long to gather
  // from now on; zero: no longer than until something comes.
  absl::Duration After(const Arrivals& arrivals, absl::Duration now);

 private:
  void Count(const Arrivals& arrivals, absl::Duration now);
  void Begin(absl::Duration now);
  bool IsNear() const { return round_trip_ < kShortest; }
  // By what has come in this time.
  absl::Duration BestPause(absl::Duration elapsed) const;
  // Whether what has come could have come in so many pauses, and whether it had better.
  bool Fits(double pauses) const;
  bool IsWorthwhile(double pauses) const;

  const absl::Duration longest_;
  absl::Duration round_trip_ = absl::InfiniteDuration();
  std::shared_ptr<ReadPace> leader_;  // may be null
  // Publishes of the one that follows, where their confirms are worth gathering.
  std::size_t followers_unconfirmed_ = 0;
  absl::Duration limit_ = longest_;  // of pauses
  absl::Duration pause_;             // zero: nothing gathers
  absl::Duration current_;           // that, or zero where nothing comes
  int vain_pauses_ = 0;              // in a row

  // What has come since then, in so many reads; zero: there was none yet.
  absl::Duration start_;
  std::size_t reads_ = 0;
  Arrivals come_;
  bool waited_for_broker_ = false;  // in that time
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_READ_PACE_H_
