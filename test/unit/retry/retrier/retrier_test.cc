#include "retryq/retrier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "retry/delivery/headers.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_time.h"
#include "support/event_log.h"
#include "support/make_message.h"
#include "support/scripted_broker.h"

namespace retryq {
namespace retrier_test {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using testing::EventLog;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeMessage;
using ::testing::MatchesRegex;
using testing::ScriptedBroker;
using ::testing::SizeIs;

class RetrierTest : public ::testing::Test {
 protected:
  // A retrier on a connected broker, and its callback around `handler`.
  void Start(RetrierOptions options, Handler handler) {
    MakeRetrier(std::move(options));
    deliver_ = retrier_->Wrap(std::move(handler));
  }
  void Start(RetrierOptions options, AsyncHandler handler) {
    MakeRetrier(std::move(options));
    deliver_ = retrier_->Wrap(std::move(handler));
  }

  void MakeRetrier(RetrierOptions options) {
    shared_ =
        Retrier::Shared::Create(broker_, testing::EnvironmentOf(time_, random_, &events_)).value();
    retrier_ = Retrier::Create(shared_, std::move(options)).value();
    broker_.Ready();
  }

  // Delivers with the next tag, and lets the declares be answered.
  void Deliver(const testing::MessageParts& parts = {}) {
    auto message = std::const_pointer_cast<amqp::Message>(MakeMessage(parts));
    message->delivery_tag = {.generation = 1, .tag = ++tag_};
    deliver_(std::move(message));
    time_.RunReady();
  }

  // As a quorum queue delivers what it has delivered before.
  void Redeliver(std::int64_t count, amqp::Table headers = {}) {
    headers.Set("x-delivery-count", count);
    auto message = std::const_pointer_cast<amqp::Message>(MakeMessage({.headers = headers}));
    message->delivery_tag = {.generation = 1, .tag = ++tag_};
    message->redelivered = true;
    deliver_(std::move(message));
    time_.RunReady();
  }

  ScriptedBroker::Published& LastPublish() { return broker_.publishes.back(); }

