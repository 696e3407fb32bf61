// A program that uses retryq::prometheus. Exits with 0 if an event is counted.

#include <prometheus/registry.h>

#include <cstdio>
#include <string>

#include "retryq/observer.h"
#include "retryq/prometheus_metrics.h"

int main() {
  prometheus::Registry registry;
  retryq::PrometheusMetrics metrics(registry);
  metrics.OnEvent({.kind = retryq::EventKind::kDelivered, .queue = "orders"});
  for (const prometheus::MetricFamily& family : registry.Collect()) {
    if (family.name != "retryq_deliveries_total") continue;
    for (const prometheus::ClientMetric& metric : family.metric) {
      if (metric.counter.value == 1) return 0;
    }
  }
  std::fprintf(stderr, "not so: one delivery is counted\n");
  return 1;
}
