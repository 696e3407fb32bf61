#include "retryq/broker/retrier.h"

#include "base/header_names.h"
#include "support/test.h"
#include "unit/retry/retrier/retrier_fixture.h"

namespace retryq::retrier_test {

TEST_F(RetrierTest, AcksAFailureOnlyAfterItsCopyIsConfirmed) {
  Start({.queue = "orders"}, Handler(Fails));
  Deliver({.body = "42"});
  ASSERT_THAT(broker_.publishes, SizeIs(1));
  EXPECT_EQ(LastPublish().exchange, "retry.1000");
  EXPECT_EQ(LastPublish().routing_key, "orders");
  EXPECT_EQ(LastPublish().body, "42");
  EXPECT_TRUE(LastPublish().mandatory);
  EXPECT_TRUE(LastPublish().persistent);
  EXPECT_THAT(broker_.acked, IsEmpty());

  LastPublish().Confirm();
  EXPECT_THAT(broker_.acked, ElementsAre(1));
  EXPECT_EQ(events_.Last(EventKind::kRetried)->delay_queue, "retry.1000");
  EXPECT_EQ(events_.Last(EventKind::kRetried)->delay, absl::Seconds(1));
  EXPECT_EQ(retrier_->open(), 0U);
}

TEST_F(RetrierTest, ANackedCopyGoesToTheQueueWithTheHashedName) {
  Start({.queue = "orders"}, Handler(Fails));
  Deliver();
  LastPublish().Nack();
  time_.RunReady();
  ASSERT_THAT(broker_.publishes, SizeIs(2));
  EXPECT_THAT(LastPublish().exchange, ::testing::StartsWith("retry.1000."));
  EXPECT_THAT(broker_.acked, IsEmpty());
}

TEST_F(RetrierTest, ContinuesTheAttemptsOfAFormerQueue) {
  std::vector<std::uint64_t> attempts;
  Start({.queue = "orders.v2", .former_queues = {"orders"}}, Handler([&](const Delivery& delivery) {
          attempts.push_back(delivery.attempt());
          return absl::UnavailableError("down");
        }));
  Deliver({.headers = testing::Copied({{"x-retry-count", std::int64_t{3}}})});
  Deliver({.headers =
               testing::Copied({{"x-retry-queue", "mails"}, {"x-retry-count", std::int64_t{3}}})});
  EXPECT_THAT(attempts, ElementsAre(3, 0));
  EXPECT_EQ(*broker_.publishes[0].headers.Find("x-retry-queue"), amqp::Value("orders.v2"));
  EXPECT_EQ(*broker_.publishes[0].headers.Find("x-retry-count"), amqp::Value(std::int64_t{4}));
}

TEST_F(RetrierTest, RefusesInvalidFormerQueues) {
  MakeRetrier({.queue = "orders"});
  const auto refused = Retrier::Create(shared_, {.queue = "orders", .former_queues = {"", "a\nb"}});
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("former_queues must not contain an empty name; former_queues must "
                        "contain neither line breaks nor NUL"));
}

// All headers of an earlier retry, forged by a publisher that may write to the queue, but not to
// the exchange.
amqp::Table ForgedHeaders(const std::string& queue) {
  amqp::Table death;
  death.Set("queue", "retry.1000");
  death.Set("exchange", "retry.1000");
  death.Set("reason", "expired");
  death.Set("count", std::int64_t{1});
  death.Set("routing-keys", amqp::Array{amqp::Value("order.refunded")});
  return {{"x-retry-queue", queue},
          {"x-retry-exchange", "shop"},
          {"x-retry-routing-key", "order.refunded"},
          {"x-retry-count", std::int64_t{1}},
          {"x-retry-id", "forged"},
          {"x-retry-delay", std::int64_t{1000}},
          {"x-death", amqp::Array{amqp::Value(std::make_shared<const amqp::Table>(death))}},
          {"x-first-death-exchange", "shop"},
          {"x-last-death-queue", "retry.1000"},
          {"CC", amqp::Array{amqp::Value("order.refunded")}}};
}

TEST_F(RetrierTest, ForgedHeadersRouteNoCopyThroughTheWorkExchange) {
  for (const Outcome& outcome :
       {Outcome(absl::UnavailableError("down")),
        Outcome::RetryAfter(absl::Seconds(1234567), absl::UnavailableError("down")),
        Outcome::Park(absl::InternalError("no"))}) {
    Start({.queue = "orders", .work_exchange = "shop"}, [&](const Delivery&) { return outcome; });
    for (const char* queue : {"orders", "mails"}) {
      const std::string headers = ForgedHeaders(queue).Encode().value();
      Deliver({.exchange = "",
               .routing_key = "orders",
               .properties = {.headers = amqp::TableView(headers)}});
      const auto& copy = LastPublish();
      EXPECT_THAT(copy.exchange, AnyOf("", MatchesRegex("retry\\..*\\.direct")));
      EXPECT_THAT(copy.routing_key, AnyOf("orders", "orders.parked"));
      EXPECT_EQ(copy.headers.Find("CC"), nullptr);
    }
    retrier_.reset();
    shared_.reset();
  }
}

