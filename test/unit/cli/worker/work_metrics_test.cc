#include "cli/worker/work_metrics.h"

#include "retryq/delivery.h"
#include "support/test.h"

namespace retryq::cli::work_metrics_test {

TEST(WorkMetrics, AreNotConsumingOnceTheWorkerStops) {
  WorkMetrics metrics("orders");
  metrics.OnEvent({.kind = EventKind::kConsuming, .time = {}, .queue = "orders"});
  EXPECT_EQ(metrics.Trouble(), std::nullopt);
  EXPECT_THAT(metrics.Text(), HasSubstr("retryq_consuming{queue=\"orders\"} 1"));
  metrics.BeginStop();
  metrics.OnEvent({.kind = EventKind::kConsuming, .time = {}, .queue = "orders"});
  EXPECT_EQ(metrics.Trouble(), "stopping");
  EXPECT_THAT(metrics.Text(), HasSubstr("retryq_consuming{queue=\"orders\"} 0"));
}

TEST(WorkMetrics, ShowTheBreakerWithoutTrouble) {
  WorkMetrics metrics("orders");
  metrics.OnEvent({.kind = EventKind::kConnected, .time = {}});
  metrics.OnEvent({.kind = EventKind::kConsuming, .time = {}, .queue = "orders"});
  EXPECT_EQ(metrics.Notice(), std::nullopt);
  EXPECT_THAT(metrics.Text(), HasSubstr("retryq_breaker_state{queue=\"orders\"} 0"));
  EXPECT_THAT(metrics.Text(), HasSubstr("retryq_breaker_openings_total{queue=\"orders\"} 0"));

  metrics.OnEvent({.kind = EventKind::kBreakerOpened,
                   .time = {},
                   .queue = "orders",
                   .error = "UNAVAILABLE: down"});
  EXPECT_EQ(metrics.Trouble(), std::nullopt);
  EXPECT_EQ(metrics.Notice(), "the circuit breaker is open, after UNAVAILABLE: down");
  EXPECT_THAT(metrics.Text(), HasSubstr("retryq_breaker_state{queue=\"orders\"} 2"));
  EXPECT_THAT(metrics.Text(), HasSubstr("retryq_breaker_openings_total{queue=\"orders\"} 1"));
  EXPECT_THAT(metrics.Text(), HasSubstr("retryq_consuming{queue=\"orders\"} 1"));

  metrics.OnEvent({.kind = EventKind::kBreakerProbing, .time = {}, .queue = "orders"});
  EXPECT_EQ(metrics.Notice(), "the circuit breaker is probing, after UNAVAILABLE: down");
  EXPECT_THAT(metrics.Text(), HasSubstr("retryq_breaker_state{queue=\"orders\"} 1"));

  metrics.OnEvent({.kind = EventKind::kBreakerClosed, .time = {}, .queue = "orders"});
  EXPECT_EQ(metrics.Notice(), std::nullopt);
  EXPECT_THAT(metrics.Text(), HasSubstr("retryq_breaker_state{queue=\"orders\"} 0"));
}

TEST(WorkMetrics, HaveNoTroubleAfterAReconnectWhileTheBreakerIsOpen) {
  WorkMetrics metrics("orders");
  metrics.OnEvent({.kind = EventKind::kConnected, .time = {}});
  metrics.OnEvent({.kind = EventKind::kConsuming, .time = {}, .queue = "orders"});
  metrics.OnEvent({.kind = EventKind::kBreakerOpened, .time = {}, .queue = "orders"});
  metrics.OnEvent({.kind = EventKind::kDisconnected, .time = {}, .error = "lost"});
  metrics.OnEvent(
      {.kind = EventKind::kInterrupted, .time = {}, .queue = "orders", .error = "lost"});
  EXPECT_EQ(metrics.Trouble(), "lost");
  metrics.OnEvent({.kind = EventKind::kConnected, .time = {}});
  EXPECT_EQ(metrics.Trouble(), std::nullopt);
  metrics.OnEvent({.kind = EventKind::kBreakerProbing, .time = {}, .queue = "orders"});
  EXPECT_EQ(metrics.Trouble(), "lost");  // until the broker accepts the consumer
  metrics.BeginStop();
  metrics.OnEvent({.kind = EventKind::kBreakerOpened, .time = {}, .queue = "orders"});
  EXPECT_EQ(metrics.Trouble(), "stopping");
}

TEST(WorkMetrics, ShowWhyCopiesCannotReturn) {
  WorkMetrics metrics("orders");
  metrics.OnReturns(ReturnTrouble{.kind = ReturnTrouble::Kind::kFull, .undelivered = 3});
  EXPECT_THAT(metrics.Text(),
              HasSubstr("retryq_returns_blocked{queue=\"orders\",reason=\"full\"} 1"));
  EXPECT_THAT(metrics.Text(),
              HasSubstr("retryq_returns_blocked{queue=\"orders\",reason=\"gone\"} 0"));
  EXPECT_THAT(metrics.Text(), HasSubstr("retryq_undelivered_copies{queue=\"orders\"} 3"));
  metrics.OnReturns(std::nullopt);
  EXPECT_THAT(metrics.Text(),
              HasSubstr("retryq_returns_blocked{queue=\"orders\",reason=\"full\"} 0"));
  EXPECT_THAT(metrics.Text(), HasSubstr("retryq_undelivered_copies{queue=\"orders\"} 0"));
}

// Messages like this one stay unacked, until no others can be delivered.
TEST(WorkMetrics, HaveTroubleWhileRetriesAreRefused) {
  WorkMetrics metrics("orders");
  metrics.OnEvent({.kind = EventKind::kConsuming, .time = {}, .queue = "orders"});
  for (const EventKind begin :
       {EventKind::kDeclareFailed, EventKind::kUnconfirmed, EventKind::kHeld}) {
    for (const EventKind end :
         {EventKind::kDeclared, EventKind::kRetried, EventKind::kParked, EventKind::kConsuming}) {
      metrics.OnEvent({.kind = begin, .time = {}, .error = "refused"});
      EXPECT_EQ(metrics.Trouble(), "messages that fail can be neither retried nor parked: refused");
      metrics.OnEvent({.kind = EventKind::kHandled, .time = {}, .queue = "orders"});
      EXPECT_NE(metrics.Trouble(), std::nullopt) << "others may still succeed";
      metrics.OnEvent({.kind = end, .time = {}, .queue = "orders"});
      EXPECT_EQ(metrics.Trouble(), std::nullopt);
    }
  }
}

// The message may have been redelivered and handled, without another `consuming`.
TEST(WorkMetrics, HaveNoTroubleOnceTheRefusedMessagesAreGone) {
  WorkMetrics metrics("orders");
  metrics.OnEvent({.kind = EventKind::kConnected, .time = {}});
  metrics.OnEvent({.kind = EventKind::kConsuming, .time = {}, .queue = "orders"});
  const Event held{.kind = EventKind::kHeld, .time = {}, .error = "refused", .in_flight = 1};
  metrics.OnEvent(held);
  metrics.OnEvent({.kind = EventKind::kHandled, .time = {}, .queue = "orders", .in_flight = 1});
  EXPECT_NE(metrics.Trouble(), std::nullopt);
  metrics.OnEvent({.kind = EventKind::kHandled, .time = {}, .queue = "orders", .in_flight = 0});
  EXPECT_EQ(metrics.Trouble(), std::nullopt);
  metrics.OnEvent(held);
  metrics.OnEvent({.kind = EventKind::kBreakerOpened, .time = {}, .queue = "orders"});
  metrics.OnEvent({.kind = EventKind::kInterrupted, .time = {}, .queue = "orders", .error = "no"});
  EXPECT_EQ(metrics.Trouble(), std::nullopt);
}

// Otherwise one message like this would make each worker of its queue unhealthy forever.
TEST(WorkMetrics, HaveNoTroubleIfOneBodyIsTooLarge) {
  WorkMetrics metrics("orders");
  metrics.OnEvent({.kind = EventKind::kConsuming, .time = {}, .queue = "orders"});
  auto message = std::make_shared<amqp::Message>();
  message->left_out = std::uint64_t{200} << 20;
  const Delivery delivery(std::move(message), std::make_shared<const std::string>("orders"), {});
  metrics.OnEvent(
      {.kind = EventKind::kHeld, .time = {}, .error = "too large", .delivery = &delivery});
  EXPECT_EQ(metrics.Trouble(), std::nullopt);
}

TEST(RunningWatch, AllowsTheFirstMessageAMinuteAndShortOnesASecond) {
  RunningWatch watch;
  const auto begun = absl::Seconds(40);
  EXPECT_EQ(watch.Look(begun + absl::Seconds(59), begun), std::nullopt);
  EXPECT_NE(watch.Look(begun + absl::Seconds(60), begun), std::nullopt);
  EXPECT_EQ(watch.Look(begun + absl::Seconds(61), begun), std::nullopt);  // once
  watch.Ended(absl::Milliseconds(1));
  const auto later = absl::Seconds(200);
  EXPECT_EQ(watch.Look(later + absl::Milliseconds(999), later), std::nullopt);
  EXPECT_NE(watch.Look(later + absl::Seconds(1), later), std::nullopt);
}

}  // namespace retryq::cli::work_metrics_test
