#include "retry/publisher/publisher.h"

#include "retry/retrier/shared_state.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_time.h"
#include "support/recorded_events.h"
#include "support/scripted_broker.h"
#include "support/test.h"

namespace retryq::publisher_test {

using testing::RecordedEvents;
using testing::ScriptedBroker;

constexpr DelayRoute kSecond{.ttl = absl::Seconds(1)};
constexpr DelayRoute kMinute{.ttl = absl::Minutes(1)};

// Records the result of its publish.
class NotingPublish final : public PendingPublish {
 public:
  explicit NotingPublish(std::string body, std::optional<DelayRoute> route = std::nullopt)
      : body_(std::move(body)), route_(route) {}

  std::optional<DelayRoute> Route() const override { return route_; }
  bool Fill(PublishParams* params, absl::Time /*now*/) override {
    if (!route_.has_value()) params->exchange = "";
    params->routing_key = "orders";
    params->body = body_;
    return fits;
  }
  void OnSent(const SendResult& result) override {
    ends.push_back(result.kind);
    delay_queue = result.delay_queue;
    if (on_sent) on_sent();
  }
  std::string_view Origin() const override { return "orders"; }
  std::string_view Id() const override { return body_; }

  absl::Duration SafeFrom() const override { return safe_from; }

  bool fits = true;
  absl::Duration safe_from = -absl::InfiniteDuration();
  std::function<void()> on_sent;
  std::vector<SendResult::Kind> ends;
  std::string delay_queue;

 private:
  const std::string body_;
  const std::optional<DelayRoute> route_;
};

class PublisherTest : public ::testing::Test {
 protected:
  PublisherTest() { broker_.Ready(); }

  ConfirmedPublisher& publisher() { return shared_.publisher(); }

  void Send(PendingPublish& pending) {
    publisher().Send(pending);
    time_.RunReady();
  }

  std::vector<std::string> OpenBodies() {
    std::vector<std::string> bodies;
    for (const ScriptedBroker::Published* open : broker_.open()) bodies.push_back(open->body);
    return bodies;
  }

  void CloseChannel(std::uint16_t code = 406, std::string_view text = "PRECONDITION_FAILED") {
    broker_.CloseChannel(code, text);
    time_.RunReady();
  }

