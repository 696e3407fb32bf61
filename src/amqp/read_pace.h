#ifndef RETRYQ_SRC_AMQP_READ_PACE_H_
#define RETRYQ_SRC_AMQP_READ_PACE_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/time/time.h"

namespace retryq::amqp {

// What a read has brought.
struct Arrivals {
  // Of messages, confirms and other answers. Where messages are so large that few make a read, to
  // read them less often saves little, and takes them out of the caches.
  std::size_t count = 0;

  // How large a part of all that the broker had leave to send: of the prefetch, or of the publishes
  // unconfirmed. What is not limited has no part; what somebody waits for is all of it. 0 to 1.
  double share = 0;
};

// How long what comes may gather before it is read, as network cards gather packets before they
// interrupt. A turn of the loop costs as much as dozens of messages in it: another thread gives up
// its core, memory is fetched anew, packets are sent and acknowledged. A client that is quicker
// than its broker would pay that for every few messages.
//
// Nothing gathers unless many reads follow upon each other at once anyway. And while a pause lasts
// the broker must have enough to go on with: by Little's law, where each read brings a sixteenth of
// all that may be under way, the pause is a sixteenth of the time that a message takes from one end
// to the other. So that is as long as it gets, and as much of its throughput as a broker that has
// time to spare can lose.
class ReadPace {
 public:
  // Pauses are no longer than that; if it is below kShortest there are none.
  explicit ReadPace(absl::Duration longest) : longest_(longest) {}

  // The pauses are this and its doubles: ticks of one length fall on those of all shorter ones.
  static constexpr absl::Duration kShortest = absl::Microseconds(250);

  // From now on pauses are at least as long as that one's.
  void Follow(std::shared_ptr<const ReadPace> leader) { leader_ = std::move(leader); }

  // A new connection: nothing gathers any more.
  void Reset();

  // To be called behind each read, or pause in which nothing came, at `now`. How long to gather
  // from now on; zero: no longer than until something comes.
  absl::Duration After(const Arrivals& arrivals, absl::Duration now);

 private:
  // While nothing gathers: whether it had better.
  bool IsBusy(const Arrivals& arrivals, absl::Duration now);
  void Adjust(const Arrivals& arrivals);

  const absl::Duration longest_;
  std::shared_ptr<const ReadPace> leader_;  // may be null
  absl::Duration pause_;                    // zero: nothing gathers
  int vain_pauses_ = 0;                     // in a row

  // While nothing gathers: some reads in a row, when they began, and what they have brought.
  int reads_ = 0;
  absl::Duration first_read_;
  std::size_t count_ = 0;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_READ_PACE_H_
