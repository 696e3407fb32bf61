#include "retryq/testing/simulated_broker.h"

#include "support/test.h"
#include "unit/testing/fixture.h"

namespace retryq::testing::simulated_broker_test {

class SimulatedBrokerTest : public SimulatedRabbitMqTest {
 protected:
  SimulatedBrokerTest() {
    rabbit_.DeclareQueue("work");
    time_.Advance(absl::Seconds(2));
  }

  std::unique_ptr<Subscription> Consume(std::uint16_t prefetch = 10) {
    std::unique_ptr<Subscription> subscription =
        broker_.Consume({.queue = "work", .prefetch = prefetch}, &inbox_);
    time_.Advance(absl::Milliseconds(10));
    return subscription;
  }

  void Send(std::string_view body) { ASSERT_TRUE(rabbit_.Publish("", "work", {}, body)); }

  // A publish whose result is recorded in `told_`, like the calls of the listener.
  void PublishAndTell(std::string_view body = "") {
    broker_.Publish(
        {.exchange = "", .routing_key = "work", .body = body}, [this](const PublishResult& result) {
          told_.push_back(result.outcome == PublishOutcome::kUnknown ? "in doubt" : "confirmed");
        });
  }

  class Listener final : public BrokerListener {
   public:
    explicit Listener(std::vector<std::string>& told) : told_(told) {}
    void OnReady() override { told_.emplace_back("ready"); }
    void OnLost(const absl::Status& why) override { told_.emplace_back(why.message()); }
    void OnBlocked(bool blocked, std::string_view) override {
      told_.emplace_back(blocked ? "blocked" : "unblocked");
    }

   private:
    std::vector<std::string>& told_;
  };

