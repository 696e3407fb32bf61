#ifndef RETRYQ_CLI_CONNECT_ORDERLY_END_H_
#define RETRYQ_CLI_CONNECT_ORDERLY_END_H_

#include <vector>

#include "absl/time/time.h"
#include "loop/libevent_ptr.h"
#include "retryq/amqp/connection.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

// How long a command waits at its end for the connection to close. RabbitMQ logs a connection that
// ends without a close as an error of the client.
inline constexpr absl::Duration kGoodbye = absl::Seconds(1);

// Closes the connection and runs the loop until it is closed.
void SayGoodbye(EventLoop& loop, amqp::Connection& connection);

// Closes the connections of the client on this loop.
void SayGoodbye(EventLoop& loop);

// Disables the default actions of SIGINT, SIGTERM and SIGHUP during its lifetime. A signal before
// or during EventLoop::RunUntilSignal ends that call; later signals must not kill the process while
// it shuts down.
class HeldSignals {
 public:
  // kIgnored: only the exit follows, and the exit code must be that of the completed work.
  enum class Afterwards { kAsBefore, kIgnored };

  // `loop` must outlive it.
  explicit HeldSignals(EventLoop& loop, Afterwards afterwards = Afterwards::kAsBefore);

 private:
  std::vector<EventPtr> held_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_CONNECT_ORDERLY_END_H_
