#include "base/header_names.h"
#include "retry/retrier/retrier_impl.h"
#include "retryq/broker/retrier.h"
#include "support/test.h"
#include "unit/retry/retrier/retrier_fixture.h"

namespace retryq::returned_deliveries_test {

class ReturnedDeliveries : public RetrierTest {
 protected:
  void StartRequeuing() {
    Start({.queue = "orders"}, Handler([](const Delivery&) { return Outcome::Requeue(); }));
  }
  // "orders" handles all messages, and counts its calls.
  void StartCounting() {
    Start({.queue = "orders"}, [this](const Delivery&) {
      ++calls_;
      return Outcome::Ok();
    });
  }
  int calls_ = 0;
};

TEST_F(ReturnedDeliveries, AreCopiedIfABrokerBefore4_3WouldCountTheRequeue) {
  StartRequeuing();
  Redeliver(2, testing::Copied({{"x-retry-count", std::int64_t{3}}}));
  ASSERT_THAT(broker_.publishes, SizeIs(1));
  EXPECT_EQ(LastPublish().exchange, "");
  EXPECT_EQ(LastPublish().routing_key, "orders");
  EXPECT_EQ(*LastPublish().headers.Find("x-retry-count"), amqp::Value(std::int64_t{5}));
  EXPECT_EQ(LastPublish().headers.Find("x-delivery-count"), nullptr);
  EXPECT_THAT(broker_.acked, IsEmpty());
  LastPublish().Confirm();
  EXPECT_THAT(broker_.acked, ElementsAre(1));
  EXPECT_THAT(broker_.requeued, IsEmpty());
  EXPECT_EQ(events_.Count(EventKind::kRequeued), 1U);
}

TEST_F(ReturnedDeliveries, AreRequeuedIfNoCopyCanBePublished) {
  StartRequeuing();
  broker_.Block(true);
  Deliver();
  EXPECT_THAT(broker_.requeued, ElementsAre(1));
  broker_.Block(false);
  Deliver();
  LastPublish().Return();
  EXPECT_THAT(broker_.requeued, ElementsAre(1, 2));
  EXPECT_THAT(broker_.publishes, SizeIs(1));
}

// A copy would have no body.
class TooLargeDeliveries : public ReturnedDeliveries {
 protected:
  void Begin(OnLimit on_limit) {
    Start({.queue = "orders", .retry = {.on_limit = on_limit}}, Handler([](const Delivery&) {
            ADD_FAILURE() << "handled";
            return Outcome::Ok();
          }));
  }
  std::shared_ptr<amqp::Message> Large(const amqp::Table& headers = {{"colour", "red"}}) {
    auto message = Next({.headers = headers});
    message->redelivered = headers.Find("x-delivery-count") != nullptr;
    message->body = {};
    message->left_out = 1000;
    return message;
  }
  bool PassOn(const amqp::MessagePtr& message) { return retrier_->impl().PassOn(message, &copy_); }

  void DeliverOne(OnLimit on_limit) {
    Begin(on_limit);
    deliver_(Large({{"x-delivery-count", std::int64_t{15}}}));
    time_.Advance(absl::Hours(1));
    EXPECT_THAT(broker_.publishes, IsEmpty());
    EXPECT_THAT(broker_.requeued, IsEmpty());
  }

