#include "retryq/consumer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "mocks/mock_broker.h"
#include "retryq/client.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_broker.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "retryq/testing/simulated_time.h"
#include "support/recorded_events.h"

// One consumer: its options, pauses, and how it begins and fails, on a RabbitMQ in memory.

namespace retryq {
namespace consumer_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kMessages = 200;

class ConsumerTest : public ::testing::Test {
 protected:
  ConsumerTest() { Connect("3.10.8"); }

  void Connect(std::string version, const char* queue_type = "classic") {
    client_.reset();
    broker_.reset();
    rabbit_.emplace(time_, random_, testing::SimulatedRabbitMq::Options{.version = version});
    rabbit_->DeclareQueue("work", {{"x-queue-type", queue_type}});
    broker_.emplace(*rabbit_);
    client_.emplace(MakeClient());
  }
  Client MakeClient() {
    return Client(testing::EnvironmentOf(time_, random_, &events_), *broker_, ClientOptions{},
                  [this](const absl::Status& why) { fatal_.push_back(why); });
  }

  template <typename SomeHandler>
  Consumer Consume(ConsumerOptions options, SomeHandler handler) {
    absl::StatusOr<Consumer> consumer = client_->Consume(std::move(options), std::move(handler));
    EXPECT_TRUE(consumer.ok()) << consumer.status();
    time_.Advance(absl::Seconds(1));
    return consumer.ok() ? *std::move(consumer) : Consumer();
  }

  void Send(int messages) {
    for (int i = 0; i < messages; ++i) {
      ASSERT_TRUE(rabbit_->Publish("", "work", {}, absl::StrCat(i)));
    }
  }

