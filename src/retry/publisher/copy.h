#ifndef RETRYQ_SRC_RETRY_PUBLISHER_COPY_H_
#define RETRYQ_SRC_RETRY_PUBLISHER_COPY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "retryq/amqp/message.h"
#include "retryq/amqp/properties.h"
#include "retryq/broker/copy_properties.h"
#include "retryq/broker/random.h"
#include "retryq/delivery.h"

namespace retryq {

// Describes the failures of a message in the headers of its copy. Queue, exchange and routing
// key come from the delivery.
struct Annotation {
  std::uint64_t failures = 0;  // including the present one, if any
  std::optional<absl::Time> first_failure = std::nullopt;
  std::optional<absl::Time> not_before = std::nullopt;  // not for a parked copy
  std::optional<absl::Duration> delay = std::nullopt;   // not for a parked copy
  std::optional<absl::Time> parked = std::nullopt;      // only for a parked copy
  absl::Duration remaining = absl::ZeroDuration();      // rest of the delay after its next queue
  std::string_view error = {};  // any bytes; converted to UTF-8 of at most 1 KiB
  // Only for a copy that returns to its queue: how long ago its message came. The copy keeps the
  // delivery mode, and the rest of the expiration.
  std::optional<absl::Duration> waited = std::nullopt;
  std::string_view id = {};         // see `NewRetryId`
  std::string_view elsewhere = {};  // see `FailuresElsewhere`
  std::string_view trace = {};      // encoded headers of the tracer, if any: see TraceHeaders
};

// The properties and headers of the copy of a message: those that CopyProperties keeps, and those
// of retryq. The body is the message's own. A Copy that is reused does not allocate.
//
//   PublishParams params{.body = delivery.body(), …};
//   if (copy.Build(delivery, annotation, broker.max_header_size(), &params.properties)) {
//     broker.Publish(params, …);
//   }
//
// Each `Build…` replaces the previous copy and all properties in `*properties`, and returns whether
// the content header fits into `max_header_size`. If it does not fit, there is nothing to publish.
// The properties are views of the message and of this object.
class Copy {
 public:
  // `queue`: the work queue of all deliveries that are copied.
  explicit Copy(std::string queue) : queue_(std::move(queue)) {}
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  // Builds a copy to be retried or, with neither `not_before` nor `delay`, to be parked. If space
  // is short, the error is shortened, then dropped, then `trace`, then `parked` or `not_before`,
  // then `delay`. The other headers limit the retries and return the message to its queue: if they
  // do not fit, park the message unchanged.
  [[nodiscard]] bool Build(const Delivery& delivery, const Annotation& annotation,
                           std::size_t max_header_size, amqp::Properties* properties);

  // Builds an unchanged copy, except for properties and headers because of which the broker would
  // refuse, route or expire it. The copy is never larger than the message. It is persistent, unless
  // the message has no delivery mode and no space for one.
  [[nodiscard]] bool BuildUnchanged(const amqp::Message& message, std::size_t max_header_size,
                                    amqp::Properties* properties);

  // Builds an unchanged copy that returns to its own queue: with its delivery mode, its `x-retry-…`
  // headers if it has any, and the rest of its expiration after `waited`.
  [[nodiscard]] bool BuildReturn(const amqp::Message& message, absl::Duration waited,
                                 std::size_t max_header_size, amqp::Properties* properties);

 private:
  // The headers that all copies of an exchange and routing key have, encoded. They are encoded
  // once; each copy sets its own numbers and id.
  struct Layout {
    std::string exchange, routing_key;
    std::size_t id_size = 0;
    std::string bytes;
    std::size_t count_at = 0;
    std::size_t first_failure_at = 0;  // 0 if there is none
    std::size_t id_at = 0;
    std::size_t delay_at = 0;       // 0 if there is none
    std::size_t not_before_at = 0;  // 0 if there is none
  };

  bool TryToBuild(const Delivery& delivery, const Annotation& annotation,
                  std::size_t max_header_size, amqp::Properties* properties);
  void Take(const amqp::Message& message, CopyPath path, amqp::Properties* properties);
  void AddLayout(const Delivery& delivery, const Annotation& annotation);
  void SetLayout(const Delivery& delivery, const Annotation& annotation);
  void DropLastTrace();
  void KeepRest(const amqp::Message& message, absl::Duration waited, amqp::Properties* properties);
  void AddOptional(const Annotation& annotation, std::size_t room);

  const std::string queue_;
  Layout layout_;        // of the last copy
  std::string headers_;  // of the last copy
  std::string error_;    // a member to reuse its capacity
  std::string expiration_;
};

// Converts a time to the milliseconds of headers. Rounds up, so that nothing happens too early.
std::int64_t UnixMillisRoundedUp(absl::Time time);

// Returns 128 random bits in hex: the id of a message that has none (`Delivery::id` is empty).
std::string NewRetryId(Random& random);
// Assigns a new id to `*out`, and reuses its memory.
void AssignNewRetryId(Random& random, std::string* out);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_PUBLISHER_COPY_H_