  PublishParams copy_;
};

TEST_F(TooLargeDeliveries, AreParkedOnceTheirBodiesHaveBeenPassedOn) {
  Begin(OnLimit::kPark);
  const auto message = Large();
  ASSERT_TRUE(PassOn(message));
  EXPECT_EQ(copy_.exchange, "");
  EXPECT_EQ(copy_.routing_key, "orders.parked");
  EXPECT_EQ(copy_.properties.headers->FindString("colour"), "red");
  EXPECT_EQ(copy_.properties.headers->FindInt64("x-retry-count"), 0);
  EXPECT_EQ(copy_.properties.headers->FindString("x-retry-exchange"), "shop");
  EXPECT_EQ(retrier_->open(), 0U);
  message->passed_on = true;
  deliver_(message);
  EXPECT_THAT(broker_.acked, ElementsAre(1));
  EXPECT_THAT(broker_.publishes, IsEmpty());
  EXPECT_EQ(events_.Count(EventKind::kParked), 1U);
  EXPECT_EQ(retrier_->open(), 0U);
}

TEST_F(TooLargeDeliveries, AreNotPassedOnDuringAnAlarm) {
  Begin(OnLimit::kPark);
  broker_.Block(true);
  EXPECT_FALSE(PassOn(Large()));
}

TEST_F(TooLargeDeliveries, AreNotPassedOnIfTheyWillBeRejected) {
  Begin(OnLimit::kReject);
  EXPECT_FALSE(PassOn(Large()));
}

TEST_F(TooLargeDeliveries, AreDeliveredAgainIfTheBrokerDoesNotCountIt) {
  broker_.version = "4.3.6";
  Begin(OnLimit::kPark);
  const auto message = Large();
  message->not_passed_on = "an alarm";
  deliver_(message);
  EXPECT_THAT(broker_.requeued, IsEmpty());
  EXPECT_THAT(events_.Last(EventKind::kHeld)->error, HasSubstr("cannot be parked unread: an al"));
  time_.Advance(absl::Minutes(1));
  EXPECT_THAT(broker_.requeued, ElementsAre(1));
  EXPECT_THAT(broker_.acked, IsEmpty());
}

// A refusal may last, and each attempt transfers the whole body.
TEST_F(TooLargeDeliveries, AreDeliveredAgainAfterTwentyMinutesIfTheirCopyIsRefused) {
  broker_.version = "4.3.6";
  Begin(OnLimit::kPark);
  const auto message = Large();
  message->refused = true;
  deliver_(message);
  EXPECT_THAT(events_.Last(EventKind::kHeld)->error, HasSubstr("delivered again in 20m"));
  time_.Advance(absl::Minutes(19));
  EXPECT_THAT(broker_.requeued, IsEmpty());
  time_.Advance(absl::Minutes(1));
  EXPECT_THAT(broker_.requeued, ElementsAre(1));
  EXPECT_THAT(broker_.acked, IsEmpty());
  EXPECT_EQ(retrier_->open(), 0U);
}

// The broker would drop them at the delivery limit.
TEST_F(TooLargeDeliveries, AreDeliveredAgainTenTimesIfTheBrokerCountsIt) {
  Begin(OnLimit::kPark);
  for (const std::int64_t count : {0, 9, 10}) {
    deliver_(count == 0 ? Large() : Large({{"x-delivery-count", count}}));
  }
  EXPECT_THAT(broker_.requeued, IsEmpty());
  time_.Advance(absl::Minutes(20));
  EXPECT_THAT(broker_.requeued, ElementsAre(1, 2));
  time_.Advance(absl::Hours(24));
  EXPECT_THAT(broker_.requeued, ElementsAre(1, 2));
  EXPECT_EQ(retrier_->open(), 1U);
  EXPECT_EQ(events_.Count(EventKind::kHeld), 3U);
}

TEST_F(TooLargeDeliveries, StayUnackedAndAreReported) {
  DeliverOne(OnLimit::kPark);
  EXPECT_EQ(retrier_->open(), 1U);
  EXPECT_THAT(broker_.acked, IsEmpty());
  EXPECT_EQ(events_.Count(EventKind::kHeld), 1U);
  EXPECT_THAT(events_.Last(EventKind::kHeld)->error, HasSubstr("its body of 1000 bytes"));
}

TEST_F(TooLargeDeliveries, AreRejectedOrDiscardedIfConfigured) {
  DeliverOne(OnLimit::kReject);
  EXPECT_THAT(broker_.rejected, ElementsAre(1));
  EXPECT_EQ(events_.Count(EventKind::kRejected), 1U);
}

// Deliveries use a separate connection.
TEST_F(ReturnedDeliveries, WaitForAConnectionToPublishTheCopy) {
  StartRequeuing();
  broker_.Lose();
  Deliver();
  EXPECT_THAT(broker_.requeued, IsEmpty());
  EXPECT_THAT(broker_.publishes, IsEmpty());
  broker_.Ready();
  time_.RunReady();
  ASSERT_THAT(broker_.publishes, SizeIs(1));
  LastPublish().Confirm();
  EXPECT_THAT(broker_.acked, ElementsAre(1));
  EXPECT_THAT(broker_.requeued, IsEmpty());
  EXPECT_EQ(events_.Count(EventKind::kRequeued), 1U);
}

// On 4.3, where a timeout is not counted by the broker.
class ConsumerTimeouts : public RetrierTest {
 protected:
  void StartWithTimeouts(std::uint64_t max_attempts = 3) {
    broker_.version = "4.3.6";
    Start({.queue = "orders", .retry = {.max_attempts = max_attempts}},
          AsyncHandler([this](const Delivery& delivery, Settlement settlement) {
            attempts_.push_back(delivery.attempt());
            settlement.SetBegun(begins_);
            kept_.push_back(std::move(settlement));
          }));
  }
  // `acquired`, `failed`: the counts of the queue.
  void DeliverAgain(std::int64_t acquired, std::int64_t failed = 0, std::string_view body = "body",
                    amqp::Table headers = {}) {
    if (acquired > 0) headers.Set("x-acquired-count", acquired);
    if (failed > 0) headers.Set("x-delivery-count", failed);
    Deliver({.body = body, .headers = headers, .redelivered = acquired > 0});
  }
  void TimeOut(absl::Duration after = absl::Minutes(30)) {
    time_.Advance(after);
    retrier_->Abandon(absl::AbortedError("cancelled"));
    ++channel_;
  }

