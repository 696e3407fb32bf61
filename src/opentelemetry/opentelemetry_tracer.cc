#include <utf8.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/header_names.h"
#include "opentelemetry/common/attribute_value.h"
#include "opentelemetry/context/context.h"
#include "opentelemetry/context/propagation/text_map_propagator.h"
#include "opentelemetry/context/runtime_context.h"
#include "opentelemetry/trace/context.h"
#include "opentelemetry/trace/default_span.h"
#include "opentelemetry/trace/propagation/http_trace_context.h"
#include "opentelemetry/trace/scope.h"
#include "opentelemetry/trace/span_context.h"
#include "opentelemetry/trace/span_startoptions.h"
#include "retryq/opentelemetry.h"

namespace retryq {
namespace {

namespace otel = opentelemetry;
using otel::common::AttributeValue;
using otel::trace::SpanContext;
using SpanPtr = otel::nostd::shared_ptr<otel::trace::Span>;
using TracerPtr = otel::nostd::shared_ptr<otel::trace::Tracer>;

constexpr std::string_view kTraceparent = "traceparent";
constexpr std::string_view kTracestate = "tracestate";
constexpr std::size_t kMaxTextSize = 1024;

otel::nostd::string_view View(std::string_view text) { return {text.data(), text.size()}; }
std::string_view Std(otel::nostd::string_view text) { return {text.data(), text.size()}; }

// Exporters refuse all spans of a batch if a text of one of them is not UTF-8.
std::string Text(std::string_view bytes) {
  bytes = bytes.substr(0, kMaxTextSize);
  std::string text;
  utf8::replace_invalid(bytes.begin(), bytes.end(), std::back_inserter(text));
  return text;
}

// The attributes of a span that is about to start.
class Attributes {
 public:
  using All = std::vector<std::pair<otel::nostd::string_view, AttributeValue>>;

  // Empty texts are left out.
  void Add(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    const std::string& text = texts_.emplace_back(Text(value));
    all_.emplace_back(View(key), View(text));
  }
  void AddNumber(std::string_view key, std::int64_t value) { all_.emplace_back(View(key), value); }

  const All& all() const { return all_; }

 private:
  std::deque<std::string> texts_;
  All all_;
};

using Links = std::vector<std::pair<SpanContext, Attributes::All>>;

// Through this class OpenTelemetry reads and writes a trace context. Values that are longer than a
// tracer may write are not read, because anyone who may publish can set them.
class Carrier final : public otel::context::propagation::TextMapCarrier {
 public:
  using Find = std::function<std::optional<std::string_view>(std::string_view name)>;
  using Store = std::function<void(std::string_view name, std::string_view value)>;

  explicit Carrier(Find find) : find_(std::move(find)) {}
  explicit Carrier(Store store) : store_(std::move(store)) {}

  otel::nostd::string_view Get(otel::nostd::string_view name) const noexcept override {
    const std::string_view value = find_(Std(name)).value_or(std::string_view());
    return value.size() <= TraceHeaders::kMostBytes ? View(value) : otel::nostd::string_view();
  }
  void Set(otel::nostd::string_view name, otel::nostd::string_view value) noexcept override {
    store_(Std(name), Std(value));
  }

 private:
  Find find_;
  Store store_;
};

// Returns an invalid context if there is none.
SpanContext Read(Carrier::Find find) {
  otel::context::Context none;
  const Carrier carrier(std::move(find));
  otel::trace::propagation::HttpTraceContext propagator;
  return otel::trace::GetSpan(propagator.Extract(carrier, none))->GetContext();
}

void Write(const SpanPtr& span, Carrier::Store store) {
  otel::context::Context context;
  Carrier carrier(std::move(store));
  otel::trace::propagation::HttpTraceContext().Inject(carrier, otel::trace::SetSpan(context, span));
}

void AddLink(const char* kind, const SpanContext& context, Links* links) {
  if (!context.IsValid()) return;
  links->push_back({context, {{"retryq.link", kind}}});
}

std::string JoinNames(std::initializer_list<std::string_view> names) {
  std::string joined;
  for (const std::string_view name : names) {
    if (name.empty()) continue;
    if (!joined.empty()) joined += ':';
    joined += name;
  }
  return joined;
}

void SetError(const SpanPtr& span, const absl::Status& error, std::string_view text) {
  const std::string type = error.ok() ? "_OTHER" : absl::StatusCodeToString(error.code());
  span->SetAttribute("error.type", View(type));
  span->SetStatus(otel::trace::StatusCode::kError, Text(text));
}

void SetDelay(const SpanPtr& span, absl::Duration delay) {
  span->SetAttribute("retryq.delay_ms", absl::ToInt64Milliseconds(delay));
}

class ActiveSpan final : public AttemptTrace::Scope {
 public:
  explicit ActiveSpan(const SpanPtr& span) : scope_(span) {}

