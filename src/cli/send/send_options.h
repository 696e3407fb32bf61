#ifndef RETRYQ_CLI_SEND_SEND_OPTIONS_H_
#define RETRYQ_CLI_SEND_SEND_OPTIONS_H_

#include <cstddef>
#include <optional>

#include "absl/time/time.h"
#include "cli/connect/broker_watch.h"
#include "retryq/client.h"
#include "retryq/outgoing_message.h"
#include "retryq/work_queue.h"

namespace retryq::cli {

// With `send --lines`: a message for each line of stdin.
struct SendLinesOptions {
  std::size_t in_flight = 2000;  // messages that are not answered yet, at most
};

// What `retryq send` is asked to do.
struct SendOptions {
  ClientOptions client;
  OutgoingMessage message;  // with `lines`: what lines do not give
  PublishOptions publish;
  bool body_from_stdin = false;           // else it is in `message`
  std::optional<SendLinesOptions> lines;  // none: one message
  std::optional<WorkQueue> declare;       // the queue, if it is missing; none: it must exist
  absl::Duration wait = kDefaultWait;     // for a broker that cannot be reached
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_SEND_SEND_OPTIONS_H_
