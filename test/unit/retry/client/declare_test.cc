#include "support/scripted_test.h"
#include "support/test.h"

// Work queues that a client declares, in simulated time and on a broker that the test controls.

namespace retryq::declare_test {

class DeclareTest : public testing::ScriptedTest {
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

  // The reply to all declares of queues that are not passive.
  void Refuse(absl::Status with) {
    broker_.on_declare = [with = std::move(with)](const QueueDeclaration& queue) {
      return queue.passive ? absl::NotFoundError("no queue") : with;
    };
  }

  std::vector<absl::Status> answers_;
};

TEST_F(DeclareTest, NamesTheMissingPermissions) {
  broker_.Ready();
  Refuse(absl::PermissionDeniedError("access to queue 'orders' refused"));
  Declare({.name = "orders"});
  EXPECT_TRUE(absl::IsPermissionDenied(Answer())) << Answer();
  EXPECT_THAT(Message(), HasSubstr("remedy: grant the user 'configure' on the queue "
                                   "(rabbitmqctl set_permissions)"));
}

// (46)
TEST_F(DeclareTest, RetriesA404OfConcurrentDeclares) {
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

TEST_F(DeclareTest, ReportsAWrongPassword) {
  Declare({.name = "orders"});
  broker_.Lose(absl::UnauthenticatedError("wrong password"));
  EXPECT_TRUE(absl::IsUnauthenticated(Answer())) << Answer();
}

TEST_F(DeclareTest, RedeclaresAfterALostConnection) {
  broker_.Ready();
  int losses = 2;
  broker_.on_declare = [&losses](const QueueDeclaration&) {
    return losses-- > 0 ? absl::UnavailableError("lost") : absl::OkStatus();
  };
  Declare({.name = "orders"});
  time_.Advance(absl::Seconds(10));
  EXPECT_EQ(Answer(), absl::OkStatus());
}

// Looking for a queue with a long name may cost the connection (F75).
TEST_F(DeclareTest, DoesNotLookAgainForAQueueThatWasMissing) {
  broker_.Ready();
  int looks = 0;
  int declares = 0;
  broker_.on_declare = [&](const QueueDeclaration& queue) -> absl::Status {
    if (queue.passive) return ++looks, absl::NotFoundError("no queue");
    return ++declares == 1 ? absl::UnavailableError("lost") : absl::OkStatus();
  };
  Declare({.name = "orders"}, {.only_if_missing = true});
  time_.Advance(absl::Seconds(10));
  EXPECT_EQ(Answer(), absl::OkStatus());
  EXPECT_EQ(looks, 1);
}

TEST_F(DeclareTest, GivesUpAfterThreeDeclaresThatCloseTheConnection) {
  const absl::Status lost = absl::UnavailableError("closed the connection: 541 INTERNAL_ERROR");
  broker_.on_declare = [this, lost](const QueueDeclaration&) {
    broker_.Lose(lost);
    return lost;
  };
  Declare({.name = "orders"});
  for (int connection = 0; connection < 4; ++connection) {
    broker_.Ready();
    time_.Advance(absl::Seconds(1));
  }
  EXPECT_TRUE(absl::IsUnavailable(Answer())) << Answer();
  EXPECT_THAT(Message(), HasSubstr("541 INTERNAL_ERROR"));
  EXPECT_THAT(broker_.declares, SizeIs(3));
}

TEST_F(DeclareTest, WaitsForAChannelUntilItsDeadline) {
  broker_.Ready();
  Refuse(absl::UnavailableError("no channel is left"));
  Declare({.name = "orders"}, {.deadline = absl::Seconds(20)});
  time_.Advance(absl::Seconds(19));
  EXPECT_THAT(answers_, IsEmpty());
  time_.Advance(absl::Seconds(2));
  EXPECT_THAT(Message(), HasSubstr("was not answered in time: no channel is left"));
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

TEST_F(DeclareTest, MayDestroyTheClientInItsCallback) {
  broker_.Ready();
  client_->Declare({.name = "orders"}, {}, [this](absl::Status status) {
    answers_.push_back(std::move(status));
    client_.reset();
  });
  time_.Advance(absl::Minutes(2));
  EXPECT_EQ(Answer(), absl::OkStatus());
}

TEST_F(DeclareTest, RefusesAnotherQueueThanItsOwn) {
  const auto consumer = client_->Consume(
      {.queue = "orders", .declare = WorkQueue{.name = "others"}}, Handler(Handles));
  EXPECT_TRUE(absl::IsInvalidArgument(consumer.status())) << consumer.status();
  EXPECT_THAT(std::string(consumer.status().message()), HasSubstr("declare.name"));
}

}  // namespace retryq::declare_test
