#include "retryq/prometheus_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace retryq {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;
template <typename Metric>
using Family = prometheus::Family<Metric>;

// Attempts up to this number have a label of their own in `retries_total`.
constexpr std::uint64_t kMostAttempts = 30;

// In seconds. The buckets for waits range from a broker on the same machine to a work queue with a
// backlog.
const Histogram::BucketBoundaries kWaitBuckets = {
    0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900};
const Histogram::BucketBoundaries kConfirmBuckets = {
    0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};

// The events that report the end of a delivery.
constexpr std::array kOutcomes = {
    EventKind::kHandled,   EventKind::kRetried, EventKind::kParked,   EventKind::kRejected,
    EventKind::kDiscarded, EventKind::kSnoozed, EventKind::kRequeued, EventKind::kMoved,
    EventKind::kForwarded, EventKind::kSkipped};

constexpr std::array kDelayQueueEvents = {
    EventKind::kDeclared,    EventKind::kRenewed,    EventKind::kRenamed,      EventKind::kLapsed,
    EventKind::kLeaseBroken, EventKind::kOverridden, EventKind::kDeclareFailed};

constexpr std::array kCauses = {"nacked", "timeout", "late", "closed", "lost"};

std::string AttemptLabel(std::uint64_t attempt) {
  return attempt > kMostAttempts ? "more" : std::to_string(attempt);
}

}  // namespace

class PrometheusMetrics::Impl {
 public:
  // Creates the counters with the value 0, so that the first event is an increase.
  explicit Impl(prometheus::Registry& registry) : registry_(registry) {
    for (const EventKind kind : kDelayQueueEvents) {
      counters_by_kind_[kind] = &delay_queue_events_.Add({{"event", std::string(EventName(kind))}});
    }
    for (const char* cause : kCauses) copies_unconfirmed_.Add({{"cause", cause}});
  }

  void OnEvent(const Event& event) {
    CountOfClient(event);
    Count(counters_by_kind_, event.kind);
    if (event.delay_queues) delay_queues_.Set(static_cast<double>(*event.delay_queues));
    if (event.confirmed_after) {
      confirm_duration_.Observe(absl::ToDoubleSeconds(*event.confirmed_after));
    }
    // Events of copies name their queue, but events of Client::Publish may have any routing key.
    if (event.kind != EventKind::kPublished && event.kind != EventKind::kReturned &&
        event.kind != EventKind::kUnconfirmed && !event.queue.empty()) {
      CountOfQueue(event, QueueNamed(event.queue));
    }
  }

 private:
  using CountersByKind = std::map<EventKind, Counter*>;

  static void Count(const CountersByKind& counters, EventKind kind) {
    const auto found = counters.find(kind);
    if (found != counters.end()) found->second->Increment();
  }

  // The metrics of one work queue; their references live as long as the registry.
  struct Queue {
    std::string name;
    Counter& deliveries;
    Counter& handler_failures;
    Counter& held;
    Gauge& in_flight;
    Gauge& consuming;
    Gauge& breaker_state;
    Counter& breaker_openings;
    Histogram& handler_duration;
    Histogram& lateness;
    Gauge& oldest;
    std::map<std::uint64_t, absl::Time> begun = {};        // start times of handling, by order
    std::map<const Delivery*, std::uint64_t> places = {};  // their numbers in `begun`
    CountersByKind outcomes = {};
    std::map<std::string, Counter*> retries = {};  // by attempt
  };

  void CountOfClient(const Event& event) {
    switch (event.kind) {
      case EventKind::kConnected:
        connected_.Set(1);
        break;
      case EventKind::kDisconnected:
        connected_.Set(0);
        blocked_.Set(0);
        delay_queues_.Set(0);
        disconnects_.Increment();
        break;
      case EventKind::kBlocked:
        blocked_.Set(1);
        break;
      case EventKind::kUnblocked:
        blocked_.Set(0);
        break;
      case EventKind::kReturned:
        copies_returned_.Increment();
        break;
      case EventKind::kUnconfirmed:
        copies_unconfirmed_.Add({{"cause", std::string(event.cause)}}).Increment();
        break;
      case EventKind::kPublished:
        published_.Increment();
        break;
      default:
        break;
    }
  }

