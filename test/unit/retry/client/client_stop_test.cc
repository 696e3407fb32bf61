#include "support/scripted_test.h"
#include "support/test.h"

// Stopping consumers and publishes, in simulated time.

namespace retryq::client_stop_test {

using testing::RecordedEvents;
using testing::ScriptedBroker;

class ClientStopTest : public testing::ScriptedTest {
 protected:
  template <typename SomeHandler>
  void Consume(SomeHandler handler) {
    auto consumer = client_->Consume({.queue = "orders"}, std::move(handler));
    ASSERT_TRUE(consumer.ok()) << consumer.status();
    consumer_ = *std::move(consumer);
    broker_.Ready();
    time_.RunReady();
    broker_.subscriber->OnSubscribed();
  }

  // Keeps the settlements of its handler.
  void ConsumeOpen() {
    Consume(AsyncHandler(
        [this](const Delivery&, Settlement settlement) { open_ = std::move(settlement); }));
  }

  void Drain(absl::Duration deadline = absl::InfiniteDuration()) {
    consumer_->Drain(deadline, [this](bool complete) { drained_.push_back(complete); });
  }

  std::optional<Consumer> consumer_;
  std::vector<bool> drained_;
  std::optional<Settlement> open_;
};

TEST_F(ClientStopTest, ADrainAfterADrainCompletesAtOnce) {
  Consume(Handler(Handles));
  Drain();
  time_.Advance(absl::Seconds(1));
  Drain();
  EXPECT_THAT(drained_, ElementsAre(true));  // not from inside
  time_.RunReady();
  EXPECT_THAT(drained_, ElementsAre(true, true));
}

TEST_F(ClientStopTest, UsesTheEarlierDeadline) {
  ConsumeOpen();
  Deliver();
  Drain(absl::Minutes(1));
  Drain(absl::Seconds(10));
  Drain(absl::Minutes(2));
  EXPECT_FALSE(open_->abandoned());
  time_.Advance(absl::Seconds(9));
  EXPECT_THAT(drained_, IsEmpty());
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(drained_, ElementsAre(false, false, false));
  EXPECT_TRUE(open_->abandoned());
}

// The messages are safe in the work queue.
TEST_F(ClientStopTest, DoesNotWaitForCopiesThatTheBrokerDoesNotAccept) {
  broker_.on_declare = [](const QueueDeclaration& queue) {
    return queue.name.starts_with("retry.") ? absl::PermissionDeniedError("403") : absl::OkStatus();
  };
  Consume(Handler(Fails));
  Deliver();
  Drain();
  time_.Advance(absl::Seconds(6));
  EXPECT_THAT(drained_, ElementsAre(false));
  EXPECT_THAT(broker_.acked, IsEmpty());
}

// A broker that stalls at that moment.
TEST_F(ClientStopTest, DoesNotWaitForASilentBroker) {
  Consume(Handler(Handles));
  broker_.ends_subscriptions = false;
  Drain();
  time_.Advance(absl::Seconds(7));
  EXPECT_THAT(drained_, ElementsAre(false));
}

TEST_F(ClientStopTest, WaitsLongerForPublishedCopies) {
  Consume(Handler(Fails));
  Deliver();
  ASSERT_EQ(broker_.open().size(), 1U);
  Drain();
  time_.Advance(absl::Seconds(8));
  EXPECT_THAT(drained_, IsEmpty());
  broker_.open()[0]->Confirm();
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(drained_, ElementsAre(true));
  EXPECT_THAT(broker_.acked, ElementsAre(1));
}

TEST_F(ClientStopTest, WaitsForAHandlerWithoutALimit) {
  ConsumeOpen();
  Deliver();
  Drain();
  time_.Advance(absl::Hours(1));
  EXPECT_THAT(drained_, IsEmpty());
  std::move(*open_).Settle(Outcome::Ok());
  time_.RunReady();
  EXPECT_THAT(drained_, ElementsAre(true));
  EXPECT_THAT(broker_.acked, ElementsAre(1));
}

// 1 274 channels a second, once.
TEST_F(ClientStopTest, RetriesAnUnavailableQueueWithPausesAndReportsIt) {
  broker_.on_declare = [](const QueueDeclaration&) { return absl::UnavailableError("541 DOWN"); };
  auto consumer = client_->Consume({.queue = "orders"}, Handler(Fails));
  broker_.Ready();
  time_.Advance(absl::Minutes(10));
  EXPECT_LT(broker_.declares.size(), 50U);
  EXPECT_GT(broker_.declares.size(), 20U);
  EXPECT_THAT(fatal_, IsEmpty());
  EXPECT_LE(events_.Count(EventKind::kInterrupted), 10U);
  EXPECT_THAT(events_.Last(EventKind::kInterrupted)->error, HasSubstr("DOWN"));
}

TEST_F(ClientStopTest, WarnsOfABrokerVersionThatMayKeepMessages) {
  const auto said = [&](const char* version, QueueType type) {
    broker_.version = version;
    ClientOptions options;
    options.delay_queues.queue_type = type;
    RecordedEvents events;
    client_.emplace(testing::EnvironmentOf(time_, random_, &events), broker_, options,
                    [this](const absl::Status& error) { fatal_.push_back(error); });
    broker_.Ready();
    time_.RunReady();
    const RecordedEvents::Entry* connected = events.Last(EventKind::kConnected);
    const std::string error = connected == nullptr ? "no event" : connected->error;
    client_.reset();
    return error;
  };
  EXPECT_THAT(said("4.3.2", QueueType::kQuorum), HasSubstr("use 4.3.3"));
  EXPECT_EQ(said("4.3.3", QueueType::kQuorum), "");
  EXPECT_EQ(said("4.3.2", QueueType::kClassic), "");
}

TEST_F(ClientStopTest, ADelayedPublishRetriesItsTargetCheckWithPauses) {
  broker_.on_declare = [](const QueueDeclaration&) {
    return absl::UnavailableError("no channel is left");
  };
  absl::Status answer;
  client_->Publish({.routing_key = "orders"}, {.delay = absl::Seconds(1)},
                   [&](const absl::Status& status) { answer = status; });
  broker_.Ready();
  time_.Advance(absl::Seconds(31));
  EXPECT_LT(broker_.declares.size(), 20U);
  EXPECT_THAT(std::string(answer.message()), HasSubstr("no channel is left"));
}

TEST_F(ClientStopTest, APublishWithoutAConnectionReportsTheReason) {
  absl::Status answer;
  client_->Publish({.routing_key = "orders"}, {},
                   [&](const absl::Status& status) { answer = status; });
  broker_.Lose(absl::UnavailableError("cannot connect to localhost: refused"));
  time_.Advance(absl::Seconds(31));
  EXPECT_THAT(std::string(answer.message()), HasSubstr("refused"));
}

TEST_F(ClientStopTest, NamesValuesThatWouldCloseTheConnection) {
  const auto answer = [this](OutgoingMessage message) {
    absl::Status said;
    client_->Publish(std::move(message), {}, [&](const absl::Status& status) { said = status; });
    time_.RunReady();
    EXPECT_TRUE(absl::IsInvalidArgument(said)) << said;
    return std::string(said.message());
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const float infinity = -std::numeric_limits<float>::infinity();
  EXPECT_THAT(answer({.routing_key = "q", .headers = {{"price", nan}}}), HasSubstr("price"));
  EXPECT_THAT(answer({.routing_key = "q", .headers = {{"limit", infinity}}}), HasSubstr("limit"));
  EXPECT_THAT(answer({.routing_key = "q",
                      .headers = {{"deep", amqp::Table{{"a", amqp::Array{amqp::Value(nan)}}}}}}),
              HasSubstr("deep"));
  EXPECT_THAT(answer({.routing_key = std::string("a\0b", 3)}), HasSubstr("routing_key"));
  EXPECT_THAT(answer({.exchange = std::string(256, 'x')}), HasSubstr("exchange"));
  const auto consumer = client_->Consume({.queue = std::string("a\0b", 3)}, Handler(Fails));
  EXPECT_THAT(std::string(consumer.status().message()), HasSubstr("NUL"));
}

class ClientDrainTest : public ClientStopTest {
 protected:
  void DrainClient(absl::Duration deadline = absl::InfiniteDuration()) {
    client_->Drain(deadline, [this](const absl::Status& status) { results_.push_back(status); });
  }
  void Flush(absl::Duration deadline = absl::InfiniteDuration()) {
    client_->Flush(deadline, [this](const absl::Status& status) { results_.push_back(status); });
    time_.RunReady();
  }
  void Publish() {
    client_->Publish({.routing_key = "results"},
                     [this](const absl::Status& status) { answers_.push_back(status); });
    time_.RunReady();
  }
  std::vector<absl::Status> results_;
  std::vector<absl::Status> answers_;
};

TEST_F(ClientDrainTest, WaitsForHandlersAndPublishesAndThenCloses) {
  ConsumeOpen();
  Deliver();
  Publish();
  DrainClient();
  time_.Advance(absl::Seconds(1));
  std::move(*open_).Settle(Outcome::Ok());
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(broker_.acked, ElementsAre(1));
  EXPECT_FALSE(broker_.closed);
  broker_.open().back()->Confirm();
  time_.RunReady();
  EXPECT_TRUE(broker_.closed);
  EXPECT_THAT(results_, ElementsAre(absl::OkStatus()));
  EXPECT_THAT(answers_, ElementsAre(absl::OkStatus()));
}

TEST_F(ClientDrainTest, ReportsUnfinishedWorkAtTheEarliestDeadline) {
  ConsumeOpen();
  Deliver();
  Publish();
  DrainClient(absl::Minutes(1));
  DrainClient(absl::Seconds(2));
  time_.Advance(absl::Seconds(1.9));
  EXPECT_THAT(results_, IsEmpty());
  time_.Advance(absl::Seconds(0.2));
  ASSERT_THAT(results_, SizeIs(2));
  EXPECT_TRUE(absl::IsUnavailable(results_[0])) << results_[0];
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_TRUE(absl::IsUnavailable(answers_[0])) << answers_[0];
  EXPECT_TRUE(open_->abandoned());
}

TEST_F(ClientDrainTest, DoesNotWaitForAConsumerThatIsDestroyed) {
  ConsumeOpen();
  Deliver();
  DrainClient();
  time_.RunReady();
  consumer_.reset();
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(results_, SizeIs(1));
  EXPECT_TRUE(broker_.closed);
}

TEST_F(ClientDrainTest, RefusesCallsAfterwards) {
  broker_.Ready();
  DrainClient();
  time_.RunReady();
  Publish();
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_TRUE(absl::IsCancelled(answers_[0])) << answers_[0];
  EXPECT_FALSE(client_->Consume({.queue = "orders"}, Handler(Handles)).ok());
  DrainClient();
  time_.RunReady();
  EXPECT_THAT(results_, ElementsAre(absl::OkStatus(), absl::OkStatus()));
}

TEST_F(ClientDrainTest, RefusesCallsFromItsDeadlineOn) {
  broker_.ends_subscriptions = false;
  ConsumeOpen();
  Deliver();
  DrainClient(absl::Seconds(1));
  time_.Advance(absl::Seconds(1));
  ASSERT_THAT(results_, SizeIs(1));
  Publish();
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_TRUE(absl::IsCancelled(answers_[0])) << answers_[0];
}

TEST_F(ClientDrainTest, CallsNoCallbackBeforeItReturns) {
  broker_.Ready();
  bool answered = false;
  client_->Declare({.name = "orders"}, [&](const absl::Status&) { answered = true; });
  DrainClient(absl::ZeroDuration());
  EXPECT_FALSE(answered);
  EXPECT_THAT(results_, IsEmpty());
  time_.RunReady();
  EXPECT_TRUE(answered);
}

TEST_F(ClientDrainTest, MayDestroyTheClientWhenItIsDone) {
  broker_.Ready();
  client_->Drain(absl::InfiniteDuration(), [this](const absl::Status&) { client_.reset(); });
  DrainClient();
  time_.RunReady();
  EXPECT_FALSE(client_.has_value());
  EXPECT_THAT(results_, IsEmpty());
}

TEST_F(ClientDrainTest, AFlushWaitsForThePublishesBeforeIt) {
  broker_.Ready();
  Flush();
  EXPECT_THAT(results_, ElementsAre(absl::OkStatus()));
  Publish();
  Publish();
  Flush();
  Publish();
  broker_.open()[1]->Confirm();
  time_.RunReady();
  EXPECT_THAT(results_, SizeIs(1));
  broker_.open()[0]->Return();
  time_.RunReady();
  EXPECT_THAT(results_, ElementsAre(absl::OkStatus(), absl::OkStatus()));
  EXPECT_THAT(answers_, SizeIs(2));
}

TEST_F(ClientDrainTest, FlushesHaveALimit) {
  broker_.Ready();
  Publish();
  for (std::size_t i = 0; i < ClientOptions().max_open_publishes; ++i) {
    client_->Flush(absl::InfiniteDuration());
  }
  Flush();
  ASSERT_THAT(results_, SizeIs(1));
  EXPECT_TRUE(absl::IsResourceExhausted(results_[0])) << results_[0];
  broker_.open()[0]->Confirm();
  time_.RunReady();
  Flush();
  ASSERT_THAT(results_, SizeIs(2));
  EXPECT_TRUE(results_[1].ok()) << results_[1];
}

TEST_F(ClientDrainTest, AFlushEndsAtItsDeadline) {
  broker_.Ready();
  Publish();
  Flush(absl::Seconds(2));
  time_.Advance(absl::Seconds(2));
  ASSERT_THAT(results_, SizeIs(1));
  EXPECT_TRUE(absl::IsUnavailable(results_[0])) << results_[0];
  broker_.open()[0]->Confirm();
  time_.RunReady();
  EXPECT_THAT(answers_, ElementsAre(absl::OkStatus()));
  EXPECT_THAT(results_, SizeIs(1));
}

// A loop whose timers are in simulated time.
class SimulatedLoop final : public EventLoop {
 public:
  explicit SimulatedLoop(testing::SimulatedTime& time) : time_(time) {}
  std::unique_ptr<Timer> After(Duration delay, Callback callback) override {
    return time_.After(delay, std::move(callback));
  }

 private:
  testing::SimulatedTime& time_;
};

// A handler waits for its publish, which the broker does not answer.
class LoopStopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    broker_.version = "4.3.6";  // which does not count requeued messages
    consumer_ =
        client_.Consume({.queue = "orders"}, [this](const Delivery&, Settlement settlement) {
          const auto open = std::make_shared<Settlement>(std::move(settlement));
          Publish([open](const absl::Status& status) { std::move(*open).Settle(status); });
        });
    ASSERT_TRUE(consumer_.ok()) << consumer_.status();
    broker_.Ready();
    Settle();
  }
  void Deliver() {
    broker_.subscriber->OnDelivery(MakeMessage({.delivery_tag = {.generation = 1, .tag = 1}}));
    Settle();
  }
  void Publish(std::function<void(const absl::Status&)> done = nullptr) {
    client_.Publish({.routing_key = "results"}, {}, [this, done](const absl::Status& status) {
      answers_.push_back(status);
      if (done != nullptr) done(status);
    });
  }
  void BeginStop() {
    loop_.Drain();
    Settle();
    EXPECT_TRUE(broker_.cancelled);
  }
  void Pass(absl::Duration time) {
    time_.Advance(time);
    Settle();
  }
  // Runs posted work and due timers.
  void Settle() {
    for (int i = 0; i < 10; ++i) {
      loop_.executor()->Post([this] { loop_.Stop(); });
      EXPECT_EQ(loop_.Run(), absl::OkStatus());
      time_.RunReady();
    }
  }
  // After the open publishes have failed.
  void ExpectStopped() {
    ASSERT_FALSE(answers_.empty());
    EXPECT_TRUE(absl::IsUnavailable(answers_.back())) << answers_.back();
    EXPECT_THAT(std::string(answers_.back().message()), HasSubstr("before the stop"));
    EXPECT_THAT(broker_.requeued, ElementsAre(1));
    EXPECT_EQ(events_.Count(EventKind::kFailed), 0U);
    EXPECT_TRUE(broker_.closed);
  }

