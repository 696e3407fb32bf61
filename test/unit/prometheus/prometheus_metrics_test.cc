#include "retryq/prometheus_metrics.h"

#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "retryq/delivery.h"
#include "support/make_message.h"
#include "support/test.h"

namespace retryq::prometheus_metrics_test {

class PrometheusMetricsTest : public ::testing::Test {
 protected:
  static Event Of(EventKind kind) { return {.kind = kind, .time = absl::UnixEpoch()}; }
  static Event OfQueue(EventKind kind) {
    Event event = Of(kind);
    event.queue = "orders";
    return event;
  }

  std::string Text() const { return prometheus::TextSerializer().Serialize(registry_.Collect()); }

  prometheus::Registry registry_;
  PrometheusMetrics metrics_{registry_};
};

TEST_F(PrometheusMetricsTest, CountsTheOutcomesOfDeliveries) {
  for (const EventKind kind :
       {EventKind::kHandled, EventKind::kHandled, EventKind::kRetried, EventKind::kParked,
        EventKind::kRejected, EventKind::kDiscarded, EventKind::kRequeued, EventKind::kMoved,
        EventKind::kSnoozed, EventKind::kForwarded, EventKind::kSkipped, EventKind::kDelivered,
        EventKind::kFailed}) {
    metrics_.OnEvent(OfQueue(kind));
  }
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr(R"(retryq_outcomes_total{outcome="acked",queue="orders"} 2)"));
  for (const char* outcome : {"retried", "parked", "rejected", "discarded", "requeued", "moved",
                              "snoozed", "forwarded", "skipped"}) {
    EXPECT_THAT(text, HasSubstr("retryq_outcomes_total{outcome=\"" + std::string(outcome) +
                                "\",queue=\"orders\"} 1"));
  }
  EXPECT_THAT(text, HasSubstr(R"(retryq_deliveries_total{queue="orders"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(retryq_handler_failures_total{queue="orders"} 1)"));
}

TEST_F(PrometheusMetricsTest, ShowsWhenTheOldestRunningDeliveryStarted) {
  const auto message = testing::MakeMessage();
  const auto queue = std::make_shared<const std::string>("orders");
  const Delivery first(message, queue, {});
  const Delivery second(message, queue, {});
  const auto happens = [this](EventKind kind, const Delivery* delivery, int second_of_it) {
    Event event = OfQueue(kind);
    event.time = absl::FromUnixSeconds(second_of_it);
    event.delivery = delivery;
    metrics_.OnEvent(event);
  };
  const auto oldest = [this](int since) {
    EXPECT_THAT(Text(), HasSubstr("retryq_oldest_delivery_timestamp_seconds{queue=\"orders\"} " +
                                  std::to_string(since) + "\n"));
  };
  happens(EventKind::kConsuming, nullptr, 1);
  oldest(0);
  happens(EventKind::kDelivered, &first, 10);
  happens(EventKind::kDelivered, &second, 20);
  oldest(10);
  happens(EventKind::kFailed, &first, 30);
  oldest(20);
  happens(EventKind::kDelivered, &first, 40);
  happens(EventKind::kHandled, &second, 50);
  oldest(40);
  happens(EventKind::kInterrupted, nullptr, 60);
  oldest(0);
}

