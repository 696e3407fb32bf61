#ifndef RETRYQ_CLI_SEND_SEND_OPTIONS_H_
#define RETRYQ_CLI_SEND_SEND_OPTIONS_H_

#include "absl/time/time.h"
#include "retryq/client.h"
#include "retryq/outgoing_message.h"

namespace retryq::cli {

// What `retryq send` is asked to do.
struct SendOptions {
  ClientOptions client;
  OutgoingMessage message;
  PublishOptions publish;
  bool body_from_stdin = false;  // else it is in `message`
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_SEND_SEND_OPTIONS_H_
