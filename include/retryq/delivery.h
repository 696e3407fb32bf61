#ifndef RETRYQ_DELIVERY_H_
#define RETRYQ_DELIVERY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/amqp/message.h"
#include "retryq/amqp/table.h"
#include "retryq/export.h"

namespace retryq {

// The headers of a delivery as its first publisher set them: those that retrying and dead-lettering
// add (`x-retry-…` as doc/on_the_wire.md lists them, `x-death`, `x-first-death-*`,
// `x-last-death-*`, `x-delivery-count`, `x-acquired-count`) are left out, so that a handler which
// publishes further does not forward them by accident. Headers named `x-retry-…` that an
// application uses itself are shown. A view, as cheap as a pointer: it and all that it answers but
// `Decode` live as long as any copy of its Delivery. Thread-safe for reading.
class RETRYQ_EXPORT Headers {
 public:
  explicit Headers(amqp::TableView all) : all_(all) {}

  std::optional<amqp::FieldView> Find(std::string_view name) const;
  std::optional<std::string_view> FindString(std::string_view name) const;
  std::optional<std::int64_t> FindInt64(std::string_view name) const;

  // All of them, decoded. kInvalidArgument for more than 32 levels of nesting: such headers can
  // still be passed on, by `all()`.
  absl::StatusOr<amqp::Table> Decode() const;

  // With nothing left out.
  amqp::TableView all() const { return all_; }

  // Whether a name is one of those left out.
  bool IsHidden(std::string_view name) const;

 private:
  amqp::TableView all_;
};

// One message, as a handler sees it. A cheap handle: copies share the buffer, and every view lives
// as long as any copy. Thread-safe for reading.
class RETRYQ_EXPORT Delivery {
 public:
  // What retrying knows about a message from its `x-retry-*` headers.
  struct History {
    std::uint64_t failures = 0;  // of the handler, so far
    std::optional<absl::Time> first_failure = std::nullopt;
    std::optional<absl::Time> not_before = std::nullopt;  // of the retry that this delivery is
    std::optional<absl::Duration> delay = std::nullopt;   // the same
    // What was to be left of the delay when this copy left its delay queue, where the delay takes
    // more than one.
    std::optional<absl::Duration> remaining = std::nullopt;
    std::string_view last_error = {};  // at most 1 KiB
    std::string_view id = {};          // x-retry-id; empty before the first failure
    std::string_view exchange = {};    // where it was first published, and with which key
    std::string_view routing_key = {};
  };

  // Where deliveries come from: what all of one consumer share until its channel is gone.
  // Thread-safe.
  struct Source {
    explicit Source(std::string of_queue) : queue(std::move(of_queue)) {}
    const std::string queue;
    std::atomic<bool> abandoned = false;  // its channel is gone: the broker has requeued them
  };

  Delivery(amqp::MessagePtr message, std::shared_ptr<const Source> source, History history);
  // From a source of its own.
  Delivery(amqp::MessagePtr message, const std::shared_ptr<const std::string>& queue,
           History history);

  std::string_view body() const { return message_->body; }
  const amqp::Properties& properties() const { return message_->properties; }
  Headers headers() const;

  // Where it was first published: not the exchange it came back through. What came back is believed
  // in what its headers tell, which its publisher may have made up; `message()` has what the broker
  // reports. The same goes for `attempt`, `first_failure`, `last_error` and `id`.
  std::string_view exchange() const { return history_.exchange; }
  std::string_view routing_key() const { return history_.routing_key; }
  std::string_view queue() const { return source_->queue; }

  // Calls of a handler that failed before this one; 0 at first.
  std::uint64_t attempt() const { return history_.failures; }
  std::optional<absl::Time> first_failure() const { return history_.first_failure; }
  std::string_view last_error() const { return history_.last_error; }

  // What a handler that must be idempotent remembers: the same for all copies of a message. The
  // `x-retry-id`, else the message-id; empty where there is neither, which is so only before the
  // first failure.
  std::string_view id() const;

  // Whether the broker has delivered this copy before, perhaps to someone who died.
  bool redelivered() const { return message_->redelivered; }

  // Whether the outcome will be ignored: the message's channel is gone, or its consumer, and the
  // broker delivers it again, perhaps to another consumer. A handler that takes long can check it
  // and give up. Thread-safe.
  bool abandoned() const { return source_->abandoned.load(std::memory_order_relaxed); }

  const amqp::MessagePtr& message() const { return message_; }
  const History& history() const { return history_; }

 private:
  amqp::MessagePtr message_;
  std::shared_ptr<const Source> source_;
  History history_;
};

}  // namespace retryq

#endif  // RETRYQ_DELIVERY_H_
