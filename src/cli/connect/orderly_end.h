#ifndef RETRYQ_CLI_CONNECT_ORDERLY_END_H_
#define RETRYQ_CLI_CONNECT_ORDERLY_END_H_

#include <vector>

#include "absl/time/time.h"
#include "loop/libevent_ptr.h"
#include "retryq/amqp/connection.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

// How long a command that has done its work waits for the broker's goodbye. RabbitMQ logs a
// connection that just ends as a trouble of the client.
inline constexpr absl::Duration kGoodbye = absl::Seconds(1);

// Closes the connection, and runs the loop until it is closed.
void SayGoodbye(EventLoop& loop, amqp::Connection& connection);

// The same for the client on this loop.
void SayGoodbye(EventLoop& loop);

// As long as it lives SIGINT, SIGTERM and SIGHUP do nothing by default. Those that come while
// EventLoop::RunUntilSignal runs, or before it, end that; any number of those that come later must
// not end the process amid what it ends.
class HeldSignals {
 public:
  // Ignored: where nothing but the exit follows, which must have the code of the work that was
  // done.
  enum class Afterwards { kAsBefore, kIgnored };

  // `loop` must outlive it.
  explicit HeldSignals(EventLoop& loop, Afterwards afterwards = Afterwards::kAsBefore);

 private:
  std::vector<EventPtr> held_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_CONNECT_ORDERLY_END_H_
