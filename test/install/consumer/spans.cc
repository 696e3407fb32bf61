// A program that uses retryq::opentelemetry. Exits with 0 if a handler has a span.

#include <cstdio>
#include <memory>
#include <string>

#include "opentelemetry/trace/provider.h"
#include "retryq/opentelemetry.h"

int main() {
  retryq::OpenTelemetryTracer tracer(
      opentelemetry::trace::Provider::GetTracerProvider()->GetTracer("consumer"));
  retryq::Delivery delivery(std::make_shared<const retryq::amqp::Message>(),
                            std::make_shared<const std::string>("orders"), {});
  delivery.set_trace(tracer.OnAttempt(delivery));
  const auto scope = delivery.trace()->Enter(delivery);
  if (scope != nullptr && retryq::SpanOf(delivery) != nullptr) return 0;
  std::fprintf(stderr, "not so: a handler has a span\n");
  return 1;
}