  testing::SimulatedTime time_;
  testing::SeededRandom random_;
  RecordedEvents events_;
  ScriptedBroker broker_{time_};
  const std::shared_ptr<SharedState> owned_hub_ =
      SharedState::Create(broker_, testing::EnvironmentOf(time_, random_, &events_), {});
  SharedState& shared_ = *owned_hub_;
};

TEST_F(PublisherTest, SendsThroughADelayQueueWithAValidLease) {
  NotingPublish pending("one", kSecond);
  publisher().Send(pending);
  EXPECT_THAT(OpenBodies(), IsEmpty());
  time_.RunReady();
  ASSERT_EQ(broker_.declares.size(), 2U);
  ASSERT_THAT(OpenBodies(), ElementsAre("one"));
  EXPECT_EQ(broker_.open()[0]->exchange, "retry.1000");
  EXPECT_TRUE(broker_.open()[0]->mandatory);
  EXPECT_THAT(pending.ends, IsEmpty());
  broker_.open()[0]->Confirm();
  EXPECT_THAT(pending.ends, ElementsAre(SendResult::Kind::kSent));
  EXPECT_EQ(pending.delay_queue, "retry.1000");
  EXPECT_EQ(publisher().size(), 0U);
}

TEST_F(PublisherTest, WaitsUntilTheQueueSurvivesACrash) {
  NotingPublish pending("one");
  pending.safe_from = time_.SinceBoot() + absl::Seconds(2);
  Send(pending);
  broker_.open()[0]->Confirm();
  time_.Advance(absl::Milliseconds(1999));
  EXPECT_THAT(pending.ends, IsEmpty());
  time_.Advance(absl::Milliseconds(1));
  EXPECT_THAT(pending.ends, ElementsAre(SendResult::Kind::kSent));
}

TEST_F(PublisherTest, RepublishesMessagesThatMayNotHaveSurvivedACrash) {
  NotingPublish pending("one");
  pending.safe_from = time_.SinceBoot() + absl::Seconds(2);
  Send(pending);
  broker_.open()[0]->Confirm();
  broker_.Lose();
  time_.Advance(absl::Seconds(10));
  EXPECT_THAT(pending.ends, IsEmpty());
  broker_.Ready();
  time_.RunReady();
  ASSERT_THAT(OpenBodies(), ElementsAre("one"));
  broker_.open()[0]->Confirm();
  EXPECT_THAT(pending.ends, ElementsAre(SendResult::Kind::kSent));
}

TEST_F(PublisherTest, ReportsAsynchronouslyThatAPublishIsTooLarge) {
  NotingPublish pending("one");
  pending.fits = false;
  publisher().Send(pending);
  EXPECT_THAT(pending.ends, IsEmpty());
  time_.RunReady();
  EXPECT_THAT(pending.ends, ElementsAre(SendResult::Kind::kTooLarge));
  EXPECT_THAT(broker_.publishes, IsEmpty());
}

TEST_F(PublisherTest, RepublishesMessagesConfirmedTooLate) {
  NotingPublish pending("one", kSecond);
  Send(pending);
  broker_.Block(true);  // so that the confirm may take its time
  time_.Advance(absl::Minutes(5));
  broker_.Block(false);
  broker_.open()[0]->Confirm();
  EXPECT_THAT(pending.ends, IsEmpty());
  EXPECT_EQ(events_.Count(EventKind::kUnconfirmed), 1U);
  time_.RunReady();
  ASSERT_THAT(OpenBodies(), ElementsAre("one"));
}

TEST_F(PublisherTest, RedeclaresAndRepublishesMessagesNotConfirmedInTime) {
  NotingPublish pending("one", kSecond);
  Send(pending);
  time_.Advance(absl::Seconds(30) - absl::Milliseconds(1));
  EXPECT_EQ(broker_.publishes.size(), 1U);
  const std::size_t declares = broker_.declares.size();
  time_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(broker_.publishes.size(), 2U);
  EXPECT_EQ(broker_.declares.size(), declares + 2);
  broker_.publishes[0].Confirm();  // comes too late
  EXPECT_THAT(pending.ends, IsEmpty());
  broker_.publishes[1].Confirm();
  EXPECT_THAT(pending.ends, ElementsAre(SendResult::Kind::kSent));
}

// Like a quorum queue without a leader, which blocks its channel.
TEST_F(PublisherTest, UsesAnotherQueueAndConnectionIfAConfirmIsMissingTwice) {
  NotingPublish pending("one", kSecond);
  Send(pending);
  time_.Advance(absl::Seconds(30));
  EXPECT_EQ(broker_.publishes.size(), 2U);
  EXPECT_THAT(broker_.reconnects, IsEmpty());
  EXPECT_EQ(events_.Count(EventKind::kRenamed), 0U);
  time_.Advance(absl::Seconds(31));
  EXPECT_EQ(broker_.reconnects.size(), 1U);
  EXPECT_EQ(events_.Count(EventKind::kRenamed), 1U);

  broker_.Lose(broker_.reconnects[0]);
  broker_.Ready();
  time_.Advance(absl::Seconds(1));
  ASSERT_THAT(OpenBodies(), ElementsAre("one"));
  EXPECT_EQ(broker_.open()[0]->exchange, events_.Last(EventKind::kRenamed)->delay_queue);
  EXPECT_NE(broker_.open()[0]->exchange, broker_.publishes[0].exchange);
  broker_.open()[0]->Confirm();
  EXPECT_THAT(pending.ends, ElementsAre(SendResult::Kind::kSent));
}

TEST_F(PublisherTest, KeepsItsConnectionIfOneWasLostBetweenOverdueConfirms) {
  NotingPublish pending("one", kSecond);
  Send(pending);
  time_.Advance(absl::Seconds(30));
  broker_.Lose();
  broker_.Ready();
  time_.Advance(absl::Seconds(31));
  EXPECT_EQ(events_.Count(EventKind::kUnconfirmed), 3U);
  EXPECT_THAT(broker_.reconnects, IsEmpty());
  EXPECT_EQ(events_.Count(EventKind::kRenamed), 0U);
}

TEST_F(PublisherTest, KeepsItsLeasesIfAConfirmWithoutADelayIsOverdue) {
  NotingPublish delayed("delayed", kMinute);
  Send(delayed);
  broker_.open()[0]->Confirm();
  NotingPublish direct("direct");
  Send(direct);
  time_.Advance(absl::Seconds(30));
  EXPECT_EQ(broker_.publishes.size(), 3U);
  EXPECT_EQ(shared_.delay_queues().size(), 1U);
}

TEST_F(PublisherTest, WaitsForConfirmsAsLongAsTheBrokerBlocks) {
  NotingPublish pending("one");
  Send(pending);
  time_.Advance(absl::Seconds(29));
  broker_.Block(true);
  EXPECT_EQ(time_.pending_timers(), 0U);  // nothing to check meanwhile
  time_.Advance(absl::Hours(1));
  broker_.Block(false);
  time_.Advance(absl::Milliseconds(999));
  EXPECT_EQ(broker_.publishes.size(), 1U);
  time_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(broker_.publishes.size(), 2U);
  EXPECT_EQ(broker_.publishes.back().body, "one");
}

TEST_F(PublisherTest, PublishesNothingWhileTheBrokerBlocksAndAllInOrderAfterwards) {
  broker_.Block(true);
  NotingPublish delayed("delayed", kSecond);
  NotingPublish direct("direct");
  Send(delayed);
  Send(direct);
  time_.Advance(absl::Hours(1));
  EXPECT_THAT(broker_.publishes, IsEmpty());
  EXPECT_THAT(broker_.declares, IsEmpty());
  broker_.Block(false);
  time_.RunReady();
  EXPECT_THAT(OpenBodies(), ElementsAre("direct", "delayed"));  // the latter once it is declared
}

TEST_F(PublisherTest, IsolatesPublishesOnlyWhileTheBrokerDoesNotBlock) {
  NotingPublish pending("one");
  Send(pending);
  broker_.Block(true);
  CloseChannel();
  EXPECT_THAT(OpenBodies(), IsEmpty());
  broker_.Block(false);
  EXPECT_THAT(OpenBodies(), ElementsAre("one"));
}

TEST_F(PublisherTest, LimitsUnconfirmedPublishes) {
  std::vector<std::unique_ptr<NotingPublish>> pending;
  for (std::size_t i = 0; i < ConfirmedPublisher::kMaxUnconfirmed + 3; ++i) {
    pending.push_back(std::make_unique<NotingPublish>(std::to_string(i)));
    publisher().Send(*pending.back());
  }
  EXPECT_EQ(broker_.publishes.size(), ConfirmedPublisher::kMaxUnconfirmed);
  broker_.publishes[7].Confirm();
  EXPECT_EQ(broker_.publishes.size(), ConfirmedPublisher::kMaxUnconfirmed + 1);
  // The answer to a cancelled publish makes room too.
  pending[8].reset();
  time_.RunReady();
  EXPECT_EQ(broker_.publishes.size(), ConfirmedPublisher::kMaxUnconfirmed + 1);
  broker_.publishes[8].Confirm();
  time_.RunReady();
  EXPECT_EQ(broker_.publishes.size(), ConfirmedPublisher::kMaxUnconfirmed + 2);
  broker_.publishes[9].Nack();
  EXPECT_EQ(broker_.publishes.size(), ConfirmedPublisher::kMaxUnconfirmed + 3);
  EXPECT_EQ(broker_.publishes.back().body, pending.back()->Id());
}

TEST_F(PublisherTest, WaitsWhileTooMuchIsUnsent) {
  NotingPublish first("first");
  NotingPublish second("second");
  broker_.unsent = ConfirmedPublisher::kMaxUnsentBytes;
  Send(first);  // one message is always accepted, however large
  Send(second);
  ASSERT_THAT(OpenBodies(), ElementsAre("first"));
  broker_.unsent = 0;
  broker_.open()[0]->Confirm();
  EXPECT_THAT(OpenBodies(), ElementsAre("second"));
}

// During an alarm.
TEST_F(PublisherTest, KeepsNothingOfPublishesCancelledWhileWaiting) {
  broker_.Block(true);
  for (int i = 0; i < 100'000; ++i) {
    NotingPublish pending("called off");
    publisher().Send(pending);
  }
  EXPECT_LT(publisher().queued(), 5'000U);
}

TEST_F(PublisherTest, IncreasesThePausesBetweenTries) {
  NotingPublish pending("one");
  Send(pending);
  broker_.open()[0]->Nack();
  time_.RunReady();
  EXPECT_THAT(OpenBodies(), ElementsAre("one"));  // at once the first time
  absl::Duration longest;
  for (int i = 0; i < 20; ++i) {
    const absl::Duration before = time_.SinceBoot();
    broker_.open()[0]->Nack();
    while (OpenBodies().empty()) ASSERT_TRUE(time_.AdvanceToNextTimer());
    longest = time_.SinceBoot() - before;
    EXPECT_GE(longest, absl::Milliseconds(50));
  }
  EXPECT_GE(longest, absl::Seconds(15));
  EXPECT_LE(longest, absl::Seconds(30));
}

// A message that has closed the channel is never sent together with others again.
TEST_F(PublisherTest, SendsARefusedMessageAlone) {
  NotingPublish cause("cause");
  Send(cause);
  CloseChannel(541, "INTERNAL_ERROR");
  ASSERT_THAT(OpenBodies(), ElementsAre("cause"));
  CloseChannel(541, "INTERNAL_ERROR");
  ASSERT_THAT(cause.ends, ElementsAre(SendResult::Kind::kRefused));
  NotingPublish other("other");
  Send(other);
  Send(cause);
  NotingPublish late("late");
  Send(late);
  EXPECT_THAT(OpenBodies(), ElementsAre("other"));
  broker_.open()[0]->Confirm();
  time_.RunReady();
  ASSERT_THAT(OpenBodies(), ElementsAre("cause"));
  CloseChannel(541, "INTERNAL_ERROR");
  EXPECT_THAT(OpenBodies(), ElementsAre("late"));
  EXPECT_THAT(cause.ends, ElementsAre(SendResult::Kind::kRefused, SendResult::Kind::kRefused));
}

// A large message, whose channel was closed, may still wait to be sent.
TEST_F(PublisherTest, BlamesNoMessageForWhichTheConnectionHadNoRoom) {
  NotingPublish message("message");
  Send(message);
  CloseChannel();
  for (int i = 0; i < 20; ++i) {
    ASSERT_THAT(OpenBodies(), ElementsAre("message"));
    broker_.open()[0]->Answer({.outcome = PublishOutcome::kNotSent});
    time_.Advance(absl::Milliseconds(100));
  }
  EXPECT_THAT(message.ends, IsEmpty());
  CloseChannel(506, "RESOURCE_ERROR");
  EXPECT_THAT(message.ends, ElementsAre(SendResult::Kind::kRefused));
}

// Messages that close the connection are tried more and more rarely, however many there are.
TEST_F(PublisherTest, PublishesOthersWhileManyMessagesEachCloseTheConnection) {
  constexpr int kCauses = 20;
  std::deque<NotingPublish> causes;
  for (int i = 0; i < kCauses; ++i) {
    NotingPublish& cause = causes.emplace_back("cause");
    cause.on_sent = [&] { publisher().Send(cause); };  // tried again at once, for ever
    publisher().Send(cause);
  }
  int closed = 0;
  // The broker closes the connection for these messages, and accepts all others.
  const auto answer = [&] {
    const std::vector<std::string> open = OpenBodies();
    if (std::count(open.begin(), open.end(), "cause") > 0) {
      ++closed;
      CloseChannel(541, "INTERNAL_ERROR");
    } else if (!open.empty()) {
      broker_.open()[0]->Confirm();
    }
  };
  for (int second = 0; second < 300; ++second) {
    for (int i = 0; i < 2 * kCauses; ++i) {
      time_.RunReady();
      answer();
    }
    time_.Advance(absl::Seconds(1));
  }
  const int closed_until_found = std::exchange(closed, 0);
  EXPECT_LE(closed_until_found, 3 * kCauses + 10);
  int arrived = 0;
  for (int second = 0; second < 600; ++second) {
    NotingPublish other("other");
    Send(other);
    answer();
    time_.Advance(absl::Milliseconds(500));
    answer();
    if (!other.ends.empty()) ++arrived;
    time_.Advance(absl::Milliseconds(500));
  }
  EXPECT_LE(closed, 2 * 10) << "in ten minutes";
  EXPECT_GE(closed, 5) << "never given up";
  EXPECT_GE(arrived, 550);
}

// A cancelled publish that the broker never answers.
TEST_F(PublisherTest, UsesAnotherConnectionIfAMessageCannotBeAlone) {
  NotingPublish cause("cause");
  Send(cause);
  CloseChannel();
  CloseChannel();
  auto silent = std::make_unique<NotingPublish>("silent");
  Send(*silent);
  silent.reset();
  Send(cause);
  time_.Advance(absl::Minutes(1));
  EXPECT_THAT(broker_.reconnects, ::testing::SizeIs(1));
}

TEST_F(PublisherTest, PublishesTheNextIsolatedMessageWhileThePreviousOnePauses) {
  NotingPublish first("first");
  NotingPublish second("second");
  for (NotingPublish* pending : {&first, &second}) Send(*pending);
  CloseChannel();
  broker_.open()[0]->Nack();
  EXPECT_THAT(OpenBodies(), ElementsAre("second"));
}

}  // namespace retryq::publisher_test