  std::vector<std::string> told_;
  Listener listener_{told_};
  Inbox inbox_;
};

TEST_F(SimulatedBrokerTest, RequeuesUnackedMessagesOfAKilledClient) {
  Send("a");
  auto killed = std::make_unique<SimulatedBroker>(rabbit_);
  Inbox first;
  auto consumer = killed->Consume({.queue = "work"}, &first);
  time_.Advance(absl::Seconds(2));
  ASSERT_THAT(first.Bodies(), ElementsAre("a"));
  consumer.reset();
  killed.reset();
  time_.Advance(absl::Seconds(1));
  const auto subscription = Consume();
  ASSERT_THAT(inbox_.Bodies(), ElementsAre("a"));
  EXPECT_TRUE(inbox_.messages[0]->redelivered);
}

TEST_F(SimulatedBrokerTest, ReportsALostConnectionBeforeItAnswersOpenRequests) {
  broker_.SetListener(&listener_);
  PublishAndTell();
  broker_.Declare({.queue = {.name = "q"}}, [&](const absl::StatusOr<DeclareOk>& answer) {
    told_.emplace_back(absl::IsUnavailable(answer.status()) ? "refused" : "declared");
  });
  broker_.CutPublishing({});
  time_.Advance(absl::Seconds(2));
  EXPECT_THAT(told_, ElementsAre(::testing::_, "in doubt", "refused", "ready"));
  broker_.SetListener(nullptr);
}

TEST_F(SimulatedBrokerTest, ReconnectsOnRequest) {
  broker_.SetListener(&listener_);
  PublishAndTell();
  broker_.Reconnect(absl::UnavailableError("too slow"));
  time_.Advance(absl::Seconds(2));
  EXPECT_THAT(told_, ElementsAre("too slow", "in doubt", "ready"));
  broker_.SetListener(nullptr);
}

TEST_F(SimulatedBrokerTest, AMessageInFlightMayArriveAfterTheCut) {
  broker_.Publish({.exchange = "", .routing_key = "work"}, [](const PublishResult&) {});
  broker_.CutPublishing({.may_arrive = absl::Milliseconds(5)});
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(rabbit_.Count("work"), 1U);
  broker_.Publish({.exchange = "", .routing_key = "work"}, [](const PublishResult&) {});
  broker_.CutPublishing({});
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(rabbit_.Count("work"), 1U);
}

TEST_F(SimulatedBrokerTest, AnAlarmStopsPublishingAndNotConsuming) {  // 18
  broker_.SetListener(&listener_);
  const auto subscription = Consume();
  rabbit_.SetAlarm(true);
  PublishAndTell("late");
  Send("early");
  time_.Advance(absl::Minutes(1));
  EXPECT_THAT(told_, ElementsAre("blocked"));
  EXPECT_THAT(inbox_.Bodies(), ElementsAre("early"));
  rabbit_.SetAlarm(false);
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(told_, ElementsAre("blocked", "unblocked", "confirmed"));
  EXPECT_THAT(inbox_.Bodies(), ElementsAre("early", "late"));
  broker_.SetListener(nullptr);
}

TEST_F(SimulatedBrokerTest, CancelsKeepsTagsValidAndResumes) {
  Send("a");
  const auto subscription = Consume();
  bool cancelled = false;
  subscription->Cancel([&] { cancelled = true; });
  time_.Advance(absl::Milliseconds(10));
  EXPECT_TRUE(cancelled);
  Send("b");
  broker_.Ack(inbox_.messages[0]->delivery_tag);
  time_.Advance(absl::Milliseconds(10));
  EXPECT_THAT(inbox_.Bodies(), ElementsAre("a"));
  EXPECT_EQ(rabbit_.Count("work"), 1U);
  subscription->Resume(/*prefetch=*/64);
  time_.Advance(absl::Milliseconds(10));
  EXPECT_THAT(inbox_.Bodies(), ElementsAre("a", "b"));
}

TEST_F(SimulatedBrokerTest, ResumesWithAPrefetchThatIgnoresEarlierDeliveries) {
  Send("a");
  Send("b");
  const auto subscription = Consume();
  ASSERT_THAT(inbox_.messages, SizeIs(2));
  subscription->Cancel([] {});
  time_.Advance(absl::Milliseconds(10));
  for (const char* body : {"c", "d", "e"}) Send(body);
  subscription->Resume(/*prefetch=*/1);
  time_.Advance(absl::Milliseconds(10));
  EXPECT_THAT(inbox_.Bodies(), ElementsAre("a", "b", "c"));
  broker_.Ack(inbox_.messages[0]->delivery_tag);
  time_.Advance(absl::Milliseconds(10));
  EXPECT_THAT(inbox_.messages, SizeIs(3));
  broker_.Ack(inbox_.messages[2]->delivery_tag);
  time_.Advance(absl::Milliseconds(10));
  EXPECT_THAT(inbox_.Bodies(), ElementsAre("a", "b", "c", "d"));
}

TEST_F(SimulatedBrokerTest, CompletesACancelIfTheBrokerEndsTheConsumerMeanwhile) {
  const auto subscription = Consume();
  bool cancelled = false;
  rabbit_.DeleteQueue("work");
  subscription->Cancel([&] { cancelled = true; });
  time_.Advance(absl::Seconds(5));
  EXPECT_TRUE(cancelled);
}

TEST_F(SimulatedBrokerTest, ClosingASubscriptionHandlesItsLastAcksFirst) {
  Send("a");
  Send("b");
  const auto subscription = Consume();
  broker_.Ack(inbox_.messages[0]->delivery_tag);
  bool closed = false;
  subscription->Close([&] { closed = true; });
  time_.Advance(absl::Milliseconds(10));
  EXPECT_TRUE(closed);
  EXPECT_EQ(rabbit_.Count("work"), 1U);
}

TEST_F(SimulatedBrokerTest, NotifiesAConsumerThatItsQueueIsDeleted) {
  const auto subscription = Consume();
  rabbit_.DeleteQueue("work");
  time_.Advance(absl::Milliseconds(100));
  ASSERT_THAT(inbox_.interruptions, SizeIs(1));
  EXPECT_TRUE(absl::IsAborted(inbox_.interruptions[0]));
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(absl::IsNotFound(inbox_.interruptions.back()));
  rabbit_.DeclareQueue("work");
  time_.Advance(absl::Seconds(2));
  EXPECT_EQ(inbox_.subscribed, 2);
}

TEST_F(SimulatedBrokerTest, CountsReturnsToAQuorumQueueUpToItsLimit) {
  rabbit_.DeclareQueue("limited", {{"x-queue-type", "quorum"}, {"x-delivery-limit", 2}});
  ASSERT_TRUE(rabbit_.Publish("", "limited", {.message_id = "1"}));
  const auto subscription = broker_.Consume({.queue = "limited"}, &inbox_);
  for (std::size_t i = 0; i < 3; ++i) {
    time_.Advance(absl::Milliseconds(10));
    ASSERT_THAT(inbox_.messages, SizeIs(i + 1));
    broker_.Reject(inbox_.messages[i]->delivery_tag, /*requeue=*/true);
  }
  time_.Advance(absl::Milliseconds(10));
  EXPECT_THAT(Causes(), ElementsAre(LetGo::Cause::kDeliveryLimit));
  EXPECT_EQ(inbox_.messages[2]->properties.headers->Find("x-delivery-count")->AsInt64(), 2);
}

class SimulatedReturns : public ::testing::TestWithParam<const char*> {
 protected:
  SimulatedReturns() {
    rabbit_.DeclareQueue("work", {{"x-queue-type", "quorum"}});
    rabbit_.Publish("", "work");
    Subscribe();
  }
  bool CountsAll() const { return std::string_view(GetParam()) != "4.3.6"; }
  void Subscribe() {
    subscription_ = broker_.Consume({.queue = "work"}, &inbox_);
    time_.Advance(absl::Milliseconds(10));
  }
  std::optional<std::int64_t> Count(std::string_view header) const {
    const auto& headers = inbox_.messages.back()->properties.headers;
    return headers ? headers->FindInt64(header) : std::nullopt;
  }

