#ifndef RETRYQ_SRC_AMQP_CONNECTION_HEARTBEAT_H_
#define RETRYQ_SRC_AMQP_CONNECTION_HEARTBEAT_H_

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "retryq/broker/timers.h"

namespace retryq::amqp {

// Monitors whether the peer of a connection is alive. Calls `send` if nothing was sent for half an
// interval, and `dead` if nothing has arrived for two intervals (less an eighth of one at most), so
// that an unplugged cable is noticed within two intervals.
//
// It counts its own ticks instead of time, so that a program that was suspended for a minute first
// reads the data that arrived meanwhile, and does not treat the peer as dead.
class Heartbeat {
 public:
  struct Callbacks {
    std::function<void()> send;
    std::function<void()> dead;  // at most once; may destroy this
  };

  // If `interval` is zero, there are no heartbeats in either direction.
  Heartbeat(Timers& timers, absl::Duration interval, Callbacks callbacks);

  void OnSent() { unsent_ticks_ = 0; }
  void OnReceived() { silent_ticks_ = 0; }

 private:
  void StartTick();
  void OnTick();

  Timers& timers_;
  const absl::Duration tick_;
  const Callbacks callbacks_;
  int unsent_ticks_ = 0;  // ticks since something was sent
  int silent_ticks_ = 0;  // ticks since something was received
  std::unique_ptr<Timer> timer_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CONNECTION_HEARTBEAT_H_
