#ifndef RETRYQ_TRACING_H_
#define RETRYQ_TRACING_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/amqp/table.h"
#include "retryq/delivery.h"
#include "retryq/export.h"
#include "retryq/observer.h"
#include "retryq/outcome.h"
#include "retryq/outgoing_message.h"

namespace retryq {

// The headers that a tracer adds to a message before it is published. Values are sent as long
// strings. All headers of a message, including these, must fit into a frame (frame_max, 128 KiB by
// default).
class RETRYQ_EXPORT TraceHeaders {
 public:
  static constexpr std::size_t kMostHeaders = 8;
  static constexpr std::size_t kMostBytes = 2048;  // of all names and values

  // Accepts any header that `Set` does not refuse.
  TraceHeaders() = default;
  // `is_taken` returns whether the message has, or must not have, a header of this name.
  explicit TraceHeaders(std::function<bool(std::string_view name)> is_taken)
      : is_taken_(std::move(is_taken)) {}

  // Adds a header, or replaces one that was added before. Returns false, and adds nothing:
  // if the message has a header of this name already, which stays as its publisher set it;
  // if the name begins with `x-retry-`, except `x-retry-traceparent` and `x-retry-tracestate`,
  // which only copies have, and which each copy may replace;
  // if RabbitMQ sets the header (`x-death`, `x-delivery-count`, …) or routes by it (`CC`, `BCC`);
  // if the name is empty, longer than 255 bytes or contains NUL; or if a limit above is exceeded.
  // For a copy that must equal the original message, it always returns false.
  bool Set(std::string_view name, std::string_view value);

  const amqp::Table& added() const { return added_; }

 private:
  std::function<bool(std::string_view name)> is_taken_;
  amqp::Table added_;
};

// How an attempt ended. The views are valid during the call.
struct AttemptEnd {
  // The decision about the message: kHandled, kRetried, kParked, kRejected, kDiscarded, kSnoozed or
  // kRequeued. It is carried out after the call.
  EventKind decision;
  // The handler's.
  const Outcome& outcome;
  // kRetried and kSnoozed.
  std::optional<absl::Duration> delay = std::nullopt;
  // Why the message is retried or given up, or the handler's reason; empty if there is none.
  std::string_view error = {};
};

// The trace of one call of a handler, made by a Tracer. All copies of the Delivery share it, so it
// may outlive the client, and is destroyed on the thread that destroys the last copy. If it is
// destroyed without `End`, the attempt was abandoned: the handler's outcome is ignored.
class RETRYQ_EXPORT AttemptTrace {
 public:
  // Exists while the handler runs.
  class Scope {
   public:
    virtual ~Scope() = default;
  };

  virtual ~AttemptTrace();

  // Called just before the handler, on its thread. The scope, which may be null, is destroyed on
  // that thread when the call returns. For a handler that is a coroutine, a new scope is made each
  // time that the coroutine continues. Not called if the message is requeued before a thread has
  // taken it. Must not throw.
  virtual std::unique_ptr<Scope> Enter(const Delivery& /*delivery*/) { return nullptr; }

  // Called once on the loop's thread, when the handler's outcome is known and the next step is
  // decided on.
  virtual void End(const AttemptEnd& /*end*/) {}
};

// The trace of one publish, made by a Tracer. If it is destroyed without `End`, the client was
// destroyed before the result was known.
class RETRYQ_EXPORT PublishTrace {
 public:
  virtual ~PublishTrace();

  // Called once on the loop's thread with the result, before the callback of the publish.
  virtual void End(const absl::Status& /*result*/) {}
};

// Follows messages from their publish through all attempts: see ClientOptions::tracer, and
// retryq/opentelemetry.h for one that makes spans. A tracer overrides the functions that it needs.
//
// The functions are called on the loop's thread, except `Context` and `AttemptTrace::Enter`. They
// must not block or throw. Like an Observer, they may call anything, and may destroy the client and
// its consumers, inside the call.
class RETRYQ_EXPORT Tracer {
 public:
  virtual ~Tracer();

  // The handler is about to be called, or waits for a thread. The result becomes
  // `Delivery::trace()`; return null to not trace this attempt.
  virtual std::shared_ptr<AttemptTrace> OnAttempt(const Delivery& /*delivery*/) { return nullptr; }

  // A copy of a delivery is about to be published. `kind` is the event that follows when it is
  // confirmed: kRetried, kSnoozed, kForwarded, kMoved, kRequeued or kParked. If there was an
  // attempt, `delivery.trace()` is that of its end. Called again if the copy must be published to
  // another destination, or again after a pause; the headers of the last call count. The tracer's
  // headers are omitted if they do not fit into the frame together with those that retryq needs.
  // Not called for a body that is parked while it arrives (ConsumerOptions::max_body).
  virtual void OnCopy(const Delivery& /*delivery*/, EventKind /*kind*/, TraceHeaders& /*headers*/) {
  }

  // Returns the context of the calling thread for `OnPublish`, when a Publisher is used on another
  // thread than the loop's. Called on that thread.
  virtual std::shared_ptr<void> Context() { return nullptr; }

  // A message is about to be published by Client::Publish or a Publisher. `context` is the result
  // of `Context`; null if the publish was made on the loop's thread. Not called for a publish that
  // is refused at once. Returns null to not trace it.
  virtual std::unique_ptr<PublishTrace> OnPublish(const OutgoingMessage& /*message*/,
                                                  const PublishOptions& /*options*/,
                                                  const std::shared_ptr<void>& /*context*/,
                                                  TraceHeaders& /*headers*/) {
    return nullptr;
  }
};

}  // namespace retryq

#endif  // RETRYQ_TRACING_H_