  SimulatedTime time_;
  SeededRandom random_{1};
  SimulatedRabbitMq rabbit_{
      time_, random_, {.version = GetParam(), .consumer_timeout = absl::Minutes(30)}};
  SimulatedBroker broker_{rabbit_};
  Inbox inbox_;
  std::unique_ptr<Subscription> subscription_;
};

TEST_P(SimulatedReturns, ByTheClientAreCountedBefore4_3) {  // 41
  broker_.Reject(inbox_.messages.back()->delivery_tag, /*requeue=*/true);
  time_.Advance(absl::Milliseconds(10));
  subscription_.reset();
  Subscribe();
  ASSERT_THAT(inbox_.messages, SizeIs(3));
  EXPECT_EQ(Count("x-delivery-count"), CountsAll() ? std::optional(2) : std::nullopt);
  EXPECT_EQ(Count("x-acquired-count"), CountsAll() ? std::nullopt : std::optional(2));
}

TEST_P(SimulatedReturns, OfALostConnectionAreCounted) {
  broker_.CutConsuming({});
  time_.Advance(absl::Seconds(30));
  ASSERT_THAT(inbox_.messages, SizeIs(2));
  EXPECT_EQ(Count("x-delivery-count"), 1);
  EXPECT_EQ(Count("x-acquired-count"), CountsAll() ? std::nullopt : std::optional(1));
}

TEST_P(SimulatedReturns, AfterTheConsumerTimeoutAreCountedBefore4_3) {  // 42
  time_.Advance(absl::Minutes(31));
  ASSERT_THAT(inbox_.interruptions, SizeIs(1));
  EXPECT_EQ(absl::IsAborted(inbox_.interruptions[0]), !CountsAll());
  ASSERT_THAT(inbox_.messages, SizeIs(2));
  EXPECT_EQ(Count("x-delivery-count"), CountsAll() ? std::optional(1) : std::nullopt);
  EXPECT_EQ(Count("x-acquired-count"), CountsAll() ? std::nullopt : std::optional(1));
}

INSTANTIATE_TEST_SUITE_P(Versions, SimulatedReturns, ::testing::Values("3.10.8", "4.0.5", "4.3.6"),
                         [](const auto& version) {
                           std::string name = version.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace retryq::testing::simulated_broker_test
