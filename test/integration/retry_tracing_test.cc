// Spans of a client on a real broker, as an exporter in memory receives them.

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "opentelemetry/exporters/memory/in_memory_span_data.h"
#include "opentelemetry/exporters/memory/in_memory_span_exporter_factory.h"
#include "opentelemetry/sdk/trace/simple_processor_factory.h"
#include "opentelemetry/sdk/trace/tracer_provider.h"
#include "opentelemetry/sdk/trace/tracer_provider_factory.h"
#include "retryq/opentelemetry.h"
#include "support/retry_test.h"

namespace retryq::testing::retry_tracing_test {

namespace otel = opentelemetry;
using ::testing::ElementsAre;

std::string Text(const otel::trace::SpanContext& context) {
  char trace[32];
  char span[16];
  context.trace_id().ToLowerBase16(trace);
  context.span_id().ToLowerBase16(span);
  return "00-" + std::string(trace, 32) + "-" + std::string(span, 16) + "-01";
}

std::vector<std::string> LinksOf(const otel::sdk::trace::SpanData& span) {
  std::vector<std::string> links;
  for (const auto& link : span.GetLinks()) links.push_back(Text(link.GetSpanContext()));
  return links;
}

using RetryTracing = RetryTest;

TEST_F(RetryTracing, LinksTheAttemptsOfAMessageToItsPublish) {
  std::shared_ptr<otel::exporter::memory::InMemorySpanData> exported;
  const std::unique_ptr<otel::sdk::trace::TracerProvider> provider =
      otel::sdk::trace::TracerProviderFactory::Create(
          otel::sdk::trace::SimpleSpanProcessorFactory::Create(
              otel::exporter::memory::InMemorySpanExporterFactory::Create(exported)));
  OpenTelemetryTracer tracer(provider->GetTracer("test"));
  peer_.DeclareQueue("orders");
  ClientOptions options = Options();
  options.tracer = &tracer;
  Client client(loop_, options);
  // A span is exported when it ends: a delivery may be handled before its publish is confirmed.
  bool confirmed = false;
  client.Publish({.routing_key = "orders", .body = "an order"}, {},
                 [&](const absl::Status&) { confirmed = true; });
  ASSERT_TRUE(RunUntil([&] { return confirmed; }));
  const Consumer consumer =
      client
          .Consume({.queue = "orders", .retry = Every(absl::Milliseconds(50))}, calls_.FailTimes(2))
          .value();
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == 1; }));

  const auto spans = exported->GetSpans();
  ASSERT_EQ(spans.size(), 4U);
  std::vector<std::string> contexts;
  for (const auto& span : spans) contexts.push_back(Text(span->GetSpanContext()));
  EXPECT_EQ(spans[0]->GetSpanKind(), otel::trace::SpanKind::kProducer);
  EXPECT_THAT(LinksOf(*spans[0]), ElementsAre());
  EXPECT_EQ(spans[1]->GetSpanKind(), otel::trace::SpanKind::kConsumer);
  EXPECT_THAT(LinksOf(*spans[1]), ElementsAre(contexts[0]));
  EXPECT_THAT(LinksOf(*spans[2]), ElementsAre(contexts[0], contexts[1]));
  EXPECT_THAT(LinksOf(*spans[3]), ElementsAre(contexts[0], contexts[2]));
  ASSERT_EQ(calls_.size(), 3U);
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    EXPECT_EQ(calls_[i].headers().FindString("traceparent"), contexts[0]) << i;
    EXPECT_EQ(TraceparentOf(calls_[i]), contexts[i + 1]);
  }
}

}  // namespace retryq::testing::retry_tracing_test