  // The first event of a delivery during the handler's call is the start of the call, the next
  // event its end. Deliveries of a lost connection end without an event.
  void WatchHandler(const Event& event, Queue& queue) {
    const auto forget = [&queue](const Delivery* delivery) {
      const auto found = queue.places.find(delivery);
      if (found == queue.places.end()) return;
      queue.begun.erase(found->second);
      queue.places.erase(found);
    };
    if (event.kind == EventKind::kInterrupted) {
      queue.begun.clear();
      queue.places.clear();
    } else if (event.delivery != nullptr) {
      forget(event.delivery);
      if (event.kind == EventKind::kDelivered) {
        queue.begun.emplace(++deliveries_so_far_, event.time);
        queue.places.emplace(event.delivery, deliveries_so_far_);
      }
    }
    queue.oldest.Set(queue.begun.empty()
                         ? 0
                         : absl::ToDoubleSeconds(queue.begun.begin()->second - absl::UnixEpoch()));
  }

  void CountOfQueue(const Event& event, Queue& queue) {
    WatchHandler(event, queue);
    if (event.in_flight) queue.in_flight.Set(static_cast<double>(*event.in_flight));
    if (event.lateness) queue.lateness.Observe(absl::ToDoubleSeconds(*event.lateness));
    if (event.handling) queue.handler_duration.Observe(absl::ToDoubleSeconds(*event.handling));
    Count(queue.outcomes, event.kind);
    switch (event.kind) {
      case EventKind::kDelivered:
        queue.deliveries.Increment();
        break;
      case EventKind::kFailed:
        queue.handler_failures.Increment();
        break;
      case EventKind::kRetried:
        RetriesOf(queue, event.attempt.value_or(0) + 1).Increment();
        break;
      case EventKind::kHeld:
        queue.held.Increment();
        break;
      case EventKind::kConsuming:
        queue.consuming.Set(1);
        break;
      case EventKind::kInterrupted:
        queue.consuming.Set(0);
        break;
      case EventKind::kBreakerClosed:
        queue.breaker_state.Set(0);
        break;
      case EventKind::kBreakerProbing:
        queue.breaker_state.Set(1);
        break;
      case EventKind::kBreakerOpened:
        queue.breaker_state.Set(2);
        queue.breaker_openings.Increment();
        break;
      default:
        break;
    }
  }

  Queue& QueueNamed(std::string_view name) {
    const auto found = queues_.find(name);
    if (found != queues_.end()) return found->second;
    const prometheus::Labels labels = {{"queue", std::string(name)}};
    Queue& queue =
        queues_
            .emplace(std::string(name),
                     Queue{.name = std::string(name),
                           .deliveries = deliveries_.Add(labels),
                           .handler_failures = handler_failures_.Add(labels),
                           .held = held_.Add(labels),
                           .in_flight = in_flight_.Add(labels),
                           .consuming = consuming_.Add(labels),
                           .breaker_state = breaker_state_.Add(labels),
                           .breaker_openings = breaker_openings_.Add(labels),
                           .handler_duration = handler_duration_.Add(labels, kWaitBuckets),
                           .lateness = lateness_.Add(labels, kWaitBuckets),
                           .oldest = oldest_.Add(labels)})
            .first->second;
    for (const EventKind kind : kOutcomes) {
      queue.outcomes[kind] =
          &outcomes_.Add({{"queue", queue.name}, {"outcome", std::string(EventName(kind))}});
    }
    return queue;
  }

  Counter& RetriesOf(Queue& queue, std::uint64_t attempt) {
    const std::string label = AttemptLabel(attempt);
    Counter*& counter = queue.retries[label];
    if (counter == nullptr) {
      counter = &retries_.Add({{"queue", queue.name}, {"attempt", label}});
    }
    return *counter;
  }