TEST_F(PrometheusMetricsTest, CountsRetriesByAttemptUpToABound) {
  for (const std::uint64_t before : {0U, 0U, 29U, 30U, 4'000'000'000U}) {
    Event event = OfQueue(EventKind::kRetried);
    event.attempt = before;
    metrics_.OnEvent(event);
  }
  EXPECT_THAT(Text(), HasSubstr(R"(retryq_retries_total{attempt="1",queue="orders"} 2)"));
  EXPECT_THAT(Text(), HasSubstr(R"(retryq_retries_total{attempt="30",queue="orders"} 1)"));
  EXPECT_THAT(Text(), HasSubstr(R"(retryq_retries_total{attempt="more",queue="orders"} 2)"));
}

TEST_F(PrometheusMetricsTest, ShowsWhyCopiesArePublishedAgain) {
  metrics_.OnEvent(OfQueue(EventKind::kReturned));
  Event event = OfQueue(EventKind::kUnconfirmed);
  event.cause = "nacked";
  metrics_.OnEvent(event);
  EXPECT_THAT(Text(), HasSubstr("retryq_copies_returned_total 1"));
  EXPECT_THAT(Text(), HasSubstr(R"(retryq_copies_unconfirmed_total{cause="nacked"} 1)"));
}

TEST_F(PrometheusMetricsTest, ShowsTheStateOfTheConnection) {
  EXPECT_THAT(Text(), HasSubstr("retryq_connected 0"));
  metrics_.OnEvent(Of(EventKind::kConnected));
  metrics_.OnEvent(OfQueue(EventKind::kConsuming));
  metrics_.OnEvent(Of(EventKind::kBlocked));
  EXPECT_THAT(Text(), HasSubstr("retryq_connected 1"));
  EXPECT_THAT(Text(), HasSubstr("retryq_blocked 1"));
  EXPECT_THAT(Text(), HasSubstr(R"(retryq_consuming{queue="orders"} 1)"));
  metrics_.OnEvent(Of(EventKind::kUnblocked));
  EXPECT_THAT(Text(), HasSubstr("retryq_blocked 0"));
  metrics_.OnEvent(Of(EventKind::kBlocked));
  metrics_.OnEvent(OfQueue(EventKind::kInterrupted));
  metrics_.OnEvent(Of(EventKind::kDisconnected));
  EXPECT_THAT(Text(), HasSubstr("retryq_connected 0"));
  EXPECT_THAT(Text(), HasSubstr("retryq_blocked 0")) << "the next connection will be told again";
  EXPECT_THAT(Text(), HasSubstr(R"(retryq_consuming{queue="orders"} 0)"));
  EXPECT_THAT(Text(), HasSubstr("retryq_disconnects_total 1"));
}

TEST_F(PrometheusMetricsTest, CountsLeasedDelayQueues) {
  Event event = Of(EventKind::kDeclared);
  event.delay_queues = 3;
  metrics_.OnEvent(event);
  event.kind = EventKind::kRenewed;
  metrics_.OnEvent(event);
  EXPECT_THAT(Text(), HasSubstr("retryq_delay_queues 3"));
  EXPECT_THAT(Text(), HasSubstr(R"(retryq_delay_queue_events_total{event="declared"} 1)"));
  EXPECT_THAT(Text(), HasSubstr(R"(retryq_delay_queue_events_total{event="renewed"} 1)"));
  metrics_.OnEvent(Of(EventKind::kDisconnected));
  EXPECT_THAT(Text(), HasSubstr("retryq_delay_queues 0"));
}

TEST_F(PrometheusMetricsTest, UsesSeconds) {
  Event event = OfQueue(EventKind::kDelivered);
  event.lateness = absl::Milliseconds(3);
  event.in_flight = 7;
  metrics_.OnEvent(event);
  event = OfQueue(EventKind::kFailed);
  event.handling = absl::Milliseconds(1500);
  event.in_flight = 7;
  metrics_.OnEvent(event);
  event = OfQueue(EventKind::kRetried);
  event.confirmed_after = absl::Microseconds(700);
  event.in_flight = 6;
  metrics_.OnEvent(event);
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr(R"(retryq_delay_lateness_seconds_sum{queue="orders"} 0.003)"));
  EXPECT_THAT(text, HasSubstr(R"(retryq_handler_duration_seconds_sum{queue="orders"} 1.5)"));
  EXPECT_THAT(text,
              HasSubstr(R"(retryq_handler_duration_seconds_bucket{queue="orders",le="2.5"} 1)"));
  EXPECT_THAT(text, HasSubstr("retryq_confirm_duration_seconds_count 1"));
  EXPECT_THAT(text, HasSubstr(R"(retryq_confirm_duration_seconds_bucket{le="0.001"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(retryq_in_flight{queue="orders"} 6)"));
}

// Routing keys are unlimited, and each would be a permanent label.
TEST_F(PrometheusMetricsTest, HasNoLabelsForRoutingKeys) {
  for (const EventKind kind :
       {EventKind::kPublished, EventKind::kUnconfirmed, EventKind::kReturned}) {
    Event event = Of(kind);
    event.queue = "customer.4711";
    event.cause = "lost";
    metrics_.OnEvent(event);
  }
  EXPECT_THAT(Text(), HasSubstr("retryq_published_total 1"));
  EXPECT_THAT(Text(), Not(HasSubstr("customer.4711")));
}

}  // namespace retryq::prometheus_metrics_test
