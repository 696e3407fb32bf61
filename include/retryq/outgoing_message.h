#ifndef RETRYQ_OUTGOING_MESSAGE_H_
#define RETRYQ_OUTGOING_MESSAGE_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "retryq/amqp/table.h"

namespace retryq {

// A message to publish, now or later. Owns what it names.
struct OutgoingMessage {
  std::string exchange = {};  // "" is the default exchange: the routing key names a queue
  std::string routing_key = {};
  std::string body = {};
  std::string content_type = {};  // none if empty
  std::string message_id = {};    // none if empty
  amqp::Table headers = {};
};

// When a message shall arrive.
struct PublishOptions {
  // So long after it is published; zero or less: at once.
  absl::Duration delay = absl::ZeroDuration();

  // Instead: not before this time, by this machine's clock. A time that is over: at once.
  std::optional<absl::Time> at = std::nullopt;

  // False: exact, up to ten years, for consumers of retryq. A delay that is no step of the
  // DelayGrid begins with the longest one that fits into it: the message comes to its queue before
  // it is due, perhaps several times, and they send it on for the rest without calling the handler.
  // A consumer that is none of retryq's gets it as early as that. Through a named exchange it comes
  // so to each queue that the exchange leads it to, and the consumer of each sends its own on.
  //
  // True: the delay is rounded up to a step of the grid, and holds for every consumer; at most
  // DelayGrid::kLongest. A message is in one delay queue until then.
  bool round_up = false;

  // When to give up.
  absl::Duration deadline = absl::Seconds(30);
};

}  // namespace retryq

#endif  // RETRYQ_OUTGOING_MESSAGE_H_