  testing::SimulatedTime time_;
  testing::SeededRandom random_{1};
  EventLog events_;
  ScriptedBroker broker_{time_};
  std::shared_ptr<Retrier::Shared> shared_;
  std::unique_ptr<Retrier> retrier_;
  DeliveryHandler deliver_;
  std::uint64_t tag_ = 0;
};

Outcome Fails(const Delivery&) { return absl::UnavailableError("down"); }

TEST_F(RetrierTest, AcksWhatTheHandlerHandled) {
  Start({.queue = "orders"}, [](const Delivery&) { return Outcome::Ok(); });
  Deliver();
  EXPECT_THAT(broker_.acked, ElementsAre(1));
  EXPECT_THAT(broker_.publishes, IsEmpty());
  EXPECT_EQ(events_.Count(EventKind::kHandled), 1U);
}

// Keeps the work for the test to run.
class HandExecutor final : public Executor {
 public:
  void Post(std::function<void()> work) override { works.push_back(std::move(work)); }
  std::vector<std::function<void()>> works;
};

TEST_F(RetrierTest, BeginsNothingOnAThreadWhoseChannelIsGone) {
  MakeRetrier({.queue = "orders"});
  const auto threads = std::make_shared<HandExecutor>();
  std::vector<Delivery> handled;
  deliver_ = retrier_->Wrap(
      [&](const Delivery& delivery) {
        handled.push_back(delivery);
        return Outcome::Ok();
      },
      threads);
  Deliver();
  Deliver();
  ASSERT_THAT(threads->works, SizeIs(2));
  EXPECT_EQ(retrier_->handling(), 2U);
  threads->works[0]();
  ASSERT_THAT(handled, SizeIs(1));
  EXPECT_FALSE(handled[0].abandoned());
  retrier_->Abandon();
  EXPECT_TRUE(handled[0].abandoned());
  EXPECT_EQ(retrier_->handling(), 0U);
  threads->works[1]();
  EXPECT_THAT(handled, SizeIs(1));
  time_.RunReady();
  EXPECT_THAT(broker_.acked, IsEmpty());
  Deliver();
  threads->works[2]();
  ASSERT_THAT(handled, SizeIs(2));
  EXPECT_FALSE(handled[1].abandoned());
}

TEST_F(RetrierTest, KeepsTheMemoryOfNoDeliveryWhoseChannelIsGone) {
  MakeRetrier({.queue = "orders"});
  const auto threads = std::make_shared<HandExecutor>();
  deliver_ = retrier_->Wrap([](const Delivery&) { return Outcome::Ok(); }, threads);
  auto message = std::const_pointer_cast<amqp::Message>(MakeMessage({}));
  const std::weak_ptr<amqp::Message> kept = message;
  deliver_(std::move(message));
  EXPECT_FALSE(kept.expired());
  retrier_->Abandon();
  EXPECT_TRUE(kept.expired());
}

// Nothing of it may be touched from then on: AddressSanitizer looks.
TEST_F(RetrierTest, MayBeDestroyedByTheBackoffOfARedelivery) {
  RetryOptions retry;
  retry.backoff.function = [this](const Failure&) {
    retrier_.reset();
    shared_.reset();
    return absl::Seconds(1);
  };
  bool handled = false;
  Start({.queue = "orders", .retry = retry}, Handler([&](const Delivery&) {
          handled = true;
          return Outcome::Ok();
        }));
  Redeliver(3);
  EXPECT_FALSE(handled);
}

TEST_F(RetrierTest, SaysWhatAnAsynchronousHandlerThrew) {
  Start({.queue = "orders"}, AsyncHandler([](const Delivery&, const Settlement&) {
          throw std::runtime_error("out of paper");
        }));
  Deliver();
  time_.RunReady();
  EXPECT_THAT(std::string(events_.Last(EventKind::kFailed)->error), HasSubstr("out of paper"));
}

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

TEST_F(RetrierTest, TheCopySaysHowOftenWhereAndWhyItFailed) {
  Start({.queue = "orders"}, Handler(Fails));
  Deliver({.exchange = "shop", .routing_key = "order.placed"});
  const amqp::Table& headers = LastPublish().headers;
  EXPECT_EQ(*headers.Find(kRetryCountHeader), amqp::Value(std::int64_t{1}));
  EXPECT_EQ(*headers.Find(kRetryQueueHeader), amqp::Value("orders"));
  EXPECT_EQ(*headers.Find(kRetryExchangeHeader), amqp::Value("shop"));
  EXPECT_EQ(*headers.Find(kRetryRoutingKeyHeader), amqp::Value("order.placed"));
  EXPECT_EQ(*headers.Find(kRetryErrorHeader), amqp::Value("UNAVAILABLE: down"));
  EXPECT_EQ(*headers.Find(kRetryNotBeforeHeader),
            amqp::Value(absl::ToUnixMillis(time_.Now() + absl::Seconds(1))));
}

TEST_F(RetrierTest, DelaysGrowWithTheFailuresThatTheMessageRemembers) {
  Start({.queue = "orders"}, Handler(Fails));
  amqp::Table headers;
  for (const char* exchange : {"retry.1000", "retry.2000", "retry.4000", "retry.8000"}) {
    Deliver({.headers = headers});
    EXPECT_EQ(LastPublish().exchange, exchange);
    headers = LastPublish().headers;
    LastPublish().Confirm();
  }
  EXPECT_EQ(events_.Last(EventKind::kRetried)->attempt, 3U);
}

TEST_F(RetrierTest, APublishThatComesBackIsDeclaredAndPublishedAgain) {
  Start({.queue = "orders"}, Handler(Fails));
  Deliver();
  const std::size_t declares = broker_.declares.size();
  LastPublish().Return();
  time_.RunReady();
  EXPECT_GT(broker_.declares.size(), declares);
  ASSERT_THAT(broker_.publishes, SizeIs(2));
  EXPECT_THAT(broker_.acked, IsEmpty());
  EXPECT_EQ(events_.Count(EventKind::kReturned), 1U);
  EXPECT_EQ(events_.Count(EventKind::kLeaseBroken), 1U);
  LastPublish().Confirm();
  EXPECT_THAT(broker_.acked, ElementsAre(1));
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

TEST_F(RetrierTest, AfterALostConnectionTheCopyIsPublishedAgain) {
  Start({.queue = "orders"}, Handler(Fails));
  Deliver();
  broker_.Lose();
  time_.Advance(absl::Seconds(5));
  EXPECT_THAT(broker_.publishes, SizeIs(1));
  broker_.Ready();
  time_.RunReady();
  ASSERT_THAT(broker_.publishes, SizeIs(2));
  LastPublish().Confirm();
  EXPECT_THAT(broker_.acked, ElementsAre(1));
}

TEST_F(RetrierTest, AConfirmThatDoesNotComeIsNotWaitedForForEver) {
  Start({.queue = "orders"}, Handler(Fails));
  Deliver();
  time_.Advance(absl::Seconds(31));
  ASSERT_THAT(broker_.publishes, SizeIs(2));
  broker_.publishes[0].Confirm();  // too late: nobody knows under which lease
  EXPECT_THAT(broker_.acked, IsEmpty());
  LastPublish().Confirm();
  EXPECT_THAT(broker_.acked, ElementsAre(1));
}

TEST_F(RetrierTest, TheConfirmTimeoutStandsStillWhileTheBrokerIsBlocked) {
  Start({.queue = "orders"}, Handler(Fails));
  Deliver();
  time_.Advance(absl::Seconds(10));
  broker_.Block(true);
  time_.Advance(absl::Seconds(50));
  EXPECT_THAT(broker_.publishes, SizeIs(1));
  broker_.Block(false);
  time_.Advance(absl::Seconds(19));
  EXPECT_THAT(broker_.publishes, SizeIs(1));
  time_.Advance(absl::Seconds(2));
  EXPECT_THAT(broker_.publishes, SizeIs(2));
}

TEST_F(RetrierTest, PausesGrowWhileTheBrokerKeepsRefusing) {
  Start({.queue = "orders"}, Handler(Fails));
  Deliver();
  for (int i = 0; i < 200; ++i) {
    if (auto open = broker_.open(); !open.empty()) open.front()->Nack();
    time_.Advance(absl::Seconds(1));
  }
  EXPECT_LT(broker_.publishes.size(), 25U);
  EXPECT_GT(broker_.publishes.size(), 10U);
  EXPECT_THAT(broker_.acked, IsEmpty());
}

TEST_F(RetrierTest, ADeletedDelayExchangeIsMadeAgainAndNothingIsLost) {
  Start({.queue = "orders"}, Handler(Fails));
  for (int i = 0; i < 3; ++i) Deliver();
  broker_.CloseChannel(404, "NOT_FOUND - no exchange 'retry.1000' in vhost '/'");
  time_.RunReady();
  EXPECT_EQ(events_.Count(EventKind::kLeaseBroken), 1U);
  ASSERT_THAT(broker_.open(), SizeIs(3)) << "all at once: none of them is at fault";
  for (auto* published : broker_.open()) published->Confirm();
  EXPECT_THAT(broker_.acked, ::testing::UnorderedElementsAre(1, 2, 3));
}

TEST_F(RetrierTest, TheCopyThatTheBrokerRefusesIsFoundAndParked) {
  Start({.queue = "orders"}, Handler(Fails));
  Deliver({.body = "good"});
  Deliver({.body = "culprit"});
  Deliver({.body = "good too"});
  const std::string refusal = "PRECONDITION_FAILED - message size 200 is larger than 100";
  broker_.CloseChannel(406, refusal);
  for (int turn = 0; turn < 10; ++turn) {
    time_.RunReady();
    ASSERT_LE(broker_.open().size(), 1U) << "one at a time";
    if (broker_.open().empty()) break;
    ScriptedBroker::Published& on_trial = *broker_.open().front();
    if (on_trial.body == "culprit" && on_trial.exchange != "") {
      broker_.CloseChannel(406, refusal);
    } else {
      on_trial.Confirm();
    }
  }
  EXPECT_THAT(broker_.acked, ::testing::UnorderedElementsAre(1, 2, 3));
  EXPECT_EQ(events_.Count(EventKind::kRetried), 2U);
  ASSERT_EQ(events_.Count(EventKind::kParked), 1U);
  EXPECT_THAT(events_.Last(EventKind::kParked)->error, HasSubstr("larger than 100"));
  EXPECT_EQ(LastPublish().routing_key, "orders.parked");
}

TEST_F(RetrierTest, WhatCanNeitherBeRetriedNorParkedIsHeldAndTriedAgain) {
  Start({.queue = "orders"}, Handler(Fails));
  Deliver();
  std::size_t refusals = 0;
  while (refusals < 6) {
    broker_.CloseChannel(406, "PRECONDITION_FAILED - too large");
    ++refusals;
    for (int i = 0; i < 70 && broker_.open().empty(); ++i) time_.Advance(absl::Seconds(1));
    ASSERT_THAT(broker_.open(), SizeIs(1));
  }
  EXPECT_GE(events_.Count(EventKind::kHeld), 1U);
  EXPECT_THAT(broker_.acked, IsEmpty());
  broker_.open().front()->Confirm();
  EXPECT_THAT(broker_.acked, ElementsAre(1));
}

TEST_F(RetrierTest, ParksAfterTheLastAttempt) {
  Start({.queue = "orders", .retry = {.max_attempts = 3}}, Handler(Fails));
  amqp::Table headers;
  headers.Set(kRetryQueueHeader, "orders");
  headers.Set(kRetryCountHeader, std::int64_t{2});
  Deliver({.headers = headers});
  ASSERT_THAT(broker_.publishes, SizeIs(1));
  EXPECT_EQ(LastPublish().exchange, "");
  EXPECT_EQ(LastPublish().routing_key, "orders.parked");
  LastPublish().Confirm();
  EXPECT_THAT(broker_.acked, ElementsAre(1));
  EXPECT_THAT(events_.Last(EventKind::kParked)->error, HasSubstr("3 attempts"));
}

TEST_F(RetrierTest, AParkedQueueThatVanishedIsMadeAgain) {
  Start({.queue = "orders"},
        [](const Delivery&) -> Outcome { return absl::InvalidArgumentError("no such customer"); });
  Deliver();
  bool there = false;
  broker_.on_declare = [&there](const QueueDeclaration& queue) -> absl::Status {
    if (queue.passive && !there) return absl::NotFoundError("no queue");
    there = true;
    return absl::OkStatus();
  };
  LastPublish().Return();
  time_.RunReady();
  EXPECT_TRUE(there);
  ASSERT_THAT(broker_.publishes, SizeIs(2));
  LastPublish().Confirm();
  EXPECT_THAT(broker_.acked, ElementsAre(1));
}

TEST_F(RetrierTest, RejectsOrDiscardsAtTheLimitWhereToldTo) {
  Start({.queue = "orders", .retry = {.max_attempts = 1, .on_limit = OnLimit::kReject}},
        Handler(Fails));
  Deliver();
  EXPECT_THAT(broker_.rejected, ElementsAre(1));
  EXPECT_THAT(broker_.acked, IsEmpty());
  EXPECT_EQ(events_.Count(EventKind::kRejected), 1U);
}

TEST_F(RetrierTest, GivesBackUncountedWhatTheHandlerRequeues) {
  broker_.version = "4.3.6";
  Start({.queue = "orders", .retry = {.max_attempts = 1}},
        Handler([](const Delivery&) { return Outcome::Requeue(); }));
  Deliver();
  EXPECT_THAT(broker_.requeued, ElementsAre(1));
  EXPECT_THAT(broker_.publishes, IsEmpty());
  EXPECT_EQ(events_.Count(EventKind::kFailed), 0U);
  EXPECT_EQ(events_.Count(EventKind::kRequeued), 1U);
}

TEST_F(RetrierTest, GivesBackByACopyWhatABrokerBefore4_3WouldCount) {
  Start({.queue = "orders"}, Handler([](const Delivery&) { return Outcome::Requeue(); }));
  Redeliver(2, {{"x-retry-queue", "orders"}, {"x-retry-count", std::int64_t{3}}});
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

TEST_F(RetrierTest, GivesBackByItselfWhatNoCopyCanBePublishedOf) {
  Start({.queue = "orders"}, Handler([](const Delivery&) { return Outcome::Requeue(); }));
  broker_.Block(true);
  Deliver();
  EXPECT_THAT(broker_.requeued, ElementsAre(1));
  broker_.Block(false);
  Deliver();
  LastPublish().Return();
  EXPECT_THAT(broker_.requeued, ElementsAre(1, 2));
  broker_.Lose();
  Deliver();
  EXPECT_THAT(broker_.requeued, ElementsAre(1, 2, 3));
  EXPECT_THAT(broker_.publishes, SizeIs(1));
}

// On 4.3, where a timeout is not counted by the broker.
class RetrierTimeoutTest : public RetrierTest {
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
  // `acquired`, `failed`: what the queue has counted.
  void DeliverAgain(std::int64_t acquired, std::int64_t failed = 0, std::string_view body = "body",
                    amqp::Table headers = {}) {
    if (acquired > 0) headers.Set("x-acquired-count", acquired);
    if (failed > 0) headers.Set("x-delivery-count", failed);
    auto message =
        std::const_pointer_cast<amqp::Message>(MakeMessage({.body = body, .headers = headers}));
    message->delivery_tag = {.generation = channel_, .tag = ++tag_};
    message->redelivered = acquired > 0;
    deliver_(std::move(message));
    time_.RunReady();
  }
  void TimeOut(absl::Duration after = absl::Minutes(30)) {
    time_.Advance(after);
    retrier_->Abandon(absl::AbortedError("cancelled"));
    ++channel_;
  }

  std::uint64_t channel_ = 1;
  bool begins_ = true;
  std::vector<std::uint64_t> attempts_;
  std::vector<Settlement> kept_;
};

TEST_F(RetrierTimeoutTest, CountsATimeoutAsAFailureThatIsRetried) {
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

TEST_F(RetrierTimeoutTest, AddsTimeoutsToWhatTheBrokerCounts) {
  StartWithTimeouts(/*max_attempts=*/3);
  DeliverAgain(2, 2);
  EXPECT_THAT(attempts_, ElementsAre(2));
  TimeOut();
  DeliverAgain(3, 2);
  EXPECT_EQ(LastPublish().routing_key, "orders.parked");
}

TEST_F(RetrierTimeoutTest, DoesNotCountWhatWasGivenBack) {
  StartWithTimeouts(/*max_attempts=*/1);
  for (std::int64_t i = 0; i < 5; ++i) DeliverAgain(i);
  EXPECT_THAT(attempts_, ElementsAre(0, 0, 0, 0, 0));
  EXPECT_THAT(broker_.publishes, IsEmpty());
}

TEST_F(RetrierTimeoutTest, DoesNotCountALostConnectionTwice) {
  StartWithTimeouts();
  DeliverAgain(0);
  time_.Advance(absl::Minutes(30));
  retrier_->Abandon(absl::UnavailableError("gone"));
  DeliverAgain(1, 1);
  EXPECT_THAT(attempts_, ElementsAre(0, 1));
}

TEST_F(RetrierTimeoutTest, DoesNotCountWhatHadNotBegun) {
  StartWithTimeouts();
  begins_ = false;
  DeliverAgain(0);
  TimeOut();
  DeliverAgain(1);
  EXPECT_THAT(attempts_, ElementsAre(0, 0));
}

TEST_F(RetrierTimeoutTest, DoesNotCountWhatCameMuchLaterThanWhatTimedOut) {
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

TEST_F(RetrierTimeoutTest, DoesNotTakeAnotherMessageForTheOneThatTimedOut) {
  StartWithTimeouts();
  DeliverAgain(1, 0, "one");
  TimeOut();
  DeliverAgain(1, 0, "two");
  DeliverAgain(1, 0, "one");  // a twin: what timed out has come back twice by now
  EXPECT_THAT(attempts_, ElementsAre(0, 0, 0));
  DeliverAgain(2, 0, "one");
  EXPECT_THAT(broker_.publishes, SizeIs(1));
}

TEST_F(RetrierTest, GoesOnWithTheAttemptsOfAFormerQueue) {
  std::vector<std::uint64_t> attempts;
  Start({.queue = "orders.v2", .former_queues = {"orders"}}, Handler([&](const Delivery& delivery) {
          attempts.push_back(delivery.attempt());
          return absl::UnavailableError("down");
        }));
  Deliver(
      {.headers = amqp::Table{{"x-retry-queue", "orders"}, {"x-retry-count", std::int64_t{3}}}});
  Deliver({.headers = amqp::Table{{"x-retry-queue", "mails"}, {"x-retry-count", std::int64_t{3}}}});
  EXPECT_THAT(attempts, ElementsAre(3, 0));
  EXPECT_EQ(*broker_.publishes[0].headers.Find("x-retry-queue"), amqp::Value("orders.v2"));
  EXPECT_EQ(*broker_.publishes[0].headers.Find("x-retry-count"), amqp::Value(std::int64_t{4}));
}

TEST_F(RetrierTest, RefusesFormerQueuesThatCanBeNone) {
  MakeRetrier({.queue = "orders"});
  const auto refused = Retrier::Create(shared_, {.queue = "orders", .former_queues = {"", "a\nb"}});
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("former_queues must not contain an empty name; former_queues must not "
                        "contain line breaks"));
}

TEST_F(RetrierTest, AnExceptionIsARetry) {
  Start({.queue = "orders"},
        Handler([](const Delivery&) -> Outcome { throw std::runtime_error("boom"); }));
  Deliver();
  EXPECT_EQ(LastPublish().exchange, "retry.1000");
  EXPECT_THAT(events_.Last(EventKind::kFailed)->error, HasSubstr("boom"));
}

TEST_F(RetrierTest, ANamedWorkExchangeTakesBackWhatCameThroughIt) {
  Start({.queue = "orders", .work_exchange = "shop"}, Handler(Fails));
  Deliver({.exchange = "shop", .routing_key = "order.placed"});
  EXPECT_EQ(LastPublish().exchange, "retry.1000");
  EXPECT_EQ(LastPublish().routing_key, "order.placed");
  EXPECT_EQ(*broker_.declares.back().queue.arguments.Find("x-dead-letter-exchange"),
            amqp::Value("shop"));
}

TEST_F(RetrierTest, WhatCameAnotherWayThanTheWorkExchangeReturnsDirectly) {
  Start({.queue = "orders", .work_exchange = "shop"}, Handler(Fails));
  Deliver({.exchange = "", .routing_key = "orders"});
  EXPECT_EQ(LastPublish().exchange, "retry.1000.direct");
  EXPECT_EQ(LastPublish().routing_key, "orders");
  EXPECT_EQ(*broker_.declares.back().queue.arguments.Find("x-dead-letter-exchange"),
            amqp::Value(""));
}

// All that tells of an earlier retry, as the broker passes it on from a publisher who may write to
// the queue, but not to the exchange.
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
          {"x-retry-delay", std::int64_t{1000}},
          {"x-death", amqp::Array{amqp::Value(std::make_shared<const amqp::Table>(death))}},
          {"x-first-death-exchange", "shop"},
          {"x-last-death-queue", "retry.1000"},
          {"CC", amqp::Array{amqp::Value("order.refunded")}}};
}

TEST_F(RetrierTest, ForgedHeadersLeadNoCopyThroughTheWorkExchange) {
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

TEST_F(RetrierTest, AForgedRoutingKeyIsNotThatOfACopyThroughTheWorkExchange) {
  Start({.queue = "orders", .work_exchange = "shop"}, Handler(Fails));
  const std::string headers = ForgedHeaders("orders").Encode().value();
  Deliver({.exchange = "shop",
           .routing_key = "order.placed",
           .properties = {.headers = amqp::TableView(headers)}});
  EXPECT_EQ(LastPublish().exchange, "retry.2000");
  EXPECT_EQ(LastPublish().routing_key, "order.placed");
}

TEST_F(RetrierTest, AForgedRestOfADelayIsSentOnToTheQueueItself) {
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

TEST_F(RetrierTest, AnAsynchronousHandlerSettlesWhenItLikes) {
  std::vector<Settlement> settlements;
  Start({.queue = "orders"}, AsyncHandler([&settlements](Delivery, Settlement settlement) {
          settlements.push_back(std::move(settlement));
        }));
  Deliver();
  Deliver();
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(retrier_->open(), 2U);
  std::move(settlements[1]).Settle(Outcome::Ok());
  time_.RunReady();
  EXPECT_THAT(broker_.acked, ElementsAre(2));
  settlements.clear();  // dropped unsettled: retried
  time_.RunReady();
  EXPECT_EQ(LastPublish().exchange, "retry.1000");
}

TEST_F(RetrierTest, AbandonedDeliveriesAreForgotten) {
  std::vector<Settlement> settlements;
  Start({.queue = "orders"}, AsyncHandler([&settlements](Delivery, Settlement settlement) {
          settlements.push_back(std::move(settlement));
        }));
  Deliver();
  Deliver();
  std::move(settlements[0]).Settle(absl::UnavailableError("down"));
  time_.RunReady();
  retrier_->Abandon();
  EXPECT_EQ(retrier_->open(), 0U);
  LastPublish().Confirm();
  std::move(settlements[1]).Settle(Outcome::Ok());
  time_.RunReady();
  EXPECT_THAT(broker_.acked, IsEmpty());
}

TEST_F(RetrierTest, TheHandlerMayDestroyTheRetrier) {
  Start({.queue = "orders"}, Handler([this](const Delivery& delivery) -> Outcome {
          retrier_.reset();
          deliver_ = nullptr;
          return absl::UnavailableError(std::string(delivery.body()));
        }));
  auto deliver = deliver_;
  deliver(MakeMessage({}));
  time_.RunReady();
  EXPECT_THAT(broker_.acked, IsEmpty());
  EXPECT_THAT(broker_.publishes, IsEmpty());
}

TEST_F(RetrierTest, AHandlerReadsItsDeliveryAfterItHasHadItAbandoned) {
  std::string body;
  Start({.queue = "orders"}, Handler([this, &body](const Delivery& delivery) -> Outcome {
          retrier_->Abandon();
          body = delivery.body();
          return absl::UnavailableError("down");
        }));
  Deliver({.body = "order 7"});
  EXPECT_EQ(body, "order 7");
  EXPECT_EQ(retrier_->open(), 0U);
  EXPECT_THAT(broker_.publishes, IsEmpty());
}

TEST_F(RetrierTest, AnAsynchronousHandlerReadsItsDeliveryAfterItHasDestroyedTheRetrier) {
  std::string body;
  Start({.queue = "orders"}, AsyncHandler([this, &body](const Delivery& delivery, Settlement) {
          retrier_.reset();
          body = delivery.body();
        }));
  Deliver({.body = "order 7"});
  EXPECT_EQ(body, "order 7");
  EXPECT_THAT(broker_.acked, IsEmpty());
}

TEST_F(RetrierTest, AHandlerWithinAHandlerMayAbandonBothDeliveries) {
  int calls = 0;
  std::vector<std::string> bodies;
  Start({.queue = "orders"}, Handler([&, this](const Delivery& delivery) -> Outcome {
          if (++calls == 1) {
            Deliver({.body = "inner"});
            Deliver({.body = "another, in a slot that is free again"});
          } else {
            retrier_->Abandon();
          }
          bodies.emplace_back(delivery.body());
          return absl::UnavailableError("down");
        }));
  Deliver({.body = "outer"});
  EXPECT_THAT(bodies, ElementsAre("inner", "another, in a slot that is free again", "outer"));
  EXPECT_EQ(retrier_->open(), 0U);
}

TEST_F(RetrierTest, SaysWhenItIsIdle) {
  Start({.queue = "orders"}, Handler(Fails));
  Deliver();
  bool idle = false;
  retrier_->WhenIdle([&idle] { idle = true; });
  time_.RunReady();
  EXPECT_FALSE(idle);
  LastPublish().Confirm();
  time_.RunReady();
  EXPECT_TRUE(idle);
}

TEST_F(RetrierTest, OneIdServesAllCopies) {
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

TEST_F(RetrierTest, PreparesByLookingForQueueExchangeAndParkedQueue) {
  MakeRetrier({.queue = "orders", .work_exchange = "shop"});
  absl::Status prepared = absl::UnknownError("not answered");
  retrier_->Prepare([&prepared](const absl::Status& status) { prepared = status; });
  time_.RunReady();
  EXPECT_TRUE(prepared.ok());
  ASSERT_THAT(broker_.declares, SizeIs(3));
  EXPECT_EQ(broker_.declares[0].queue.name, "orders");
  EXPECT_TRUE(broker_.declares[0].queue.passive);
  EXPECT_EQ(broker_.declares[1].queue.name, "orders.parked");
  EXPECT_TRUE(broker_.declares[1].queue.passive);
  EXPECT_EQ(broker_.declares[2].queue.name, "orders.parked");
  EXPECT_FALSE(broker_.declares[2].queue.passive);

  broker_.on_check_exchange = [](const std::string&) { return absl::NotFoundError("no exchange"); };
  retrier_->Prepare([&prepared](const absl::Status& status) { prepared = status; });
  time_.RunReady();
  EXPECT_TRUE(absl::IsNotFound(prepared));
}

TEST_F(RetrierTest, AMistypedQueueLeavesNoParkedQueueBehind) {
  MakeRetrier({.queue = "order"});
  broker_.on_declare = [](const QueueDeclaration&) { return absl::NotFoundError("no queue"); };
  absl::Status prepared;
  retrier_->Prepare([&prepared](const absl::Status& status) { prepared = status; });
  time_.RunReady();
  EXPECT_TRUE(absl::IsNotFound(prepared));
  EXPECT_THAT(std::string(prepared.message()), HasSubstr("declare it first"));
  EXPECT_THAT(broker_.declares, SizeIs(1));
}

TEST_F(RetrierTest, NamesAllOptionsThatAreWrong) {
  MakeRetrier({.queue = "orders"});
  const auto retrier = Retrier::Create(
      shared_, {.queue = "",
                .work_exchange = std::string(300, 'x'),
                .retry = {.backoff = {.base = absl::ZeroDuration(), .factor = 0.5}}});
  ASSERT_TRUE(absl::IsInvalidArgument(retrier.status()));
  const std::string message(retrier.status().message());
  for (const char* field : {"queue", "work_exchange", "base", "factor"}) {
    EXPECT_THAT(message, HasSubstr(field));
  }
}

// RabbitMQ 4 drops a message that it has delivered 21 times (F33 in doc/rabbitmq_facts.md).
TEST_F(RetrierTest, MovesWhatIsDeliveredTooOftenBehindTheOthersInItsQueue) {
  int calls = 0;
  Start({.queue = "orders"}, [&](const Delivery&) {
    ++calls;
    return Outcome::Ok();
  });
  Redeliver(10);
  ASSERT_THAT(broker_.publishes, SizeIs(1));
  EXPECT_EQ(LastPublish().exchange, "");
  EXPECT_EQ(LastPublish().routing_key, "orders");
  EXPECT_TRUE(LastPublish().mandatory);
  EXPECT_TRUE(LastPublish().persistent);
  EXPECT_EQ(LastPublish().headers.Find("x-delivery-count"), nullptr);
  EXPECT_THAT(broker_.acked, IsEmpty());

  LastPublish().Confirm();
  EXPECT_THAT(broker_.acked, ElementsAre(1));
  EXPECT_EQ(events_.Count(EventKind::kMoved), 1U);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(retrier_->open(), 0U);
}

TEST_F(RetrierTest, HandlesWhatIsDeliveredLessOftenAndWhatOnlyBringsTheCountAlong) {
  int calls = 0;
  Start({.queue = "orders"}, [&](const Delivery&) {
    ++calls;
    return Outcome::Ok();
  });
  Redeliver(9);
  Deliver({.headers = amqp::Table{{"x-delivery-count", std::int64_t{15}}}});
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(broker_.publishes, IsEmpty());
}

TEST_F(RetrierTest, WhatIsMovedRemembersItsFailuresAndCountsNoMoreThanItShall) {
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

TEST_F(RetrierTest, ParksWhatTheBrokerRefusesToTakeWhereItShouldMove) {
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

// The memory of one delivery is the next one's.
class NextRetrierDelivery : public RetrierTest {
 protected:
  // The one before was handled, gave up, and was parked.
  void StartAfterAnother(CountRedeliveries count) {
    Start({.queue = "orders", .retry = {.max_attempts = 2, .count_redeliveries = count}},
          Handler(Fails));
    Deliver({.headers = Failed(1)});
    LastPublish().Confirm();
    ASSERT_THAT(events_.Last(EventKind::kParked)->error, HasSubstr("gave up"));
    ASSERT_TRUE(events_.Last(EventKind::kFailed)->handling.has_value());
    events_.entries.clear();
  }

  static amqp::Table Failed(std::int64_t count) {
    return {{kRetryQueueHeader.data(), "orders"}, {kRetryCountHeader.data(), count}};
  }
};

TEST_F(NextRetrierDelivery, IsMovedForNoReasonOfTheOneBefore) {
  StartAfterAnother(CountRedeliveries::kNever);
  Redeliver(10);
  LastPublish().Confirm();
  ASSERT_EQ(events_.Count(EventKind::kMoved), 1U);
  EXPECT_EQ(events_.Last(EventKind::kMoved)->error, "");
}

TEST_F(NextRetrierDelivery, IsSentOnForNoReasonOfTheOneBefore) {
  StartAfterAnother(CountRedeliveries::kNever);
  amqp::Table headers = Failed(1);
  headers.Set(kRetryRemainingHeader, std::int64_t{60'000});
  headers.Set(kRetryNotBeforeHeader, absl::ToUnixMillis(time_.Now() + absl::Minutes(1)));
  Deliver({.headers = headers});
  LastPublish().Confirm();
  ASSERT_EQ(events_.Count(EventKind::kForwarded), 1U);
  EXPECT_EQ(events_.Last(EventKind::kForwarded)->error, "");
}

TEST_F(NextRetrierDelivery, WasNotHandledWhereTheOneBeforeWas) {
  StartAfterAnother(CountRedeliveries::kAlways);
  Redeliver(5);
  LastPublish().Confirm();
  ASSERT_EQ(events_.Count(EventKind::kFailed), 1U);
  EXPECT_EQ(events_.Last(EventKind::kFailed)->handling, std::nullopt);
}

TEST_F(NextRetrierDelivery, IsHeldForASecondAtFirst) {
  Start({.queue = "orders"}, Handler(Fails));
  // Refused wherever it goes, until it is held.
  const auto hold = [this](std::size_t times) {
    events_.entries.clear();
    for (int i = 0; i < 1000 && events_.Count(EventKind::kHeld) < times; ++i) {
      if (broker_.open().empty()) {
        time_.Advance(absl::Milliseconds(100));
      } else {
        broker_.CloseChannel(406, "PRECONDITION_FAILED - too large");
        time_.RunReady();
      }
    }
    ASSERT_EQ(events_.Count(EventKind::kHeld), times);
  };
  Deliver();
  hold(5);
  while (broker_.open().empty()) time_.Advance(absl::Seconds(1));
  broker_.open().front()->Confirm();
  ASSERT_EQ(retrier_->open(), 0U);

  Deliver();
  hold(1);
  ASSERT_THAT(broker_.open(), IsEmpty());
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(broker_.open(), SizeIs(1));
}

}  // namespace retrier_test
}  // namespace retryq
