#ifndef RETRYQ_OUTGOING_MESSAGE_H_
#define RETRYQ_OUTGOING_MESSAGE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "retryq/amqp/table.h"

namespace retryq {

// A message to publish, now or later. Owns what it names. Texts are at most 255 bytes, except the
// body. A property whose text is empty is not sent.
struct OutgoingMessage {
  std::string exchange = {};  // "" is the default exchange: the routing key names a queue
  std::string routing_key = {};
  std::string body = {};
  std::string content_type = {};
  std::string message_id = {};
  amqp::Table headers = {};
  std::string content_encoding = {};  // such as gzip; the body is sent as it is
  std::string correlation_id = {};
  std::string reply_to = {};  // the queue for an answer
  std::string type = {};      // what kind of message it is, to the application
  std::string app_id = {};
  std::string user_id = {};  // the connection's user: the broker refuses any other

  // For queues that have priorities, and quorum queues of RabbitMQ 4. 0 to 255. A delay is kept
  // whatever the priority.
  std::optional<std::uint8_t> priority = std::nullopt;
  // When it was made; whole seconds since 1970 are sent.
  std::optional<absl::Time> timestamp = std::nullopt;
  // How long it may wait in its queue until the broker drops it or dead-letters it: zero to ten
  // years, sent in whole milliseconds. Not with a delay, which it would end early. Copies of a
  // message that fails do not expire.
  std::optional<absl::Duration> expiration = std::nullopt;
  // Transient: a classic queue need not write it to disk and loses it when the broker restarts. A
  // quorum queue writes it anyway. Copies of a message that fails are persistent.
  bool transient = false;
};

// When a message shall arrive.
struct PublishOptions {
  // So long after it is published; zero or less: at once. The exchange or the queue must be there
  // already; an exchange that leads to no queue when the message is due drops it, and nobody hears
  // of that.
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
