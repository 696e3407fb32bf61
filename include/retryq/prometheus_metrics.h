#ifndef RETRYQ_PROMETHEUS_METRICS_H_
#define RETRYQ_PROMETHEUS_METRICS_H_

#include <memory>

#include "retryq/observer.h"

namespace prometheus {
class Registry;
}  // namespace prometheus

namespace retryq {

// Counts the events that it observes, for Prometheus, in a registry of prometheus-cpp. Part of a
// separate library, `retryq::prometheus`.
//
//   auto registry = std::make_shared<prometheus::Registry>();
//   PrometheusMetrics metrics(*registry);
//   Client client(loop, {.url = "amqp://localhost", .observer = &metrics});
//   prometheus::Exposer exposer("0.0.0.0:9101");  // serves them, on threads of its own
//   exposer.RegisterCollectable(registry);
//
// For each work queue `queue`, from the first event about it:
//
//   retryq_deliveries_total{queue}          deliveries passed to the handler
//   retryq_handler_failures_total{queue}    calls that did not end in success
//   retryq_outcomes_total{queue,outcome}    how deliveries ended: acked, retried, parked, rejected,
//                                           discarded, snoozed, requeued, moved, forwarded, skipped
//   retryq_retries_total{queue,attempt}     retries, by failures so far: 1 to 30, then "more"
//   retryq_held_total{queue}                messages that could be neither retried nor parked; each
//                                           try counts
//   retryq_in_flight{queue}                 open deliveries
//   retryq_consuming{queue}                 1 while the broker delivers, else 0; stays 1 while the
//                                           circuit breaker is open
//   retryq_breaker_state{queue}             circuit breaker: 0 closed or none, 1 probing, 2 open
//   retryq_breaker_openings_total{queue}    number of times that the breaker opened
//   retryq_handler_duration_seconds{queue}  histogram: from the handler's call to its outcome
//   retryq_delay_lateness_seconds{queue}    histogram: from when a retry was due to its delivery,
//                                           including the wait in the work queue; by the clocks of
//                                           the workers that sent and received it
//   retryq_oldest_delivery_timestamp_seconds{queue}
//                                           when the handler got its oldest unsettled delivery, in
//                                           seconds since 1970; 0 if there is none. time() minus
//                                           this is its age, which grows while a handler hangs
//
// For the client:
//
//   retryq_copies_returned_total            copies returned as unroutable, and published again
//   retryq_copies_unconfirmed_total{cause}  copies published again because they were not confirmed:
//                                           nacked, timeout, late, closed (channel), lost
//                                           (connection)
//   retryq_published_total                  messages of Client::Publish that are confirmed
//   retryq_confirm_duration_seconds         histogram: from a copy's publish to its confirm
//   retryq_delay_queue_events_total{event}  declared, renewed, renamed, lapsed, lease_broken,
//                                           overridden, declare_failed
//   retryq_delay_queues                     delay queues on which this client has a lease
//   retryq_connected                        1 while it can publish and declare, else 0
//   retryq_blocked                          1 while the broker has an alarm and accepts no
//                                           publishes
//   retryq_disconnects_total                connections lost
//
// Make one object for each client. It must outlive the client, and the registry must outlive it.
// Events arrive on the loop's thread; the registry can be collected on any thread.
class PrometheusMetrics final : public Observer {
 public:
  explicit PrometheusMetrics(prometheus::Registry& registry);
  ~PrometheusMetrics() override;
  PrometheusMetrics(const PrometheusMetrics&) = delete;
  PrometheusMetrics& operator=(const PrometheusMetrics&) = delete;

  void OnEvent(const Event& event) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace retryq

#endif  // RETRYQ_PROMETHEUS_METRICS_H_
