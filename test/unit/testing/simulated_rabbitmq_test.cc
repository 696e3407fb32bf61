// Checks that the simulated broker behaves like measured real ones; the numbers are those of
// doc/rabbitmq_facts.md.

#include "retryq/testing/simulated_rabbitmq.h"

#include "support/test.h"
#include "unit/testing/fixture.h"

namespace retryq::testing::simulated_rabbitmq_test {

using Cause = LetGo::Cause;

class SimulatedQueues : public SimulatedRabbitMqTest {
 protected:
  SimulatedQueues() {
    rabbit_.DeclareQueue("work");
    time_.Advance(absl::Seconds(10));
  }
};

TEST_F(SimulatedQueues, RouteAnExpiredMessageAsTheirArgumentsRequire) {
  rabbit_.DeclareQueue("retry.1000", DelayArguments(1000, 60'000));
  ASSERT_TRUE(rabbit_.Publish("", "retry.1000", {.message_id = "1"}, "one"));
  time_.Advance(absl::Milliseconds(999));
  EXPECT_EQ(rabbit_.Count("work"), 0U);
  time_.Advance(absl::Milliseconds(1));
  ASSERT_EQ(rabbit_.Count("work"), 1U);
  const amqp::MessagePtr message = rabbit_.Messages("work")[0];
  EXPECT_EQ(message->body, "one");
  EXPECT_EQ(message->routing_key, "work");
  const absl::StatusOr<amqp::Value> deaths = message->properties.headers->Find("x-death")->Decode();
  ASSERT_TRUE(deaths.ok());
  EXPECT_THAT(std::get<amqp::Array>(deaths->variant), SizeIs(1));
  EXPECT_EQ(message->properties.headers->Find("x-first-death-queue")->AsString(), "retry.1000");
}

TEST_F(SimulatedQueues, ExpireMessagesOnlyAtTheHead) {  // 10
  rabbit_.DeclareQueue("mixed", DelayArguments(600'000, 3'600'000));
  ASSERT_TRUE(rabbit_.Publish("", "mixed", {.message_id = "slow"}));
  ASSERT_TRUE(rabbit_.Publish("", "mixed", {.expiration = "1000", .message_id = "fast"}));
  time_.Advance(absl::Minutes(9));
  EXPECT_EQ(rabbit_.Count("work"), 0U);
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(rabbit_.Count("work"), 2U);
}

TEST_F(SimulatedQueues, AreDeletedWithTheirMessagesIfUnused) {  // 1, 2
  rabbit_.DeclareQueue("retry.60000", DelayArguments(60'000, 10'000));
  ASSERT_TRUE(rabbit_.Publish("", "retry.60000", {.message_id = "1"}));
  time_.Advance(absl::Milliseconds(10'050));
  EXPECT_FALSE(rabbit_.HasQueue("retry.60000"));
  EXPECT_THAT(Causes(), ElementsAre(Cause::kQueueExpired));
}

TEST_F(SimulatedQueues, StayIfTheyAreClassicAndRedeclared) {  // 3
  const DeclareParams params{
      .queue = {.name = "retry.60000", .arguments = DelayArguments(60'000, 10'000)}};
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(Declare(params).ok());
    time_.Advance(absl::Seconds(9));
  }
  EXPECT_TRUE(rabbit_.HasQueue("retry.60000"));
}

TEST_F(SimulatedQueues, AreDeletedDespiteADeclareIfTheyAreQuorum) {  // 4
  const DeclareParams params{
      .queue = {.name = "retry.60000.q0", .arguments = AtLeastOnce(60'000, 10'000)}};
  ASSERT_TRUE(Declare(params).ok());
  ASSERT_TRUE(rabbit_.Publish("", "retry.60000.q0", {.message_id = "1"}));
  time_.Advance(absl::Seconds(9));
  ASSERT_TRUE(Declare(params).ok());
  time_.Advance(absl::Milliseconds(1'050));
  EXPECT_THAT(Causes(), ElementsAre(Cause::kQueueExpired));
}

TEST_F(SimulatedQueues, MayBeDeletedDespiteADeclareAtTheirEnd) {  // 5, 6, 31
  const DeclareParams params{
      .queue = {.name = "retry.5000", .arguments = DelayArguments(5'000, 10'000)},
      .exchange = ExchangeDeclaration{.name = "retry.5000", .auto_delete = true}};
  int lost = 0;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(Declare(params).ok());
    time_.Advance(absl::Milliseconds(9'988));
    ASSERT_TRUE(Declare(params).ok());
    if (Publish("retry.5000", "work").outcome == PublishOutcome::kConfirmed) {
      time_.Advance(absl::Seconds(6));
      if (rabbit_.Count("work") == 0) ++lost;
    }
    rabbit_.Purge("work");
    time_.Advance(absl::Seconds(20));
  }
  EXPECT_GT(lost, 0);
  EXPECT_LT(lost, 50);
}

TEST_F(SimulatedQueues, DeleteTheirExchangeWithThem) {  // 21
  const DeclareParams params{
      .queue = {.name = "retry.1000", .arguments = DelayArguments(1000, 10'000)},
      .exchange = ExchangeDeclaration{.name = "retry.1000", .auto_delete = true}};
  ASSERT_TRUE(Declare(params).ok());
  EXPECT_EQ(Publish("retry.1000", "work").outcome, PublishOutcome::kConfirmed);
  time_.Advance(absl::Seconds(11));
  EXPECT_FALSE(rabbit_.HasExchange("retry.1000"));
  const PublishResult gone = Publish("retry.1000", "work");
  EXPECT_EQ(gone.outcome, PublishOutcome::kUnknown);
  EXPECT_EQ(gone.code, 404);
}

TEST_F(SimulatedQueues, RefuseOtherArguments) {
  ASSERT_TRUE(Declare({.queue = {.name = "q", .arguments = DelayArguments(1, 1000)}}).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(
      Declare({.queue = {.name = "q", .arguments = DelayArguments(2, 1000)}}).status()));
  EXPECT_TRUE(absl::IsNotFound(Declare({.queue = {.name = "nobody", .passive = true}}).status()));
}

TEST_F(SimulatedQueues, LoseUnroutableMessagesIfTheyAreClassic) {  // 11, 23
  rabbit_.DeclareQueue("retry.1000", DelayArguments(1000, 60'000));
  ASSERT_TRUE(rabbit_.Publish("", "retry.1000", {.message_id = "1"}));
  rabbit_.DeleteQueue("work");
  time_.Advance(absl::Seconds(2));
  EXPECT_THAT(Causes(), ElementsAre(Cause::kNoRoute));
}

TEST_F(SimulatedQueues, KeepUnroutableMessagesIfTheyAreQuorum) {  // 11
  rabbit_.DeclareQueue("retry.1000.q0", AtLeastOnce(1000, 3'600'000));
  ASSERT_TRUE(rabbit_.Publish("", "retry.1000.q0", {.message_id = "1"}));
  rabbit_.DeleteQueue("work");
  time_.Advance(absl::Seconds(2));
  rabbit_.DeclareQueue("work");
  time_.Advance(absl::Minutes(2));
  EXPECT_EQ(rabbit_.Count("work"), 0U);
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(rabbit_.Count("work"), 1U);
  EXPECT_THAT(Causes(), IsEmpty());
}

TEST_F(SimulatedQueues, BlockAllMessagesBehind32UnroutableOnes) {  // 37
  for (const int undeliverable : {31, 32}) {
    const std::string name = "retry." + std::to_string(undeliverable);
    rabbit_.DeclareExchange(name, "fanout");
    rabbit_.DeclareQueue(name, {{"x-queue-type", "quorum"},
                                {"x-message-ttl", std::int64_t{1000}},
                                {"x-expires", std::int64_t{3'600'000}},
                                {"x-dead-letter-exchange", ""},
                                {"x-dead-letter-strategy", "at-least-once"},
                                {"x-overflow", "reject-publish"}});
    rabbit_.Bind(name, name);
    for (int i = 0; i < undeliverable; ++i) ASSERT_TRUE(rabbit_.Publish(name, "nobody"));
    ASSERT_TRUE(rabbit_.Publish(name, "work", {.message_id = "unaffected"}));
    time_.Advance(absl::Seconds(5));
    EXPECT_EQ(rabbit_.Count("work"), undeliverable < 32 ? 1U : 0U);
    rabbit_.Purge("work");
  }
  rabbit_.DeclareQueue("nobody");
  time_.Advance(absl::Minutes(3));
  EXPECT_EQ(rabbit_.Count("nobody"), 31U + 32U);
  EXPECT_EQ(rabbit_.Count("work"), 1U);
}

TEST_F(SimulatedQueues, DropMessagesThatClaimToHaveExpiredInTheirOwnQueueUpTo3) {  // 14
  rabbit_.DeclareQueue("retry.1000", DelayArguments(1000, 60'000));
  const amqp::Table death{{"queue", "work"}, {"reason", "expired"}};
  const std::string headers =
      amqp::Table{{"x-death", amqp::Array{amqp::Value(death)}}}.Encode().value();
  ASSERT_TRUE(
      rabbit_.Publish("", "retry.1000", {.headers = amqp::TableView(headers), .message_id = "1"}));
  time_.Advance(absl::Seconds(2));
  EXPECT_THAT(Causes(), ElementsAre(Cause::kCycle));
}

TEST_F(SimulatedQueues, LoseInACrashMessagesJustReturnedByAClassicQueue) {  // 25
  rabbit_.DeclareQueue("retry.1000", DelayArguments(1000, 60'000));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(rabbit_.Publish("", "retry.1000", {.message_id = "1"}));
  time_.Advance(absl::Milliseconds(1'001));
  rabbit_.Crash();
  rabbit_.Start();
  time_.Advance(absl::Minutes(1));
  EXPECT_THAT(Causes(), ::testing::Not(IsEmpty()));
  EXPECT_THAT(Causes(), Each(Cause::kCrash));
  EXPECT_THAT(rabbit_.brought_back(), ::testing::Not(IsEmpty()));  // 22
}

TEST_F(SimulatedQueues, LoseInACrashNoMessagesReturnedByAQuorumQueue) {  // 25
  rabbit_.DeclareQueue("retry.1000.q0", AtLeastOnce(1000, 3'600'000));
  time_.Advance(absl::Seconds(2));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(rabbit_.Publish("", "retry.1000.q0", {.message_id = std::to_string(i)}));
  }
  time_.Advance(absl::Milliseconds(1'001));
  rabbit_.Crash();
  rabbit_.Start();
  time_.Advance(absl::Minutes(1));
  EXPECT_THAT(Causes(), IsEmpty());
  EXPECT_GE(rabbit_.Count("work"), 100U);
}

TEST_F(SimulatedQueues, LoseAtARestartMessagesThatComeDueWhileAQuorumQueueHasNoLeader) {  // 26
  rabbit_.DeclareQueue("quorum", {{"x-queue-type", "quorum"}});
  amqp::Table arguments = DelayArguments(5'000, 3'600'000);
  arguments.Set("x-dead-letter-routing-key", "quorum");
  rabbit_.DeclareQueue("retry.5000", arguments);
  ASSERT_TRUE(rabbit_.Publish("", "retry.5000", {.message_id = "1"}));
  rabbit_.ShutDown();
  time_.Advance(absl::Seconds(10));
  rabbit_.Start();
  time_.Advance(absl::Seconds(10));
  EXPECT_THAT(Causes(), ElementsAre(Cause::kNoLeader));
}

TEST_F(SimulatedQueues, AreEmptyAfterACrashIfTheyAreQuorumAndNew) {  // 27
  rabbit_.DeclareQueue("new", {{"x-queue-type", "quorum"}});
  ASSERT_TRUE(rabbit_.Publish("", "new", {.message_id = "1"}));
  time_.Advance(absl::Milliseconds(400));
  rabbit_.Crash();
  rabbit_.Start();
  EXPECT_EQ(rabbit_.Count("new"), 0U);
  EXPECT_THAT(Causes(), ElementsAre(Cause::kNewQueueCrashed));
}

TEST_F(SimulatedQueues, AreDeletedAtAStartIfTheirLeaseEndedDuringTheDowntime) {  // 28
  rabbit_.DeclareQueue("retry.1000.q0", AtLeastOnce(1000, 10'000));
  time_.Advance(absl::Seconds(5));
  ASSERT_TRUE(rabbit_.Publish("", "retry.1000.q0", {.message_id = "1"}));
  rabbit_.ShutDown();
  time_.Advance(absl::Minutes(1));
  rabbit_.Start();
  time_.Advance(absl::Seconds(10));
  EXPECT_THAT(Causes(), ElementsAre(Cause::kQueueExpired));
}

TEST_F(SimulatedQueues, HoldMessagesLongerWhenTheClockIsSetBack) {  // 30
  rabbit_.DeclareQueue("retry.1000", DelayArguments(1000, 60'000));
  ASSERT_TRUE(rabbit_.Publish("", "retry.1000", {.message_id = "1"}));
  rabbit_.StepClock(-absl::Seconds(20));
  time_.Advance(absl::Seconds(20));
  EXPECT_EQ(rabbit_.Count("work"), 0U);
  time_.Advance(absl::Seconds(2));
  EXPECT_EQ(rabbit_.Count("work"), 1U);
}

TEST_F(SimulatedQueues, CountDeletedAndPurgedMessages) {
  rabbit_.DeclareQueue("a");
  rabbit_.DeclareQueue("b");
  for (const char* queue : {"a", "a", "b"}) ASSERT_TRUE(rabbit_.Publish("", queue));
  EXPECT_EQ(rabbit_.DeleteQueue("a"), 2U);
  EXPECT_EQ(rabbit_.Purge("b"), 1U);
  EXPECT_THAT(Causes(), ElementsAre(Cause::kQueueDeleted, Cause::kQueueDeleted, Cause::kPurged));
}

TEST_F(SimulatedQueues, AreReachedThroughExchangesOfEachType) {
  rabbit_.DeclareExchange("direct", "direct");
  rabbit_.DeclareExchange("topic", "topic");
  rabbit_.DeclareExchange("fanout", "fanout");
  rabbit_.Bind("direct", "work", "key");
  rabbit_.Bind("topic", "work", "order.*.#");
  rabbit_.Bind("fanout", "work");
  EXPECT_TRUE(rabbit_.Publish("direct", "key"));
  EXPECT_FALSE(rabbit_.Publish("direct", "other"));
  EXPECT_TRUE(rabbit_.Publish("topic", "order.placed"));
  EXPECT_TRUE(rabbit_.Publish("topic", "order.placed.by.post"));
  EXPECT_FALSE(rabbit_.Publish("topic", "order"));
  EXPECT_TRUE(rabbit_.Publish("fanout", "anything"));
  EXPECT_FALSE(rabbit_.Publish("nowhere", "anything"));
}

}  // namespace retryq::testing::simulated_rabbitmq_test