  Family<Counter>& CounterFamily(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry_);
  }
  Family<Gauge>& GaugeFamily(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry_);
  }
  Family<Histogram>& HistogramFamily(const char* name, const char* help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry_);
  }

  prometheus::Registry& registry_;

  Family<Counter>& deliveries_ =
      CounterFamily("retryq_deliveries_total", "Deliveries passed to the handler.");
  Family<Counter>& handler_failures_ =
      CounterFamily("retryq_handler_failures_total", "Calls of the handler that did not succeed.");
  Family<Counter>& outcomes_ =
      CounterFamily("retryq_outcomes_total", "Deliveries that have ended, by outcome.");
  Family<Counter>& retries_ =
      CounterFamily("retryq_retries_total", "Retries, by the failures of the message so far.");
  Family<Counter>& held_ = CounterFamily(
      "retryq_held_total", "How often a message could be neither retried nor parked.");
  Family<Gauge>& in_flight_ = GaugeFamily("retryq_in_flight", "Unsettled deliveries.");
  Family<Gauge>& consuming_ =
      GaugeFamily("retryq_consuming", "1 while the broker delivers from the queue.");
  Family<Gauge>& breaker_state_ =
      GaugeFamily("retryq_breaker_state",
                  "The circuit breaker: 0 closed or none, 1 probing, 2 open: consuming pauses.");
  Family<Counter>& breaker_openings_ =
      CounterFamily("retryq_breaker_openings_total", "How often the circuit breaker has opened.");
  Family<Histogram>& handler_duration_ = HistogramFamily(
      "retryq_handler_duration_seconds", "Time from the handler's call to its outcome.");
  Family<Histogram>& lateness_ =
      HistogramFamily("retryq_delay_lateness_seconds", "How late retries were delivered.");

  Family<Gauge>& oldest_ = GaugeFamily("retryq_oldest_delivery_timestamp_seconds",
                                       "When the oldest delivery that the handler has not settled "
                                       "was given to it; 0: there is none.");

  Family<Counter>& copies_unconfirmed_ =
      CounterFamily("retryq_copies_unconfirmed_total",
                    "Copies published again because no valid confirm arrived.");
  Family<Counter>& delay_queue_events_ =
      CounterFamily("retryq_delay_queue_events_total", "Events of delay queues.");
  Counter& copies_returned_ = CounterFamily("retryq_copies_returned_total",
                                            "Unroutable copies, which were published again.")
                                  .Add({});
  Counter& published_ =
      CounterFamily("retryq_published_total", "Messages of Client::Publish that are confirmed.")
          .Add({});
  Counter& disconnects_ =
      CounterFamily("retryq_disconnects_total", "Connections to the broker that were lost.")
          .Add({});
  Histogram& confirm_duration_ = HistogramFamily("retryq_confirm_duration_seconds",
                                                 "Time from a copy's publish to its confirm.")
                                     .Add({}, kConfirmBuckets);
  Gauge& delay_queues_ =
      GaugeFamily("retryq_delay_queues", "Delay queues on which this client has a lease.").Add({});
  Gauge& connected_ =
      GaugeFamily("retryq_connected", "1 while the client can publish and declare.").Add({});
  Gauge& blocked_ =
      GaugeFamily("retryq_blocked", "1 while the broker has an alarm and accepts no publishes.")
          .Add({});

  std::uint64_t deliveries_so_far_ = 0;
  CountersByKind counters_by_kind_;
  std::map<std::string, Queue, std::less<>> queues_;
};

PrometheusMetrics::PrometheusMetrics(prometheus::Registry& registry)
    : impl_(std::make_unique<Impl>(registry)) {}
PrometheusMetrics::~PrometheusMetrics() = default;

void PrometheusMetrics::OnEvent(const Event& event) { impl_->OnEvent(event); }

}  // namespace retryq
