#include "retry/publisher/parked_queue.h"

#include "retry/publisher/parked_queue_rules.h"
#include "retryq/testing/simulated_time.h"
#include "support/scripted_broker.h"
#include "support/test.h"

namespace retryq::parked_queue_test {

using testing::ScriptedBroker;

class ParkedQueueTest : public ::testing::Test {
 protected:
  // The declare of a missing queue.
  amqp::Table ArgumentsOf(QueueType type) {
    broker_.on_declare = [](const QueueDeclaration& queue) {
      return queue.passive ? absl::NotFoundError("no queue") : absl::OkStatus();
    };
    ParkedQueue parked_queue(broker_, time_, "orders.parked", type);
    std::vector<absl::Status> answers;
    parked_queue.Ensure([&](const absl::Status& status) { answers.push_back(status); });
    time_.RunReady();
    EXPECT_EQ(answers, std::vector<absl::Status>{absl::OkStatus()});
    EXPECT_EQ(broker_.declares.size(), 2U);
    return broker_.declares.back().queue.arguments;
  }

  // The result of a parked queue with the replies that the test sets in `broker_`.
  absl::Status Ensured() {
    ParkedQueue parked_queue(broker_, time_, "orders.parked", QueueType::kClassic);
    absl::Status answer = absl::UnknownError("none");
    parked_queue.Ensure([&](const absl::Status& status) { answer = status; });
    time_.RunReady();
    return answer;
  }

  testing::SimulatedTime time_;
  ScriptedBroker broker_{time_};
};

TEST_F(ParkedQueueTest, HasTheTypeOfTheDelayQueues) {
  EXPECT_EQ(ArgumentsOf(QueueType::kClassic), (amqp::Table{{"x-queue-type", "classic"}}));
}

TEST_F(ParkedQueueTest, HasNoDeliveryLimitIfTheBrokerHasADefault) {
  EXPECT_EQ(ArgumentsOf(QueueType::kQuorum),
            (amqp::Table{{"x-queue-type", "quorum"}, {"x-delivery-limit", std::int64_t{-1}}}));
}

TEST_F(ParkedQueueTest, OmitsADeliveryLimitThatTheBrokerDoesNotKnow) {
  broker_.version = "3.10.8";
  EXPECT_EQ(ArgumentsOf(QueueType::kQuorum), (amqp::Table{{"x-queue-type", "quorum"}}));
}

// Looking for a queue with a long name may cost the connection (F75).
TEST_F(ParkedQueueTest, IsDeclaredAtOnceIfItWasMissing) {
  int looks = 0;
  int declares = 0;
  broker_.on_declare = [&](const QueueDeclaration& queue) -> absl::Status {
    if (queue.passive) {
      ++looks;
      return absl::NotFoundError("no queue");
    }
    return ++declares == 1 ? absl::UnavailableError("lost") : absl::OkStatus();
  };
  ParkedQueue parked_queue(broker_, time_, "orders.parked", QueueType::kClassic);
  std::vector<absl::StatusCode> answers;
  for (int i = 0; i < 2; ++i) {
    parked_queue.Ensure([&](const absl::Status& status) { answers.push_back(status.code()); });
    time_.RunReady();
  }
  EXPECT_THAT(answers, ElementsAre(absl::StatusCode::kUnavailable, absl::StatusCode::kOk));
  EXPECT_EQ(looks, 1);
}

TEST_F(ParkedQueueTest, SuggestsHowToRaiseAQueueLimit) {
  broker_.on_declare = [](const QueueDeclaration& queue) {
    return queue.passive ? absl::NotFoundError("no queue")
                         : absl::ResourceExhaustedError("queue limit in vhost '/' (1) is reached");
  };
  const absl::Status answer = Ensured();
  EXPECT_TRUE(absl::IsFailedPrecondition(answer));
  EXPECT_THAT(std::string(answer.message()), ::testing::HasSubstr("set_vhost_limits"));
}

TEST_F(ParkedQueueTest, NamesTheMissingPermission) {
  for (const bool may_look : {true, false}) {
    broker_.on_declare = [may_look](const QueueDeclaration& queue) {
      return queue.passive && may_look ? absl::NotFoundError("no queue")
                                       : absl::PermissionDeniedError("403");
    };
    const absl::Status answer = Ensured();
    EXPECT_TRUE(absl::IsPermissionDenied(answer));
    EXPECT_THAT(std::string(answer.message()),
                ::testing::HasSubstr(may_look ? "'configure'" : "'read'"));
  }
}

TEST_F(ParkedQueueTest, LeavesAnExistingQueueUnchanged) {
  ParkedQueue parked_queue(broker_, time_, "orders.parked", QueueType::kQuorum);
  int answers = 0;
  parked_queue.Ensure([&](const absl::Status&) { ++answers; });
  parked_queue.Ensure([&](const absl::Status&) { ++answers; });
  time_.RunReady();
  EXPECT_EQ(answers, 2);
  ASSERT_EQ(broker_.declares.size(), 2U);
  EXPECT_TRUE(broker_.declares[0].queue.passive);
  // The queue fits, so it is not checked again.
  parked_queue.Ensure([&](const absl::Status&) { ++answers; });
  time_.RunReady();
  EXPECT_EQ(answers, 3);
  EXPECT_EQ(broker_.declares.size(), 3U);
  EXPECT_TRUE(broker_.declares[2].queue.passive);
}

TEST_F(ParkedQueueTest, RefusesAQueueThatIsExclusive) {
  broker_.on_declare = [](const QueueDeclaration&) { return absl::AbortedError("405"); };
  ParkedQueue parked_queue(broker_, time_, "orders.parked", QueueType::kClassic);
  absl::Status answer;
  parked_queue.Ensure([&](const absl::Status& status) { answer = status; });
  time_.RunReady();
  EXPECT_TRUE(absl::IsFailedPrecondition(answer)) << answer;
}

// A quorum queue may be empty after a crash right after its declare (F27 in doc/rabbitmq_facts.md).
TEST_F(ParkedQueueTest, IsSafeTwoSecondsAfterAQuorumQueueWasFound) {
  ParkedQueue parked_queue(broker_, time_, "orders.parked", QueueType::kQuorum);
  parked_queue.Ensure([](const absl::Status&) {});
  time_.RunReady();
  EXPECT_EQ(parked_queue.safe_from(), time_.SinceBoot() + absl::Seconds(2));
}

TEST_F(ParkedQueueTest, DeclaresNothingIfDeclaringIsOff) {
  broker_.on_declare = [](const QueueDeclaration&) { return absl::NotFoundError("no queue"); };
  ParkedQueue parked_queue(broker_, time_, "orders.parked", std::nullopt);
  absl::Status answer;
  parked_queue.Ensure([&](const absl::Status& status) { answer = status; });
  time_.RunReady();
  EXPECT_TRUE(absl::IsNotFound(answer));
  EXPECT_THAT(std::string(answer.message()), ::testing::HasSubstr("'orders.parked'"));
  EXPECT_EQ(broker_.declares.size(), 1U);
}

TEST(WhyUnfitToPark, NamesTheFirstReason) {
  EXPECT_EQ(WhyUnfitToPark({}), "");
  EXPECT_EQ(WhyUnfitToPark({.is_durable = false, .is_auto_delete = true}),
            "is not durable: a restart deletes it");
  EXPECT_EQ(WhyUnfitToPark({.is_exclusive = true}), "is exclusive to another connection");
}

}  // namespace retryq::parked_queue_test
