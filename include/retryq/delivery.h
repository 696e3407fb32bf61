#ifndef RETRYQ_DELIVERY_H_
#define RETRYQ_DELIVERY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "retryq/amqp/message.h"
#include "retryq/amqp/table.h"
#include "retryq/export.h"

namespace retryq {

class AttemptTrace;  // retryq/tracing.h

// The headers of a delivery as its first publisher set them. Headers that retrying and
// dead-lettering add (`x-retry-…` as listed in doc/on_the_wire.md, `x-death`, `x-first-death-*`,
// `x-last-death-*`, `x-delivery-count`, `x-acquired-count`) are left out, so that a handler that
// publishes the message elsewhere does not forward them by accident. An application's own headers
// named `x-retry-…` are included. A view, as cheap as a pointer. The view and everything that it
// returns, except by `Decode`, are valid as long as any copy of its Delivery exists. Thread-safe
// for reading.
class RETRYQ_EXPORT Headers {
 public:
  explicit Headers(amqp::TableView all) : all_(all) {}

  std::optional<amqp::FieldView> Find(std::string_view name) const;
  std::optional<std::string_view> FindString(std::string_view name) const;
  std::optional<std::int64_t> FindInt64(std::string_view name) const;

  // Decodes all of them. kInvalidArgument for more than 32 levels of nesting: such headers can
  // still be forwarded, by `all()`.
  absl::StatusOr<amqp::Table> Decode() const;

  // All headers of the delivery, including those of retrying and dead-lettering.
  amqp::TableView all() const { return all_; }

  // Returns whether the header of this name is left out.
  bool IsHidden(std::string_view name) const;

 private:
  amqp::TableView all_;
};

// The body of a delivery: a std::string_view that also converts to std::string, to
// absl::string_view, and to types that are made of an absl::string_view, such as the arguments of
// absl::StrCat, if Abseil was built with a string_view of its own, as on Debian 12.
class BodyView : public std::string_view {
 public:
  using std::string_view::string_view;

  // NOLINTBEGIN(google-explicit-constructor)
  constexpr BodyView(std::string_view body) : std::string_view(body) {}
  operator std::string() const { return std::string(data(), size()); }
  template <typename T>
  requires(!std::is_same_v<absl::string_view, std::string_view> &&
           std::is_constructible_v<T, absl::string_view> &&
           !std::is_constructible_v<T, std::string_view>)
  operator T() const {
    return T(absl::string_view(data(), size()));
  }
  // NOLINTEND(google-explicit-constructor)

  // GoogleTest prints it as a text.
  friend void PrintTo(const BodyView& body, std::ostream* out) {
    *out << '"' << static_cast<const std::string_view&>(body) << '"';
  }
};

// One message, as a handler receives it. A cheap handle: copies share the buffer, and every view
// lives as long as any copy. Thread-safe for reading.
class RETRYQ_EXPORT Delivery {
 public:
  // The retry history of a message, from its `x-retry-*` headers.
  struct History {
    std::uint64_t failures = 0;  // failed calls of the handler so far
    std::optional<absl::Time> first_failure = std::nullopt;
    std::optional<absl::Time> not_before = std::nullopt;  // when this retry was due
    std::optional<absl::Duration> delay = std::nullopt;   // the delay of this retry
    // If the delay takes several delay queues: the part of it that is to follow after the delay
    // queue of this copy.
    std::optional<absl::Duration> remaining = std::nullopt;
    std::string_view last_error = {};   // at most 1 KiB
    std::string_view id = {};           // x-retry-id; empty before the first failure
    std::string_view exchange = {};     // of the first publish
    std::string_view routing_key = {};  // of the first publish
  };

  // The source of deliveries: shared by all deliveries of one consumer until its channel is gone.
  // Thread-safe.
  struct Source {
    explicit Source(std::string of_queue) : queue(std::move(of_queue)) {}
    const std::string queue;
    std::atomic<bool> abandoned = false;  // the channel is gone: the broker has requeued all
  };

  Delivery(amqp::MessagePtr message, std::shared_ptr<const Source> source, const History& history);
  // Makes a source for this delivery alone.
  Delivery(amqp::MessagePtr message, const std::shared_ptr<const std::string>& queue,
           const History& history);

  BodyView body() const { return message_->body; }
  const amqp::Properties& properties() const { return message_->properties; }
  Headers headers() const;

  // The exchange of the first publish, not the one through which the message returned. For a
  // message that has returned it is taken from headers, which the publisher may have forged;
  // `message()` has what the broker reports. The same applies to `attempt`, `first_failure`,
  // `last_error` and `id`.
  std::string_view exchange() const { return history_.exchange; }
  std::string_view routing_key() const { return history_.routing_key; }
  std::string_view queue() const { return source_->queue; }

  // Number of handler calls that failed before this one; 0 at first.
  std::uint64_t attempt() const { return history_.failures; }
  std::optional<absl::Time> first_failure() const { return history_.first_failure; }
  std::string_view last_error() const { return history_.last_error; }

  // The id by which an idempotent handler recognizes a message: all copies of a message have the
  // same id. The `x-retry-id`, else the message-id; empty if there is neither, which is possible
  // only before the first failure.
  std::string_view id() const;

  // Whether the broker has delivered this copy before, perhaps to a worker that died.
  bool redelivered() const { return message_->redelivered; }

  // Whether the outcome will be ignored: the channel or the consumer of the message is gone, and
  // the broker delivers the message again, perhaps to another consumer. A handler that takes long
  // can check this and stop. Thread-safe.
  bool abandoned() const { return source_->abandoned.load(std::memory_order_relaxed); }

  const amqp::MessagePtr& message() const { return message_; }
  const History& history() const { return history_; }

  // The trace of this call of the handler; null without a tracer: see ClientOptions::tracer.
  const std::shared_ptr<AttemptTrace>& trace() const { return trace_; }
  // Sets it, for the consumer and for tests of handlers.
  void set_trace(std::shared_ptr<AttemptTrace> trace) { trace_ = std::move(trace); }

 private:
  amqp::MessagePtr message_;
  std::shared_ptr<const Source> source_;
  History history_;
  std::shared_ptr<AttemptTrace> trace_;
};

}  // namespace retryq

#endif  // RETRYQ_DELIVERY_H_