 private:
  otel::trace::Scope scope_;
};

class Attempt final : public AttemptTrace {
 public:
  explicit Attempt(TracerPtr tracer) : tracer_(std::move(tracer)) {}
  ~Attempt() override {
    if (span_ == nullptr || has_ended_) return;
    span_->SetAttribute("retryq.outcome", "abandoned");
    span_->End();
  }

  std::unique_ptr<Scope> Enter(const Delivery& delivery) override {
    if (span_ == nullptr) span_ = Start(delivery);
    return std::make_unique<ActiveSpan>(span_);
  }

  void End(const AttemptEnd& end) override {
    has_ended_ = true;
    if (span_ == nullptr) return;
    span_->SetAttribute("retryq.outcome", View(EventName(end.decision)));
    if (end.delay) SetDelay(span_, *end.delay);
    const bool is_wanted =
        end.decision == EventKind::kDiscarded && end.outcome.kind() == Outcome::Kind::kDiscard;
    const bool has_failed =
        end.decision == EventKind::kRetried || end.decision == EventKind::kParked ||
        end.decision == EventKind::kRejected || end.decision == EventKind::kDiscarded;
    if (has_failed && !is_wanted) SetError(span_, end.outcome.status(), end.error);
    span_->End();
  }

  // Null before the handler is called.
  const SpanPtr& span() const { return span_; }

 private:
  SpanPtr Start(const Delivery& delivery) const {
    const std::string_view queue = delivery.queue();
    const std::string_view key = delivery.routing_key();
    const amqp::Properties& properties = delivery.properties();
    const amqp::Message& message = *delivery.message();
    Attributes attributes;
    attributes.Add("messaging.system", "rabbitmq");
    attributes.Add("messaging.operation.name", "process");
    attributes.Add("messaging.operation.type", "process");
    attributes.Add("messaging.destination.name",
                   JoinNames({delivery.exchange(), key, key == queue ? "" : queue}));
    attributes.Add("messaging.rabbitmq.destination.routing_key", key);
    attributes.AddNumber("messaging.rabbitmq.message.delivery_tag",
                         static_cast<std::int64_t>(message.delivery_tag.tag));
    attributes.Add("messaging.message.id", properties.message_id.value_or(delivery.id()));
    attributes.Add("messaging.message.conversation_id", properties.correlation_id.value_or(""));
    attributes.AddNumber("messaging.message.body.size",
                         static_cast<std::int64_t>(delivery.body().size()));
    attributes.AddNumber("retryq.attempt", static_cast<std::int64_t>(delivery.attempt()));
    attributes.Add("retryq.id", delivery.history().id);

    const Headers headers = delivery.headers();
    Links links;
    AddLink("publish", Read([&](std::string_view name) { return headers.FindString(name); }),
            &links);
    AddLink("attempt", Read([&](std::string_view name) -> std::optional<std::string_view> {
              const std::string_view kept =
                  name == kTraceparent ? kRetryTraceparentHeader : kRetryTracestateHeader;
              // Otherwise the application has set the header.
              if (!headers.IsHidden(kept)) return std::nullopt;
              return headers.all().FindString(kept);
            }),
            &links);
    otel::trace::StartSpanOptions options;
    options.kind = otel::trace::SpanKind::kConsumer;
    return tracer_->StartSpan(Text("process " + std::string(queue)), attributes.all(), links,
                              options);
  }

  const TracerPtr tracer_;
  SpanPtr span_;
  bool has_ended_ = false;
};

class PublishSpan final : public PublishTrace {
 public:
  explicit PublishSpan(SpanPtr span) : span_(std::move(span)) {}
  ~PublishSpan() override {
    if (!has_ended_) End(absl::CancelledError("the client was destroyed before the result"));
  }