  bool begins_ = true;
  std::vector<std::uint64_t> attempts_;
  std::vector<Settlement> kept_;
};

TEST_F(ConsumerTimeouts, CountsATimeoutAsAFailureThatIsRetried) {
  StartWithTimeouts();
  DeliverAgain(0);
  TimeOut();
  DeliverAgain(1);
  EXPECT_THAT(attempts_, ElementsAre(0));
  ASSERT_THAT(broker_.publishes, SizeIs(1));
  EXPECT_EQ(LastPublish().exchange, "retry.1000");
  EXPECT_EQ(*LastPublish().headers.Find("x-retry-count"), amqp::Value(std::int64_t{1}));
  EXPECT_THAT(events_.Last(EventKind::kFailed)->error, HasSubstr("consumer timeout"));
}

// The broker counts every message that was on its way to the same consumer.
TEST_F(ConsumerTimeouts, CountsNothingIfTheBrokerFailedOnAnotherMessage) {
  StartWithTimeouts();
  DeliverAgain(0);
  retrier_->Abandon(absl::InternalError("541"));
  ++channel_;
  DeliverAgain(1, 1);
  DeliverAgain(1, 1, "was never here");
  DeliverAgain(2, 2, "died of itself");
  EXPECT_THAT(attempts_, ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(broker_.publishes, IsEmpty());
}

TEST_F(ConsumerTimeouts, DoesNotCountALostConnectionTwice) {
  StartWithTimeouts();
  DeliverAgain(0);
  time_.Advance(absl::Minutes(30));
  retrier_->Abandon(absl::UnavailableError("gone"));
  DeliverAgain(1, 1);
  EXPECT_THAT(attempts_, ElementsAre(0, 1));
}

TEST_F(ConsumerTimeouts, DoesNotCountUnstartedMessages) {
  StartWithTimeouts();
  begins_ = false;
  DeliverAgain(0);
  TimeOut();
  DeliverAgain(1);
  EXPECT_THAT(attempts_, ElementsAre(0, 0));
}

TEST_F(ConsumerTimeouts, DoesNotCountMessagesDeliveredMuchLaterThanTheTimedOutOne) {
  StartWithTimeouts();
  DeliverAgain(0, 0, "old");
  time_.Advance(absl::Minutes(10));
  DeliverAgain(0, 0, "young");
  TimeOut(absl::Minutes(20));
  DeliverAgain(1, 0, "young");
  EXPECT_THAT(attempts_, ElementsAre(0, 0, 0));
  DeliverAgain(1, 0, "old");
  EXPECT_THAT(attempts_, SizeIs(3));
  EXPECT_THAT(broker_.publishes, SizeIs(1));
}

TEST_F(ReturnedDeliveries, WithoutAHistoryAreRequeuedWithoutRetryHeaders) {
  StartRequeuing();
  Deliver({.exchange = "",
           .routing_key = "orders",
           .headers = amqp::Table{{"tenant", "blue"}, {"x-retry-count", "theirs"}}});
  ASSERT_THAT(broker_.publishes, SizeIs(1));
  EXPECT_EQ(LastPublish().headers, (amqp::Table{{"tenant", "blue"}, {"x-retry-count", "theirs"}}));
  EXPECT_FALSE(LastPublish().persistent);
}

// "orders" exists, and the broker's refusals tell its type.
class QueueType : public ReturnedDeliveries, public ::testing::WithParamInterface<const char*> {
 protected:
  void Prepare(Handler handler) {
    broker_.on_declare = [](const QueueDeclaration& queue) -> absl::Status {
      if (queue.arguments.Find("x-queue-type") == nullptr) return absl::OkStatus();
      if (queue.arguments.Find("x-expires") == nullptr) {
        return absl::FailedPreconditionError(
            "inequivalent arg 'x-expires' for queue 'orders' in vhost '/': received none but "
            "current is the value '9000' of type 'signedint'");
      }
      return absl::FailedPreconditionError(
          absl::StrCat("inequivalent arg 'x-queue-type' for queue 'orders' in vhost '/': received "
                       "'retryq' but current is '",
                       GetParam(), "'"));
    };
    Start({.queue = "orders"}, std::move(handler));
    retrier_->Prepare([](const absl::Status&) {});
    time_.RunReady();
  }
  static bool IsQuorum() { return GetParam() == std::string("quorum"); }
};

// A classic queue counts nothing: the header comes from a publisher (F64).
TEST_P(QueueType, DeterminesWhetherADeliveryCountIsTrusted) {
  std::vector<std::uint64_t> attempts;
  Prepare([&](const Delivery& delivery) -> Outcome {
    attempts.push_back(delivery.attempt());
    return Outcome::Ok();
  });
  Redeliver(3);
  EXPECT_THAT(attempts, ElementsAre(IsQuorum() ? 3U : 0U));
}

// A quorum queue forgets acks that are under way when the channel closes (F74).
TEST_P(QueueType, DeterminesWhetherLastAcksGetTime) {
  Prepare([](const Delivery&) { return Outcome::Ok(); });
  Deliver();
  bool idle = false;
  retrier_->WhenIdle([&idle] { idle = true; });
  time_.RunReady();
  EXPECT_EQ(idle, !IsQuorum());
  time_.Advance(absl::Milliseconds(200));
  EXPECT_TRUE(idle);
}

INSTANTIATE_TEST_SUITE_P(Queues, QueueType, ::testing::Values("classic", "quorum"));

// RabbitMQ 4.3 closes the connection if a refusal has a long name that is not ASCII.
TEST_F(ReturnedDeliveries, AreCountedOrNotWithoutAQuestionThatCostsEachConnection) {
  int questions = 0;
  broker_.on_declare = [&](const QueueDeclaration& queue) -> absl::Status {
    const amqp::Value* const type = queue.arguments.Find("x-queue-type");
    if (type == nullptr || *type != amqp::Value("retryq")) return absl::OkStatus();
    ++questions;
    return absl::UnavailableError("the connection was closed: 541");
  };
  Start({.queue = "orders"}, Handler(Fails));
  for (int i = 0; i < 5; ++i) {
    retrier_->Prepare([](const absl::Status&) {});
    broker_.Lose();
    time_.RunReady();
    broker_.Ready();
    time_.RunReady();
  }
  EXPECT_EQ(questions, 2);
}

// RabbitMQ 4 drops a message that it has delivered 21 times (F33 in doc/rabbitmq_facts.md).
TEST_F(ReturnedDeliveries, MoveMessagesDeliveredTooOftenToTheEndOfTheirQueue) {
  StartCounting();
  Redeliver(10);
  ASSERT_THAT(broker_.publishes, SizeIs(1));
  EXPECT_EQ(LastPublish().exchange, "");
  EXPECT_EQ(LastPublish().routing_key, "orders");
  EXPECT_TRUE(LastPublish().mandatory);
  EXPECT_FALSE(LastPublish().persistent) << "as it came";
  EXPECT_EQ(LastPublish().headers.Find("x-delivery-count"), nullptr);
  EXPECT_THAT(broker_.acked, IsEmpty());

  LastPublish().Confirm();
  EXPECT_THAT(broker_.acked, ElementsAre(1));
  EXPECT_EQ(events_.Count(EventKind::kMoved), 1U);
  EXPECT_EQ(calls_, 0);
  EXPECT_EQ(retrier_->open(), 0U);
}

TEST_F(ReturnedDeliveries, HandleMessagesDeliveredLessOftenOrPublishedWithTheCount) {
  StartCounting();
  Redeliver(9);
  Deliver({.headers = amqp::Table{{"x-delivery-count", std::int64_t{15}}}});
  EXPECT_EQ(calls_, 2);
  EXPECT_THAT(broker_.publishes, IsEmpty());
}

TEST_F(ReturnedDeliveries, MovedMessagesKeepTheirFailuresAndAddNoUnwantedCounts) {
  Start({.queue = "orders", .retry = {.count_redeliveries = CountRedeliveries::kNever}},
        Handler(Fails));
  const amqp::Table remembered = {{kRetryCountHeader.data(), std::int64_t{3}},
                                  {kRetryFirstFailureHeader.data(), std::int64_t{1'000}},
                                  {kRetryNotBeforeHeader.data(), std::int64_t{2'000}},
                                  {kRetryDelayHeader.data(), std::int64_t{500}},
                                  {kRetryQueueHeader.data(), "orders"},
                                  {kRetryExchangeHeader.data(), "shop"},
                                  {kRetryRoutingKeyHeader.data(), "order.placed"},
                                  {kRetryErrorHeader.data(), "down"},
                                  {kRetryIdHeader.data(), "id"}};
  Redeliver(12, remembered);
  ASSERT_THAT(broker_.publishes, SizeIs(1));
  for (const auto& [name, value] : remembered.fields()) {
    const amqp::Value* kept = LastPublish().headers.Find(name);
    ASSERT_NE(kept, nullptr) << name;
    EXPECT_EQ(*kept, value) << name;
  }
}

TEST_F(ReturnedDeliveries, AreParkedIfTheBrokerRefusesToMoveThem) {
  Start({.queue = "orders"}, Handler(Fails));
  Redeliver(10);
  for (int turn = 0; turn < 10 && LastPublish().routing_key == "orders"; ++turn) {
    broker_.CloseChannel(406, "PRECONDITION_FAILED - too large");
    time_.RunReady();
  }
  EXPECT_EQ(LastPublish().routing_key, "orders.parked");
  EXPECT_THAT(broker_.acked, IsEmpty());
  LastPublish().Confirm();
  EXPECT_THAT(broker_.acked, ElementsAre(1));
  EXPECT_EQ(events_.Count(EventKind::kParked), 1U);
}

class SnoozedDeliveries : public RetrierTest {
 protected:
  void StartSnoozing(RetrierOptions options) {
    Start(std::move(options),
          Handler([](const Delivery&) { return Outcome::Snooze(absl::Seconds(5), "later"); }));
  }

  const amqp::Value* Header(std::string_view name) { return LastPublish().headers.Find(name); }
};

TEST_F(SnoozedDeliveries, ReturnAfterTheirDelayUncounted) {
  StartSnoozing({.queue = "orders", .retry = {.max_attempts = 1}});
  Deliver({.exchange = "shop", .routing_key = "order.placed"});
  ASSERT_THAT(broker_.publishes, SizeIs(1));
  EXPECT_EQ(LastPublish().routing_key, "orders");
  EXPECT_EQ(LastPublish().exchange.rfind("retry.", 0), 0U);
  EXPECT_EQ(*Header(kRetryCountHeader), amqp::Value(std::int64_t{0}));
  EXPECT_EQ(*Header(kRetryQueueHeader), amqp::Value("orders"));
  EXPECT_EQ(*Header(kRetryExchangeHeader), amqp::Value("shop"));
  EXPECT_EQ(*Header(kRetryDelayHeader), amqp::Value(std::int64_t{5'000}));
  EXPECT_NE(Header(kRetryNotBeforeHeader), nullptr);
  EXPECT_EQ(Header(kRetryFirstFailureHeader), nullptr);
  EXPECT_EQ(Header(kRetryErrorHeader), nullptr);
  EXPECT_THAT(broker_.acked, IsEmpty());

  LastPublish().Confirm();
  EXPECT_THAT(broker_.acked, ElementsAre(1));
  EXPECT_EQ(events_.Count(EventKind::kFailed), 0U);
  ASSERT_EQ(events_.Count(EventKind::kSnoozed), 1U);
  EXPECT_EQ(events_.Last(EventKind::kSnoozed)->error, "later");
  EXPECT_EQ(events_.Last(EventKind::kSnoozed)->delay, absl::Seconds(5));
}

TEST_F(SnoozedDeliveries, KeepTheRedeliveriesThatTheirQueueHasCounted) {
  StartSnoozing({.queue = "orders"});
  Redeliver(2, testing::Copied({{"x-retry-count", std::int64_t{3}}}));
  ASSERT_THAT(broker_.publishes, SizeIs(1));
  EXPECT_EQ(*Header(kRetryCountHeader), amqp::Value(std::int64_t{5}));
  EXPECT_EQ(Header("x-delivery-count"), nullptr);
}

}  // namespace retryq::returned_deliveries_test
