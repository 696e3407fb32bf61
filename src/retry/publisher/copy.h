#ifndef RETRYQ_SRC_RETRY_PUBLISHER_COPY_H_
#define RETRYQ_SRC_RETRY_PUBLISHER_COPY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "retryq/amqp/message.h"
#include "retryq/amqp/properties.h"
#include "retryq/copy_properties.h"
#include "retryq/delivery.h"
#include "retryq/random.h"

namespace retryq {

// What a copy says about the failures of its message. Queue, exchange and routing key are the
// delivery's.
struct Annotation {
  std::uint64_t failures = 0;  // the one just now included, where there was one
  std::optional<absl::Time> first_failure = std::nullopt;
  std::optional<absl::Time> not_before = std::nullopt;  // neither of these two
  std::optional<absl::Duration> delay = std::nullopt;   // for a parked copy
  std::optional<absl::Time> parked = std::nullopt;      // for no other
  absl::Duration remaining = absl::ZeroDuration();      // after the delay queue it goes to
  std::string_view error = {};                          // any bytes: made UTF-8 of at most 1 KiB
  // Of a copy that returns to its queue: how long ago its message came. Such a copy keeps the
  // delivery mode, and what is left of the expiration.
  std::optional<absl::Duration> waited = std::nullopt;
  std::string_view id = {};         // see `NewRetryId`
  std::string_view elsewhere = {};  // see `FailuresElsewhere`
};

// The properties and headers of the copy of one message: what CopyProperties takes over, and what
// retrying sets. The body is the message's own. Reused
// from message to message it allocates nothing.
//
//   if (copy.Build(delivery, annotation, broker.max_header_size())) {
//     broker.Publish({.properties = copy.properties(), .body = delivery.body(), …}, …);
//   }
//
// Every `Build…` replaces what was built before and says whether the content header fits into
// `max_header_size`; if it does not, there is nothing to publish. The message must live as long as
// `properties` is used.
class Copy {
 public:
  Copy() = default;
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  // The copy to be retried, or with neither `not_before` nor `delay` the one to be parked. Where
  // space is short the error is shortened, then dropped, then `parked` or `not_before`, then
  // `delay`. The other headers are what keeps retries bounded and leads them back: where those do
  // not fit, the message is to be parked unchanged.
  [[nodiscard]] bool Build(const Delivery& delivery, const Annotation& annotation,
                           std::size_t max_header_size);

  // The message as it came, less what the broker would refuse, route by or expire it by: never
  // larger than it came. Persistent, unless it came without a delivery mode and has no room for
  // one.
  [[nodiscard]] bool BuildUnchanged(const amqp::Message& message, std::size_t max_header_size);

  // The message as it came, back into its own queue: with its delivery mode, its headers of
  // retrying if it has any, and what is left of its expiration, `waited` after it came.
  [[nodiscard]] bool BuildReturn(const amqp::Message& message, absl::Duration waited,
                                 std::size_t max_header_size);

  const amqp::Properties& properties() const { return properties_; }

 private:
  void Take(const amqp::Message& message, CopyPath path);
  void KeepRest(const amqp::Message& message, absl::Duration waited);
  void AddOptional(const Annotation& annotation, std::size_t room);

  amqp::Properties properties_;
  std::string headers_;  // what properties_.headers points into
  std::string error_;    // kept for its capacity
  std::string expiration_;
};

// A time that nothing may come before, as headers have it: in milliseconds, rounded up.
std::int64_t UnixMillisRoundedUp(absl::Time time);

// 128 random bits in hex: the id of a message that has none (`Delivery::id` is empty).
std::string NewRetryId(Random& random);
// The same in place of what is in `*out`, whose memory is used again.
void AssignNewRetryId(Random& random, std::string* out);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_PUBLISHER_COPY_H_
