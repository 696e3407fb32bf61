#ifndef RETRYQ_SRC_AMQP_TRANSPORT_READ_PACE_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_READ_PACE_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/time/time.h"

namespace retryq::amqp {

// The result of a read.
struct Arrivals {
  std::size_t count = 0;  // messages, confirms and other replies
  std::size_t bytes = 0;

  std::size_t used_up = 0;      // total prefetch of channels that used it up meanwhile
  std::size_t unconfirmed = 0;  // publishes that are still unconfirmed

  // The fraction, 0 to 1, of the data that the broker was allowed to send: of the prefetch, or of
  // the unconfirmed publishes. It is 0 for data without a limit, and 1 for replies for which the
  // client waits.
  double share = 0;

  // Adds the arrivals of another channel of the same connection.
  void Add(const Arrivals& other);
};

// Determines how long data may accumulate before it is read, like interrupt coalescing of network
// cards. A turn of the loop costs as much as dozens of messages in it: another thread loses its
// core, caches are filled again, packets are sent and acknowledged. A client that is faster than
// its broker would have this cost for every few messages.
//
// If nothing arrived during two pauses, the next data is read at once, and later data accumulates
// again. The length of pauses is decided from time to time, by the rates since the last decision:
//
// - During a pause the broker must have enough to work on. By Little's law, a pause that brings an
//   eighth of all messages that may be under way is an eighth of the time that a message takes from
//   end to end. So this is the longest pause, and the largest fraction of its throughput that an
//   idle broker can lose. The limit is a quarter if the round trip is below kShortest: the rest of
//   that time is the broker's own work, which continues.
// - The data must fit into kFull, which ends a pause early.
// - Pauses may be four times as long if everything waits for a near broker: a prefetch is used up,
//   and half of it or more are publishes whose confirms come a few at a time. Data that stays
//   unread for some milliseconds would otherwise wait longer at the broker.
// - There are no pauses unless they save turns, and bring enough data for a noticeable effect.
class ReadPace {
 public:
  // Pauses are not longer than `longest`, or four times that if everything waits for the broker. If
  // it is below kShortest, there are no pauses.
  explicit ReadPace(absl::Duration longest) : longest_(longest) {}

  // Pauses are this time doubled any number of times, so ticks of a pause coincide with those of
  // all shorter ones.
  static constexpr absl::Duration kShortest = absl::Microseconds(250);

  // A pause ends early when this number of bytes has arrived.
  static constexpr std::size_t kFull = std::size_t{512} << 10;

  // From now on pauses are at least as long as those of `leader`, which continue while data arrives
  // here. Publishes on this connection come from deliveries on that one.
  void Follow(std::shared_ptr<ReadPace> leader) { leader_ = std::move(leader); }

  // Call it for a new connection with this round-trip time. At first data does not accumulate.
  void Reset(absl::Duration round_trip = absl::InfiniteDuration());

  // Call it at `now` after each read, and after each pause without data. Returns how long data
  // accumulates from now on; zero: until something arrives.
  absl::Duration After(const Arrivals& arrivals, absl::Duration now);

 private:
  void Count(const Arrivals& arrivals, absl::Duration now);
  void Begin(absl::Duration now);
  bool IsNear() const { return round_trip_ < kShortest; }
  // The best pause for the data that has arrived in this time.
  absl::Duration BestPause(absl::Duration elapsed) const;
  // Whether this data could have arrived in this number of pauses, and whether the pauses are
  // worthwhile.
  bool Fits(double pauses) const;
  bool IsWorthwhile(double pauses) const;

  const absl::Duration longest_;
  absl::Duration round_trip_ = absl::InfiniteDuration();
  std::shared_ptr<ReadPace> leader_;  // may be null
  // Unconfirmed publishes of the follower, if their confirms are worth gathering.
  std::size_t followers_unconfirmed_ = 0;
  absl::Duration limit_ = longest_;  // of pauses
  absl::Duration pause_;             // zero if nothing gathers
  absl::Duration current_;           // pause_, or zero if nothing arrives
  int vain_pauses_ = 0;              // consecutive pauses without data

  // What has arrived since `start_`, in `reads_` reads; zero if there was no read.
  absl::Duration start_;
  std::size_t reads_ = 0;
  Arrivals come_;
  bool waited_for_broker_ = false;  // in that time
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_READ_PACE_H_
