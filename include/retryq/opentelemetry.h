#ifndef RETRYQ_OPENTELEMETRY_H_
#define RETRYQ_OPENTELEMETRY_H_

#include <memory>
#include <string>

#include "opentelemetry/nostd/shared_ptr.h"
#include "opentelemetry/trace/span.h"
#include "opentelemetry/trace/tracer.h"
#include "retryq/delivery.h"
#include "retryq/export.h"
#include "retryq/tracing.h"

namespace retryq {

// Makes spans of attempts and publishes, by OpenTelemetry's conventions for RabbitMQ. Part of the
// library retryq::opentelemetry.
//
//   OpenTelemetryTracer tracer(provider->GetTracer("shop"));
//   Client client(loop, {.tracer = &tracer});
//
// Each call of a handler is a span "process <queue>" of the kind CONSUMER, from the call to the
// outcome. It has links to the publish, if the message has a header `traceparent`, and to the
// attempt before. On the handler's thread it is the active span until the handler returns; a
// coroutine has it whenever it runs. A publish is a span "publish <exchange>", or "publish <queue>"
// through the default exchange, of the kind PRODUCER, from the call to the result. Its parent is
// the active span of the thread that publishes. It sets `traceparent` and `tracestate` in the
// message, unless the message has a `traceparent`, which becomes a link.
//
// Copies keep the `traceparent` of the publisher unchanged; the context of the last attempt is in
// `x-retry-traceparent` and `x-retry-tracestate` (W3C Trace Context). doc/tracing.md lists the
// attributes. Nothing here waits for an exporter: use a BatchSpanProcessor.
class RETRYQ_EXPORT OpenTelemetryTracer final : public Tracer {
 public:
  // `tracer` is shared with the spans; its provider must live until the last of them has ended.
  explicit OpenTelemetryTracer(
      opentelemetry::nostd::shared_ptr<opentelemetry::trace::Tracer> tracer);

  std::shared_ptr<AttemptTrace> OnAttempt(const Delivery& delivery) override;
  void OnCopy(const Delivery& delivery, EventKind kind, TraceHeaders& headers) override;
  std::shared_ptr<void> Context() override;
  std::unique_ptr<PublishTrace> OnPublish(const OutgoingMessage& message,
                                          const PublishOptions& options,
                                          const std::shared_ptr<void>& context,
                                          TraceHeaders& headers) override;

 private:
  const opentelemetry::nostd::shared_ptr<opentelemetry::trace::Tracer> tracer_;
};

// Returns the span of this call of the handler, for a handler that continues elsewhere: for example
// as the parent of its own spans. An invalid span, which records nothing, if there is none.
// Thread-safe.
RETRYQ_EXPORT opentelemetry::nostd::shared_ptr<opentelemetry::trace::Span> SpanOf(
    const Delivery& delivery);

// Returns the `traceparent` of that span; empty if there is none.
RETRYQ_EXPORT std::string TraceparentOf(const Delivery& delivery);

}  // namespace retryq

#endif  // RETRYQ_OPENTELEMETRY_H_
