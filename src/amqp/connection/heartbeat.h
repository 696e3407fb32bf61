#ifndef RETRYQ_SRC_AMQP_CONNECTION_HEARTBEAT_H_
#define RETRYQ_SRC_AMQP_CONNECTION_HEARTBEAT_H_

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "retryq/timers.h"

namespace retryq::amqp {

// Keeps a connection known to be alive: asks for a heartbeat whenever nothing else was
// sent for half an interval, and says when nothing has come for two (an eighth of one less at
// most), so that a cable that is pulled is noticed within two intervals.
//
// It counts its own ticks, not time: a program that was held up for a minute finds what
// came meanwhile in its socket first, and does not take the peer for dead.
class Heartbeat {
 public:
  struct Callbacks {
    std::function<void()> send;
    std::function<void()> dead;  // at most once; may destroy this
  };

  // `interval` zero: no heartbeats either way.
  Heartbeat(Timers& timers, absl::Duration interval, Callbacks callbacks);

  void OnSent() { unsent_ticks_ = 0; }
  void OnReceived() { silent_ticks_ = 0; }

 private:
  void StartTick();
  void OnTick();

  Timers& timers_;
  const absl::Duration tick_;
  const Callbacks callbacks_;
  int unsent_ticks_ = 0;  // since something was sent
  int silent_ticks_ = 0;  // since something was received
  std::unique_ptr<Timer> timer_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CONNECTION_HEARTBEAT_H_
