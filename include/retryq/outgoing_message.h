#ifndef RETRYQ_OUTGOING_MESSAGE_H_
#define RETRYQ_OUTGOING_MESSAGE_H_

#include <concepts>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "retryq/amqp/table.h"
#include "retryq/duration.h"

namespace retryq {

// Contiguous bytes of a type that does not convert to std::string.
template <typename T>
concept OtherBytes = !std::convertible_to<T, std::string> && requires(const T& bytes) {
  requires sizeof(*std::data(bytes)) == 1;
  std::size(bytes);
};

// The bytes of a message: a std::string that may also be made of any other contiguous bytes, such
// as a std::vector<std::byte> or a std::span<const std::uint8_t>.
class Body : public std::string {
 public:
  using std::string::string;
  Body() = default;
  // NOLINTBEGIN(google-explicit-constructor)
  template <std::convertible_to<std::string> Text>
  Body(Text&& text) : std::string(std::forward<Text>(text)) {}
  template <OtherBytes Bytes>
  Body(const Bytes& bytes)
      : std::string(reinterpret_cast<const char*>(std::data(bytes)), std::size(bytes)) {}
  // NOLINTEND(google-explicit-constructor)
};

// A message to publish, now or later. Owns its data. Texts are at most 255 bytes, except the body.
// A property whose text is empty is not sent.
struct OutgoingMessage {
  std::string exchange = {};  // "" is the default exchange: the routing key names a queue
  std::string routing_key = {};
  Body body = {};
  std::string content_type = {};
  std::string message_id = {};
  amqp::Table headers = {};
  std::string content_encoding = {};  // such as gzip; the body is sent as it is
  std::string correlation_id = {};
  std::string reply_to = {};  // the queue for replies
  std::string type = {};      // kind of message, defined by the application
  std::string app_id = {};
  std::string user_id = {};  // must be the user of the connection: the broker refuses any other

  // For queues that have priorities, and quorum queues of RabbitMQ 4. 0 to 255. The priority does
  // not change a delay.
  std::optional<std::uint8_t> priority = std::nullopt;
  // When the message was created; sent as whole seconds since 1970.
  std::optional<absl::Time> timestamp = std::nullopt;
  // How long the message may wait in its queue before the broker drops or dead-letters it: zero to
  // ten years, sent in whole milliseconds. Cannot be combined with a delay, which it would end
  // early. Copies of a message that fails do not expire.
  std::optional<Duration> expiration = std::nullopt;
  // Transient: a classic queue need not write the message to disk, and loses it when the broker
  // restarts. A quorum queue writes it anyway. Copies of a message that fails are persistent.
  bool transient = false;
};

// When a message is to arrive.
struct PublishOptions {
  // Delay after the publish; zero or less: none. The exchange or the queue must already exist. If
  // the exchange routes to no queue when the message is due, the message is dropped, and this is
  // not reported.
  Duration delay = absl::ZeroDuration();

  // Instead of `delay`: the message arrives no earlier than this, by this machine's clock. A time
  // in the past: at once.
  std::optional<absl::Time> at = std::nullopt;

  // False: exact, up to ten years, for consumers of retryq. A delay that is not a step of the
  // DelayGrid begins with the longest step that is not longer: the message reaches its queue before
  // it is due, perhaps several times, and the consumers forward it for the rest of the delay
  // without calling the handler. A consumer that does not use retryq gets the message too early.
  // Through a named exchange, the message reaches each queue to which the exchange routes it, and
  // the consumers of each queue forward their own copy.
  //
  // True: the delay is rounded up to a step of the grid, and applies to every consumer; at most
  // DelayGrid::kLongest. The message waits in a single delay queue.
  bool round_up = false;

  // Time after which the publish fails with kUnavailable.
  Duration deadline = absl::Seconds(30);
};

}  // namespace retryq

#endif  // RETRYQ_OUTGOING_MESSAGE_H_