  void End(const absl::Status& result) override {
    has_ended_ = true;
    if (!result.ok()) SetError(span_, result, result.ToString());
    span_->End();
  }

 private:
  const SpanPtr span_;
  bool has_ended_ = false;
};

}  // namespace

OpenTelemetryTracer::OpenTelemetryTracer(TracerPtr tracer) : tracer_(std::move(tracer)) {}

std::shared_ptr<AttemptTrace> OpenTelemetryTracer::OnAttempt(const Delivery& /*delivery*/) {
  return std::make_shared<Attempt>(tracer_);
}

void OpenTelemetryTracer::OnCopy(const Delivery& delivery, EventKind /*kind*/,
                                 TraceHeaders& headers) {
  const auto* const attempt = dynamic_cast<const Attempt*>(delivery.trace().get());
  if (attempt == nullptr || attempt->span() == nullptr) return;
  Write(attempt->span(), [&headers](std::string_view name, std::string_view value) {
    headers.Set(name == kTraceparent ? kRetryTraceparentHeader : kRetryTracestateHeader, value);
  });
}

std::shared_ptr<void> OpenTelemetryTracer::Context() {
  return std::make_shared<otel::context::Context>(otel::context::RuntimeContext::GetCurrent());
}

std::unique_ptr<PublishTrace> OpenTelemetryTracer::OnPublish(const OutgoingMessage& message,
                                                             const PublishOptions& options,
                                                             const std::shared_ptr<void>& context,
                                                             TraceHeaders& headers) {
  Attributes attributes;
  attributes.Add("messaging.system", "rabbitmq");
  attributes.Add("messaging.operation.name", "publish");
  attributes.Add("messaging.operation.type", "send");
  const std::string destination = JoinNames({message.exchange, message.routing_key});
  attributes.Add("messaging.destination.name",
                 destination.empty() ? std::string_view("amq.default") : destination);
  attributes.Add("messaging.rabbitmq.destination.routing_key", message.routing_key);
  attributes.Add("messaging.message.id", message.message_id);
  attributes.Add("messaging.message.conversation_id", message.correlation_id);
  attributes.AddNumber("messaging.message.body.size",
                       static_cast<std::int64_t>(message.body.size()));

  Links links;
  const auto find = [&message](std::string_view name) -> std::optional<std::string_view> {
    const amqp::Value* const value = message.headers.Find(name);
    const auto* const text = value == nullptr ? nullptr : std::get_if<std::string>(&value->variant);
    return text == nullptr ? std::nullopt : std::optional<std::string_view>(*text);
  };
  AddLink("creation", Read(find), &links);
  otel::trace::StartSpanOptions span_options;
  span_options.kind = otel::trace::SpanKind::kProducer;
  if (context != nullptr) {
    span_options.parent = *std::static_pointer_cast<otel::context::Context>(context);
  }
  const std::string_view target = message.exchange.empty() ? message.routing_key : message.exchange;
  SpanPtr span = tracer_->StartSpan(Text("publish " + std::string(target)), attributes.all(), links,
                                    span_options);
  if (options.delay > absl::ZeroDuration()) SetDelay(span, options.delay);
  bool is_ours = false;
  Write(span, [&](std::string_view name, std::string_view value) {
    // The state belongs to the parent.
    if (name == kTraceparent) is_ours = headers.Set(name, value);
    if (name == kTracestate && is_ours) headers.Set(name, value);
  });
  return std::make_unique<PublishSpan>(std::move(span));
}

SpanPtr SpanOf(const Delivery& delivery) {
  const auto* const attempt = dynamic_cast<const Attempt*>(delivery.trace().get());
  if (attempt != nullptr && attempt->span() != nullptr) return attempt->span();
  return SpanPtr(new otel::trace::DefaultSpan(SpanContext::GetInvalid()));
}

std::string TraceparentOf(const Delivery& delivery) {
  std::string traceparent;
  Write(SpanOf(delivery), [&](std::string_view name, std::string_view value) {
    if (name == kTraceparent) traceparent = value;
  });
  return traceparent;
}

}  // namespace retryq
