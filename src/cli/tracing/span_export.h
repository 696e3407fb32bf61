#ifndef RETRYQ_CLI_TRACING_SPAN_EXPORT_H_
#define RETRYQ_CLI_TRACING_SPAN_EXPORT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/flags/flag_parser.h"
#include "retryq/delivery.h"
#include "retryq/event_loop.h"
#include "retryq/tracing.h"

namespace retryq::cli {

// Adds --otlp, whose URL is assigned to `*url`. Any build of the command accepts the flag.
void AddOtlpFlag(FlagParser& parser, const std::string& help, std::string* url);

// Makes the spans of a command and sends them to an OpenTelemetry collector, by OTLP over HTTP, on
// threads of its own. The standard variables (OTEL_SERVICE_NAME, OTEL_EXPORTER_OTLP_…) apply. At
// most one per process.
class SpanExport {
 public:
  static constexpr absl::Duration kPatience = absl::Seconds(2);
  static constexpr absl::Duration kReportEvery = absl::Minutes(1);

  // Called on the loop's thread with the reason why spans may be lost, at most once every
  // kReportEvery.
  using Say = std::function<void(const std::string& why)>;

  // An empty URL makes no spans. `loop` must outlive it.
  SpanExport(EventLoop& loop, const std::string& url, Say say);
  // Sends the spans that have ended, and waits up to kPatience for the collector. Call it after the
  // client and all deliveries are destroyed.
  ~SpanExport();

  // Returns kInvalidArgument, with the remedy, if the command was built without opentelemetry-cpp;
  // kResourceExhausted if no thread can be started.
  const absl::Status& status() const { return status_; }

  // Null if no spans are made.
  Tracer* tracer() const;

 private:
  class Pipeline;

  absl::Status status_;
  std::unique_ptr<Pipeline> pipeline_;
};

// Returns the `traceparent` of the attempt's span; empty if it has none.
std::string AttemptTraceparent(const Delivery& delivery);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_TRACING_SPAN_EXPORT_H_
