#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "retryq/client.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_time.h"
#include "support/scripted_broker.h"

// Work queues that a client declares, in simulated time and on a broker that the test plays.

namespace retryq {
namespace declare_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ScriptedBroker;
using ::testing::SizeIs;

class DeclareTest : public ::testing::Test {
 protected:
  void Declare(WorkQueue work_queue, const DeclareOptions& options = {}) {
    client_->Declare(std::move(work_queue), options,
                     [this](absl::Status status) { answers_.push_back(std::move(status)); });
    time_.RunReady();
  }

  // The one answer.
  absl::Status Answer() {
    EXPECT_THAT(answers_, SizeIs(1));
    return answers_.empty() ? absl::UnknownError("no answer") : answers_.front();
  }
  std::string Message() { return std::string(Answer().message()); }

  // How all declares of queues that are not passive are answered.
  void Refuse(absl::Status with) {
    broker_.on_declare = [with = std::move(with)](const QueueDeclaration& queue) {
      return queue.passive ? absl::NotFoundError("no queue") : with;
    };
  }

  testing::SimulatedTime time_;
  testing::SeededRandom random_;
  ScriptedBroker broker_{time_};
  absl::Status fatal_;
  std::optional<Client> client_{std::in_place, testing::EnvironmentOf(time_, random_), broker_,
                                ClientOptions(),
                                [this](absl::Status status) { fatal_ = std::move(status); }};
  std::vector<absl::Status> answers_;
};

TEST_F(DeclareTest, DeclaresADurableQueueOfTheTypeWithItsArguments) {
  broker_.Ready();
  Declare({.name = "orders",
           .type = QueueType::kQuorum,
           .arguments = {{"x-max-length", std::int64_t{5}}}});
  EXPECT_EQ(Answer(), absl::OkStatus());
  ASSERT_THAT(broker_.declares, SizeIs(1));
  const QueueDeclaration& queue = broker_.declares[0].queue;
  EXPECT_EQ(queue.name, "orders");
  EXPECT_TRUE(queue.durable);
  EXPECT_FALSE(queue.passive);
  EXPECT_EQ(queue.arguments,
            (amqp::Table{{"x-max-length", std::int64_t{5}}, {"x-queue-type", "quorum"}}));
  EXPECT_FALSE(broker_.declares[0].exchange.has_value());
}

TEST_F(DeclareTest, DeclaresEachExchangeAndBindsItByItsKey) {
  broker_.Ready();
  Declare({.name = "orders",
           .bindings = {{.exchange = "shop", .routing_key = "order.#"},
                        {.exchange = "all", .exchange_type = "fanout"}}});
  EXPECT_EQ(Answer(), absl::OkStatus());
  ASSERT_THAT(broker_.declares, SizeIs(2));
  EXPECT_EQ(broker_.declares[0].exchange->name, "shop");
  EXPECT_EQ(broker_.declares[0].exchange->type, "topic");
  EXPECT_TRUE(broker_.declares[0].exchange->durable);
  EXPECT_EQ(broker_.declares[0].binding_key, "order.#");
  EXPECT_EQ(broker_.declares[1].exchange->name, "all");
  EXPECT_EQ(broker_.declares[1].exchange->type, "fanout");
  EXPECT_EQ(broker_.declares[1].binding_key, "");
}

TEST_F(DeclareTest, LeavesAQueueThatIsThereAsItIs) {
  broker_.Ready();
  Declare({.name = "orders", .bindings = {{.exchange = "shop"}}}, {.only_if_missing = true});
  EXPECT_EQ(Answer(), absl::OkStatus());
  ASSERT_THAT(broker_.declares, SizeIs(1));
  EXPECT_TRUE(broker_.declares[0].queue.passive);
}

TEST_F(DeclareTest, DeclaresAQueueThatIsMissing) {
  broker_.Ready();
  Refuse(absl::OkStatus());
  Declare({.name = "orders"}, {.only_if_missing = true});
  EXPECT_EQ(Answer(), absl::OkStatus());
  ASSERT_THAT(broker_.declares, SizeIs(2));
  EXPECT_FALSE(broker_.declares[1].queue.passive);
}

TEST_F(DeclareTest, NamesTheDifferenceAndTheRemedy) {
  broker_.Ready();
  Refuse(absl::FailedPreconditionError(
      "declaring queue 'orders': PRECONDITION_FAILED - inequivalent arg 'x-queue-type' for queue "
      "'orders' in vhost '/': received 'quorum' but current is 'classic'"));
  Declare({.name = "orders", .type = QueueType::kQuorum});
  EXPECT_EQ(Answer().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Message(),
            "queue 'orders' exists with other arguments: x-queue-type is 'classic', and 'quorum' "
            "was asked for; remedy: declare it with its present arguments, or delete it and "
            "declare it again once it "
            "is empty");
}

TEST_F(DeclareTest, NamesADifferentNumberAndAnAbsentOne) {
  broker_.Ready();
  Refuse(absl::FailedPreconditionError(
      "inequivalent arg 'x-max-length' for queue 'orders' in vhost '/': received none but current "
      "is the value '5' of type 'signedint'"));
  Declare({.name = "orders"});
  EXPECT_THAT(Message(), HasSubstr("x-max-length is '5', and none was asked for"));
}

TEST_F(DeclareTest, NamesTheExchangeThatHasAnotherType) {
  broker_.Ready();
  Refuse(absl::FailedPreconditionError(
      "declaring exchange 'shop': PRECONDITION_FAILED - inequivalent arg 'type' for exchange "
      "'shop' in vhost '/': received 'topic' but current is 'direct'"));
  Declare({.name = "orders", .bindings = {{.exchange = "shop"}}});
  EXPECT_THAT(Message(),
              AllOf(HasSubstr("exchange 'shop' exists with other arguments: type is 'direct', and "
                              "'topic' was asked for"),
                    HasSubstr("remedy")));
}

TEST_F(DeclareTest, AnArgumentThatTheBrokerDoesNotTakeIsInvalid) {
  broker_.Ready();
  Refuse(absl::FailedPreconditionError("invalid arg 'x-max-length' for queue 'orders'"));
  Declare({.name = "orders"});
  EXPECT_TRUE(absl::IsInvalidArgument(Answer())) << Answer();
  EXPECT_THAT(Message(), AllOf(HasSubstr("x-max-length"), HasSubstr("remedy")));
}

TEST_F(DeclareTest, NamesTheRightsThatAreMissing) {
  broker_.Ready();
  Refuse(absl::PermissionDeniedError("access to queue 'orders' refused"));
  Declare({.name = "orders"});
  EXPECT_TRUE(absl::IsPermissionDenied(Answer())) << Answer();
  EXPECT_THAT(Message(), HasSubstr("remedy: grant the user 'configure' on the queue "
                                   "(rabbitmqctl set_permissions)"));
}

// (46)
TEST_F(DeclareTest, TriesA404OfTwoWhoDeclareAtOnceAgain) {
  broker_.Ready();
  int refusals = 2;
  broker_.on_declare = [&refusals](const QueueDeclaration&) {
    return refusals-- > 0 ? absl::NotFoundError("no queue") : absl::OkStatus();
  };
  Declare({.name = "orders"});
  EXPECT_EQ(Answer(), absl::OkStatus());
  EXPECT_THAT(broker_.declares, SizeIs(3));
}

TEST_F(DeclareTest, A404ThatStaysIsAnError) {
  broker_.Ready();
  Refuse(absl::NotFoundError("no queue"));
  Declare({.name = "orders"});
  EXPECT_TRUE(absl::IsNotFound(Answer())) << Answer();
  EXPECT_THAT(broker_.declares, SizeIs(3));
}

TEST_F(DeclareTest, WaitsForTheConnection) {
  Declare({.name = "orders"});
  time_.Advance(absl::Seconds(20));
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_THAT(broker_.declares, IsEmpty());
  broker_.Ready();
  time_.RunReady();
  EXPECT_EQ(Answer(), absl::OkStatus());
}

TEST_F(DeclareTest, GivesUpAtTheDeadlineAndNamesTheProblem) {
  Declare({.name = "orders"}, {.deadline = absl::Seconds(5)});
  broker_.Lose(absl::UnavailableError("Connection refused"));
  time_.Advance(absl::Seconds(4));
  EXPECT_THAT(answers_, IsEmpty());
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(absl::IsUnavailable(Answer())) << Answer();
  EXPECT_THAT(Message(), AllOf(HasSubstr("orders"), HasSubstr("Connection refused")));
}

TEST_F(DeclareTest, AWrongPasswordIsAnAnswer) {
  Declare({.name = "orders"});
  broker_.Lose(absl::UnauthenticatedError("wrong password"));
  EXPECT_TRUE(absl::IsUnauthenticated(Answer())) << Answer();
}

TEST_F(DeclareTest, DeclaresAgainWhereTheConnectionWasLost) {
  broker_.Ready();
  int losses = 2;
  broker_.on_declare = [&losses](const QueueDeclaration&) {
    return losses-- > 0 ? absl::UnavailableError("lost") : absl::OkStatus();
  };
  Declare({.name = "orders"});
  time_.Advance(absl::Seconds(10));
  EXPECT_EQ(Answer(), absl::OkStatus());
}

TEST_F(DeclareTest, DoesNotCloseTheConnectionForEver) {
  broker_.Ready();
  Refuse(absl::UnavailableError("closed the connection: 541 INTERNAL_ERROR"));
  Declare({.name = "orders"});
  time_.Advance(absl::Seconds(10));
  EXPECT_TRUE(absl::IsUnavailable(Answer())) << Answer();
  EXPECT_THAT(Message(), HasSubstr("541 INTERNAL_ERROR"));
  EXPECT_THAT(broker_.declares, SizeIs(3));
}

TEST_F(DeclareTest, AnUnknownExchangeTypeIsInvalidThoughTheBrokerClosesTheConnection) {
  broker_.Ready();
  Refuse(absl::UnavailableError("503 COMMAND_INVALID - unknown exchange type 'x-none'"));
  Declare({.name = "orders", .bindings = {{.exchange = "shop", .exchange_type = "x-none"}}});
  EXPECT_TRUE(absl::IsInvalidArgument(Answer())) << Answer();
  EXPECT_THAT(Message(), AllOf(HasSubstr("'x-none'"), HasSubstr("remedy: ")));
  EXPECT_THAT(broker_.declares, SizeIs(1));
}

TEST_F(DeclareTest, NamesAllWrongFieldsAtOnce) {
  Declare({.name = "amq.orders",
           .arguments = {{"x-queue-type", "stream"}},
           .bindings = {{.exchange = "", .exchange_type = "topics"},
                        {.exchange = "a", .routing_key = std::string(256, 'k')}}});
  EXPECT_TRUE(absl::IsInvalidArgument(Answer())) << Answer();
  for (const char* part :
       {"queue must not begin with amq.", "x-queue-type: set type", "exchange must not be empty",
        "exchange_type must be", "routing_key must be at most"}) {
    EXPECT_THAT(Message(), HasSubstr(part));
  }
  EXPECT_THAT(broker_.declares, IsEmpty());
}

TEST_F(DeclareTest, MayDestroyTheClientInItsAnswer) {
  broker_.Ready();
  client_->Declare({.name = "orders"}, {}, [this](absl::Status status) {
    answers_.push_back(std::move(status));
    client_.reset();
  });
  time_.Advance(absl::Minutes(2));
  EXPECT_EQ(Answer(), absl::OkStatus());
}

TEST_F(DeclareTest, IsNotAnsweredOnceTheClientIsGone) {
  broker_.Ready();
  client_->Declare({.name = "orders"}, {},
                   [this](absl::Status status) { answers_.push_back(std::move(status)); });
  client_.reset();
  time_.Advance(absl::Minutes(2));
  EXPECT_THAT(answers_, IsEmpty());
}

// ---- consumers

class DeclaringConsumer : public DeclareTest {
 protected:
  void Consume(ConsumerOptions options) {
    auto consumer = client_->Consume(
        std::move(options), Handler([](const Delivery&) -> Outcome { return Outcome::Ok(); }));
    ASSERT_TRUE(consumer.ok()) << consumer.status();
    consumer_.emplace(*std::move(consumer));
    broker_.Ready();
    time_.RunReady();
  }

