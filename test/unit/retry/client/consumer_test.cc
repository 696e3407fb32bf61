#include "retryq/consumer.h"

#include <tuple>

#include "support/scripted_broker.h"
#include "support/simulated_world.h"
#include "support/test.h"

// One consumer: its options, pauses, start and failure, on a RabbitMQ in memory.

namespace retryq::consumer_test {

constexpr int kMessages = 200;

class ConsumerTest : public ::testing::Test, protected testing::SimulatedWorld {
 protected:
  explicit ConsumerTest(const char* version = "3.10.8", const char* queue_type = "classic")
      : SimulatedWorld(1, {.version = version}) {
    rabbit_.DeclareQueue("work", {{"x-queue-type", queue_type}});
  }

  template <typename SomeHandler>
  Consumer& Consume(ConsumerOptions options, SomeHandler handler) {
    Consumer& consumer = process_.Consume(std::move(options), std::move(handler));
    time_.Advance(absl::Seconds(1));
    return consumer;
  }
  // Counts its calls.
  Handler Counts() {
    return [this](const Delivery&) {
      ++calls_;
      return Outcome::Ok();
    };
  }

  void SendMany(int messages) {
    for (int i = 0; i < messages; ++i) Send("work", absl::StrCat(i));
  }

  std::vector<absl::Status> fatal_;
  testing::SimulatedProcess& process_ =
      Start({.fatal = [this](const absl::Status& why) { fatal_.push_back(why); }});
  std::optional<Client>& client_ = process_.client;
  int calls_ = 0;
};

class ConsumerPause : public ConsumerTest,
                      public ::testing::WithParamInterface<std::tuple<const char*, const char*>> {
 protected:
  ConsumerPause() : ConsumerTest(std::get<0>(GetParam()), std::get<1>(GetParam())) {}
};

TEST_P(ConsumerPause, CallsNoHandlerMeanwhile) {
  std::uint64_t failures = 0;
  Consumer& consumer = Consume({.queue = "work"}, [&](const Delivery& delivery) {
    failures += delivery.attempt();
    if (++calls_ == 5) process_.consumers.back()->Pause();
    return absl::OkStatus();
  });
  SendMany(kMessages);
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(calls_, 5);
  EXPECT_EQ(rabbit_.Count("work"), kMessages - 5U);
  consumer.Resume();
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(calls_, kMessages);
  EXPECT_EQ(failures, 0U);
  EXPECT_THAT(rabbit_.let_go(), IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(Queues, ConsumerPause,
                         ::testing::Combine(::testing::Values("3.10.8", "4.3.2"),
                                            ::testing::Values("classic", "quorum")));

TEST_F(ConsumerTest, LeavesRequeuedMessagesToOthersWhileItIsPaused) {
  std::vector<Settlement> open;
  Consumer& paused = Consume({.queue = "work", .prefetch = 3},
                             AsyncHandler([&](const Delivery&, Settlement settlement) {
                               open.push_back(std::move(settlement));
                             }));
  SendMany(10);
  time_.Advance(absl::Seconds(1));
  paused.Pause();
  Consume({.queue = "work"}, Counts());
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(calls_, 7);
  // An asynchronous handler keeps the messages that it has, and settles them.
  for (Settlement& settlement : std::exchange(open, {})) {
    std::move(settlement).Settle(Outcome::Requeue());
  }
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(calls_, 10);
}

TEST_F(ConsumerTest, HandlesMessagesAfterAPauseBeforeTheStart) {
  Consumer& consumer = process_.Consume({.queue = "work"}, Counts());
  consumer.Pause();
  consumer.Resume();
  SendMany(3);
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(calls_, 3);
}

TEST_F(ConsumerTest, StaysPausedOverALostConnection) {
  Consumer& consumer = Consume({.queue = "work"}, Counts());
  consumer.Pause();
  process_.broker.CutConsuming({});
  SendMany(3);
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(calls_, 0);
  consumer.Resume();
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(calls_, 3);
}

TEST_F(ConsumerTest, PassesItsOptionsToTheBroker) {
  testing::ScriptedBroker broker(time_);
  Client client(testing::EnvironmentOf(time_, random_), broker, {}, [](const absl::Status&) {});
  const auto consumer = client.Consume({.queue = "work",
                                        .consumer_timeout = absl::Minutes(1),
                                        .priority = -7,
                                        .exclusive = true,
                                        .arguments = {{"x-cancel-on-ha-failover", true}}},
                                       [](const Delivery&) { return absl::OkStatus(); });
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  broker.Ready();
  time_.RunReady();
  ASSERT_THAT(broker.consumes, SizeIs(1));
  EXPECT_TRUE(broker.consumes[0].exclusive);
  const std::string bytes = *broker.consumes[0].arguments.Encode();
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

TEST_F(ConsumerTest, ReportsReadyAtTheStartAndAfterEachInterruption) {
  int ready = 0;
  Consumer& consumer = process_.Consume({.queue = "work"}, Counts());
  consumer.OnReady([&] { ++ready; });
  EXPECT_EQ(ready, 0);
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(ready, 1);
  consumer.Pause();
  time_.Advance(absl::Seconds(1));
  consumer.Resume();
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(ready, 1);
  process_.broker.CutConsuming({});
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(ready, 2);
  // At once if it is consuming, and the callback may destroy it.
  bool late = false;
  consumer.OnReady([&] {
    late = true;
    consumer = Consumer();
  });
  EXPECT_FALSE(late);
  time_.RunReady();
  EXPECT_TRUE(late);
}

TEST_F(ConsumerTest, DoesNotStopOthersIfOnFailedIsSet) {
  std::vector<absl::Status> failures;
  Consume({.queue = "work"}, Counts());
  Consume({.queue = "missing",
           .on_failed =
               [&](absl::Status why) {
                 failures.push_back(std::move(why));
                 *process_.consumers.back() = Consumer();
               }},
          Counts());
  time_.Advance(absl::Minutes(1));
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(fatal_, IsEmpty());
  SendMany(1);
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(calls_, 1);

  Consume({.queue = "missing"}, Counts());
  EXPECT_EQ(fatal_.size(), 1U);
}

}  // namespace retryq::consumer_test