  testing::SimulatedTime time_;
  testing::SeededRandom random_;
  testing::RecordedEvents events_;
  std::optional<testing::SimulatedRabbitMq> rabbit_;
  std::optional<testing::SimulatedBroker> broker_;
  std::optional<Client> client_;
  std::vector<absl::Status> fatal_;
};

TEST_F(ConsumerTest, CallsNoHandlerWhilePaused) {
  for (const char* version : {"3.10.8", "4.3.2"}) {
    for (const char* queue_type : {"classic", "quorum"}) {
      SCOPED_TRACE(absl::StrCat(version, " ", queue_type));
      Connect(version, queue_type);
      int calls = 0;
      std::uint64_t failures = 0;
      Consumer consumer;
      consumer = Consume({.queue = "work"}, [&](const Delivery& delivery) {
        failures += delivery.attempt();
        if (++calls == 5) consumer.Pause();
        return absl::OkStatus();
      });
      Send(kMessages);
      time_.Advance(absl::Minutes(1));
      EXPECT_EQ(calls, 5);
      EXPECT_EQ(rabbit_->Count("work"), kMessages - 5U);
      consumer.Resume();
      time_.Advance(absl::Minutes(1));
      EXPECT_EQ(calls, kMessages);
      EXPECT_EQ(failures, 0U);
      EXPECT_THAT(rabbit_->let_go(), IsEmpty());
    }
  }
}

TEST_F(ConsumerTest, LeavesRequeuedMessagesToOthersWhileItIsPaused) {
  std::vector<Settlement> open;
  int others = 0;
  Consumer paused = Consume({.queue = "work", .prefetch = 3},
                            AsyncHandler([&](const Delivery&, Settlement settlement) {
                              open.push_back(std::move(settlement));
                            }));
  Send(10);
  time_.Advance(absl::Seconds(1));
  paused.Pause();
  const Consumer other = Consume({.queue = "work"}, Handler([&](const Delivery&) {
                                   ++others;
                                   return Outcome::Ok();
                                 }));
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(others, 7);
  // An asynchronous handler keeps what it has begun, and decides on it.
  for (Settlement& settlement : std::exchange(open, {})) {
    std::move(settlement).Settle(Outcome::Requeue());
  }
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(others, 10);
}

TEST_F(ConsumerTest, HandlesMessagesAfterAPauseBeforeTheStart) {
  int calls = 0;
  absl::StatusOr<Consumer> consumer =
      client_->Consume({.queue = "work"}, Handler([&](const Delivery&) {
                         ++calls;
                         return Outcome::Ok();
                       }));
  ASSERT_TRUE(consumer.ok());
  consumer->Pause();
  consumer->Resume();
  Send(3);
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(calls, 3);
}

TEST_F(ConsumerTest, StaysPausedOverALostConnection) {
  int calls = 0;
  Consumer consumer = Consume({.queue = "work"}, Handler([&](const Delivery&) {
                                ++calls;
                                return Outcome::Ok();
                              }));
  consumer.Pause();
  broker_->CutConsuming({});
  Send(3);
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(calls, 0);
  consumer.Resume();
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(calls, 3);
}

TEST_F(ConsumerTest, PassesItsOptionsToTheBroker) {
  ::testing::NiceMock<MockBroker> broker;
  BrokerListener* listener = nullptr;
  ON_CALL(broker, SetListener).WillByDefault([&](BrokerListener* now) { listener = now; });
  ON_CALL(broker, Declare).WillByDefault([&](const DeclareParams&, Broker::DeclareCallback done) {
    time_.executor()->Post([done = std::move(done)] { done(DeclareOk{}); });
  });
  std::optional<ConsumeParams> params;
  ON_CALL(broker, Consume).WillByDefault([&](ConsumeParams given, SubscriptionListener*) {
    params = std::move(given);
    return nullptr;
  });
  Client client(testing::EnvironmentOf(time_, random_), broker, {}, [](const absl::Status&) {});
  const auto consumer = client.Consume({.queue = "work",
                                        .consumer_timeout = absl::Minutes(1),
                                        .priority = -7,
                                        .exclusive = true,
                                        .arguments = {{"x-cancel-on-ha-failover", true}}},
                                       [](const Delivery&) { return absl::OkStatus(); });
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  ASSERT_NE(listener, nullptr);
  listener->OnReady();
  time_.Advance(absl::Seconds(1));
  ASSERT_TRUE(params.has_value());
  EXPECT_TRUE(params->exclusive);
  const std::string bytes = *params->arguments.Encode();
  const amqp::TableView arguments(bytes);
  EXPECT_EQ(arguments.FindInt64("x-priority"), -7);
  EXPECT_EQ(arguments.FindInt64("x-consumer-timeout"), 60'000);
  EXPECT_TRUE(arguments.Find("x-cancel-on-ha-failover").has_value());
}

TEST_F(ConsumerTest, NamesEachWrongArgument) {
  const absl::Status status =
      client_
          ->Consume({.queue = "work",
                     .arguments = {{"x-priority", 1}, {"x-consumer-timeout", 1}, {"\xff", 0.5}}},
                    [](const Delivery&) { return absl::OkStatus(); })
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr("arguments must not contain x-priority: set priority"));
  EXPECT_THAT(message, HasSubstr("x-consumer-timeout: set consumer_timeout"));
  const absl::Status long_name =
      client_
          ->Consume({.queue = "work", .arguments = {{std::string(300, 'x'), 1}}},
                    [](const Delivery&) { return absl::OkStatus(); })
          .status();
  EXPECT_EQ(long_name.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(long_name.message()), HasSubstr("arguments: "));
}

TEST_F(ConsumerTest, WaitsWhileAnotherConsumerIsExclusive) {
  std::vector<std::string> handled_by;
  const auto handler = [&](const char* who) {
    return Handler([&, who](const Delivery&) {
      handled_by.emplace_back(who);
      return Outcome::Ok();
    });
  };
  Consumer first = Consume({.queue = "work", .exclusive = true}, handler("first"));
  const Consumer second = Consume({.queue = "work", .exclusive = true}, handler("second"));
  Send(1);
  time_.Advance(absl::Seconds(10));
  EXPECT_THAT(handled_by, ElementsAre("first"));
  ASSERT_GE(events_.Count(EventKind::kInterrupted), 1U);
  EXPECT_THAT(events_.Last(EventKind::kInterrupted)->error,
              HasSubstr("it waits until the queue has no other consumer"));
  first = Consumer();
  Send(1);
  time_.Advance(absl::Seconds(10));
  EXPECT_THAT(handled_by, ElementsAre("first", "second"));
  EXPECT_THAT(fatal_, IsEmpty());
}

TEST_F(ConsumerTest, ReportsReadyAtTheStartAndAfterEachInterruption) {
  int ready = 0;
  absl::StatusOr<Consumer> consumer =
      client_->Consume({.queue = "work"}, [](const Delivery&) { return absl::OkStatus(); });
  ASSERT_TRUE(consumer.ok());
  consumer->OnReady([&] { ++ready; });
  EXPECT_EQ(ready, 0);
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(ready, 1);
  consumer->Pause();
  time_.Advance(absl::Seconds(1));
  consumer->Resume();
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(ready, 1);
  broker_->CutConsuming({});
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(ready, 2);
  // At once if it is consuming, and the callback may destroy it.
  bool late = false;
  consumer->OnReady([&] {
    late = true;
    *consumer = Consumer();
  });
  EXPECT_FALSE(late);
  time_.RunReady();
  EXPECT_TRUE(late);
}

TEST_F(ConsumerTest, DoesNotStopOthersIfOnFailedIsSet) {
  std::vector<absl::Status> failures;
  int calls = 0;
  const Consumer healthy = Consume({.queue = "work"}, Handler([&](const Delivery&) {
                                     ++calls;
                                     return Outcome::Ok();
                                   }));
  Consumer missing;
  missing = Consume({.queue = "missing",
                     .on_failed =
                         [&](absl::Status why) {
                           failures.push_back(std::move(why));
                           missing = Consumer();
                         }},
                    Handler([](const Delivery&) { return Outcome::Ok(); }));
  time_.Advance(absl::Minutes(1));
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(fatal_, IsEmpty());
  Send(1);
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(calls, 1);

  const Consumer unheard =
      Consume({.queue = "missing"}, Handler([](const Delivery&) { return Outcome::Ok(); }));
  EXPECT_EQ(fatal_.size(), 1U);
}

}  // namespace consumer_test
}  // namespace retryq