  // The names of queues that were declared, and not only looked for.
  std::vector<std::string> Declared() const {
    std::vector<std::string> names;
    for (const DeclareParams& params : broker_.declares) {
      // One of no type that there is only asks for the type.
      const amqp::Value* const type = params.queue.arguments.Find("x-queue-type");
      const bool is_question = type != nullptr && *type == amqp::Value("retryq");
      if (!params.queue.passive && !is_question) names.push_back(params.queue.name);
    }
    return names;
  }

  // A broker that has what was declared.
  void KeepQueues() {
    broker_.on_declare = [this](const QueueDeclaration& queue) {
      if (!queue.passive) queues_.insert(queue.name);
      return queues_.contains(queue.name) ? absl::OkStatus() : absl::NotFoundError("no queue");
    };
  }

  std::set<std::string> queues_;
  std::optional<Consumer> consumer_;
};

TEST_F(DeclaringConsumer, DeclaresTheQueueThatIsMissing) {
  KeepQueues();
  Consume({.queue = "orders", .declare = WorkQueue{.type = QueueType::kQuorum}});
  EXPECT_EQ(fatal_, absl::OkStatus());
  EXPECT_THAT(Declared(), ElementsAre("orders", "orders.parked"));
  EXPECT_THAT(broker_.consumes, SizeIs(1));
}

TEST_F(DeclaringConsumer, TakesAQueueThatIsThereAsItIs) {
  KeepQueues();
  queues_ = {"orders", "orders.parked"};
  Consume({.queue = "orders", .declare = WorkQueue{}});
  EXPECT_THAT(Declared(), ::testing::Not(::testing::Contains("orders")));
  EXPECT_THAT(broker_.consumes, SizeIs(1));
}

TEST_F(DeclaringConsumer, WithoutItAMissingQueueIsFatal) {
  KeepQueues();
  Consume({.queue = "orders"});
  EXPECT_TRUE(absl::IsNotFound(fatal_)) << fatal_;
  EXPECT_THAT(Declared(), IsEmpty());
}

TEST_F(DeclaringConsumer, ARefusalIsFatal) {
  Refuse(absl::PermissionDeniedError("access to queue 'orders' refused"));
  Consume({.queue = "orders", .declare = WorkQueue{}});
  EXPECT_TRUE(absl::IsPermissionDenied(fatal_)) << fatal_;
}

TEST_F(DeclaringConsumer, DeclaresAgainWhatSomebodyHasDeleted) {
  KeepQueues();
  Consume({.queue = "orders", .declare = WorkQueue{}});
  broker_.subscriber->OnSubscribed();
  queues_.clear();
  broker_.declares.clear();
  for (int i = 0; i < 3; ++i) broker_.subscriber->OnInterrupted(absl::NotFoundError("no queue"));
  time_.RunReady();
  EXPECT_THAT(Declared(), ElementsAre("orders"));
}

TEST_F(DeclaringConsumer, RefusesAnotherQueueThanItsOwn) {
  const auto consumer =
      client_->Consume({.queue = "orders", .declare = WorkQueue{.name = "others"}},
                       Handler([](const Delivery&) -> Outcome { return Outcome::Ok(); }));
  EXPECT_TRUE(absl::IsInvalidArgument(consumer.status())) << consumer.status();
  EXPECT_THAT(std::string(consumer.status().message()), HasSubstr("declare.name"));
}

}  // namespace declare_test
}  // namespace retryq