  testing::SimulatedTime time_;
  ScriptedBroker broker_{time_};
  RecordedEvents events_;
  SimulatedLoop loop_{time_};
  Client client_{loop_, broker_, {.observer = &events_}};
  absl::StatusOr<Consumer> consumer_ = absl::UnknownError("none yet");
  std::vector<absl::Status> answers_;
};

TEST_F(LoopStopTest, AnswersUnconfirmedPublishesAfterThreeSeconds) {
  Deliver();
  ASSERT_EQ(broker_.open().size(), 1U);
  BeginStop();
  Pass(absl::Seconds(2.9));
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_FALSE(broker_.closed);
  Pass(absl::Seconds(0.1));
  ExpectStopped();
}

// The broker does not reply. The consumer waits for the reply to its cancel, and nine seconds
// longer if copies could become duplicates. An abandoned publish cannot become one.
TEST_F(LoopStopTest, DoesNotWaitLongerForAbandonedPublishes) {
  broker_.ends_subscriptions = false;
  Deliver();
  BeginStop();
  Pass(absl::Seconds(3));
  EXPECT_THAT(answers_, SizeIs(1));
  Pass(absl::Seconds(8.9));
  EXPECT_FALSE(broker_.closed);
  Pass(absl::Seconds(0.1));
  EXPECT_TRUE(broker_.closed);
}

TEST_F(LoopStopTest, AnswersPublishesBlockedByAnAlarmAfterThreeSeconds) {
  broker_.Block(true);
  Deliver();
  ASSERT_THAT(broker_.publishes, IsEmpty());
  BeginStop();
  Pass(absl::Seconds(2.9));
  EXPECT_THAT(answers_, IsEmpty());
  Pass(absl::Seconds(0.1));
  ExpectStopped();
}

TEST_F(LoopStopTest, WaitsForPublishesAsLongAsTheBrokerConfirmsSome) {
  Deliver();
  Publish();
  ASSERT_EQ(broker_.open().size(), 2U);
  BeginStop();
  Pass(absl::Seconds(2.9));
  broker_.open().back()->Confirm();
  Pass(absl::Seconds(3));
  EXPECT_THAT(answers_, ElementsAre(absl::OkStatus()));
  EXPECT_FALSE(broker_.closed);
  Pass(absl::Seconds(0.1));
  ExpectStopped();
}

}  // namespace retryq::client_stop_test