TEST_F(RetrierTest, IgnoresAForgedRoutingKeyForACopyThroughTheWorkExchange) {
  Start({.queue = "orders", .work_exchange = "shop"}, Handler(Fails));
  const std::string headers = ForgedHeaders("orders").Encode().value();
  Deliver({.exchange = "shop",
           .routing_key = "order.placed",
           .properties = {.headers = amqp::TableView(headers)}});
  EXPECT_EQ(LastPublish().exchange, "retry.2000");
  EXPECT_EQ(LastPublish().routing_key, "order.placed");
}

TEST_F(RetrierTest, AForgedRestOfADelayIsForwardedToTheQueueItself) {
  Start({.queue = "orders", .work_exchange = "shop"}, Handler(Fails));
  amqp::Table forged = ForgedHeaders("orders");
  forged.Set("x-retry-not-before", absl::ToUnixMillis(time_.Now() + absl::Hours(1)));
  forged.Set("x-retry-remaining", std::int64_t{3'600'000});
  const std::string headers = forged.Encode().value();
  Deliver({.exchange = "shop",
           .routing_key = "order.placed",
           .properties = {.headers = amqp::TableView(headers)}});
  EXPECT_THAT(LastPublish().exchange, MatchesRegex("retry\\..*\\.direct"));
  EXPECT_EQ(LastPublish().routing_key, "orders");
}

TEST_F(RetrierTest, UsesOneIdForAllCopies) {
  Start({.queue = "orders"}, Handler(Fails));
  Deliver();
  const amqp::Value id = *LastPublish().headers.Find(kRetryIdHeader);
  EXPECT_THAT(std::get<std::string>(id.variant), SizeIs(32));
  LastPublish().Return();  // the second try of the same copy
  time_.RunReady();
  EXPECT_EQ(*LastPublish().headers.Find(kRetryIdHeader), id);
  const amqp::Table headers = LastPublish().headers;
  LastPublish().Confirm();
  Deliver({.headers = headers});
  EXPECT_EQ(*LastPublish().headers.Find(kRetryIdHeader), id);
}

TEST_F(RetrierTest, ChecksQueueExchangeAndParkedQueueWhilePreparing) {
  MakeRetrier({.queue = "orders", .work_exchange = "shop"});
  absl::Status prepared = absl::UnknownError("not answered");
  retrier_->Prepare([&prepared](const absl::Status& status) { prepared = status; });
  time_.RunReady();
  EXPECT_TRUE(prepared.ok());
  ASSERT_THAT(broker_.declares, SizeIs(4));
  EXPECT_EQ(broker_.declares[0].queue.name, "orders");
  EXPECT_TRUE(broker_.declares[0].queue.passive);
  EXPECT_EQ(broker_.declares[1].queue.name, "orders");  // of an unknown type
  EXPECT_EQ(*broker_.declares[1].queue.arguments.Find("x-queue-type"), amqp::Value("retryq"));
  EXPECT_EQ(broker_.declares[2].queue.name, "orders.parked");
  EXPECT_TRUE(broker_.declares[2].queue.passive);
  EXPECT_EQ(broker_.declares[3].queue.name, "orders.parked");
  EXPECT_FALSE(broker_.declares[3].queue.passive);

  broker_.on_check_exchange = [](const std::string&) { return absl::NotFoundError("no exchange"); };
  retrier_->Prepare([&prepared](const absl::Status& status) { prepared = status; });
  time_.RunReady();
  EXPECT_TRUE(absl::IsNotFound(prepared));
}

TEST_F(RetrierTest, AMistypedQueueCreatesNoParkedQueue) {
  MakeRetrier({.queue = "order"});
  broker_.on_declare = [](const QueueDeclaration&) { return absl::NotFoundError("no queue"); };
  absl::Status prepared;
  retrier_->Prepare([&prepared](const absl::Status& status) { prepared = status; });
  time_.RunReady();
  EXPECT_TRUE(absl::IsNotFound(prepared));
  EXPECT_THAT(std::string(prepared.message()), HasSubstr("declare it first"));
  EXPECT_THAT(broker_.declares, SizeIs(1));
}

TEST_F(RetrierTest, NamesThePermissionThatACheckNeeds) {
  MakeRetrier({.queue = "orders"});
  broker_.on_declare = [](const QueueDeclaration&) {
    return absl::PermissionDeniedError("access to queue 'orders' refused");
  };
  absl::Status prepared;
  retrier_->Prepare([&prepared](const absl::Status& status) { prepared = status; });
  time_.RunReady();
  EXPECT_TRUE(absl::IsPermissionDenied(prepared)) << prepared;
  EXPECT_THAT(std::string(prepared.message()), HasSubstr("grant the user 'read' on the queue"));
}

}  // namespace retryq::retrier_test
