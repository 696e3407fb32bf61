#include "retry/delay_queues/delay_queues.h"

#include "support/test.h"
#include "unit/retry/delay_queues/delay_queues_fixture.h"

namespace retryq::delay_queues_test {

TEST_F(DelayQueuesTest, DeclareTwiceInSequenceForAFirstLease) {
  queues_->Acquire(kWorkRoute, Keep());
  ASSERT_EQ(declares_.size(), 1U);
  EXPECT_EQ(declares_.front().params.queue.name, "retry.1000");
  EXPECT_EQ(*declares_.front().params.queue.arguments.Find("x-dead-letter-exchange"),
            amqp::Value("work"));
  AnswerOk();
  EXPECT_THAT(acquired_, IsEmpty());
  EXPECT_FALSE(Holds(kWorkRoute));
  ASSERT_EQ(declares_.size(), 1U);
  EXPECT_EQ(NameOfLastDeclare(), "retry.1000");
  AnswerOk();
  ASSERT_EQ(acquired_.size(), 1U);
  ASSERT_TRUE(acquired_[0].ok());
  EXPECT_EQ(*acquired_[0]->name, "retry.1000");
  EXPECT_TRUE(Holds(kWorkRoute));
  EXPECT_THAT(declares_, IsEmpty());
  EXPECT_THAT(events_, ElementsAre("declared retry.1000"));
}

TEST_F(DelayQueuesTest, ShareOneDeclareAmongAllWaitingCallers) {
  for (int i = 0; i < 3; ++i) queues_->Acquire(kRoute, Keep());
  EXPECT_EQ(declares_.size(), 1U);
  AnswerOk();
  queues_->Acquire(kRoute, Keep());
  EXPECT_EQ(declares_.size(), 1U);
  AnswerOk();
  EXPECT_EQ(acquired_.size(), 4U);
}

TEST_F(DelayQueuesTest, DistinguishRoutes) {
  Grant();
  EXPECT_FALSE(Holds({.ttl = absl::Seconds(2)}));
  EXPECT_FALSE(Holds(kWorkRoute));
  EXPECT_FALSE(Holds({.ttl = absl::Seconds(1), .direct = true}));
  EXPECT_TRUE(Holds(kRoute));
}

TEST_F(DelayQueuesTest, RenewByOneDeclareWhileTheLeaseStillCovers) {
  const Lease lease = Grant();
  // No message waits and none is published: the renewal at half the window is the last one.
  time_.Advance(kWindow / 2);
  AnswerOk();
  time_.Advance(kCoverage - absl::Milliseconds(1));
  queues_->Acquire(kRoute, Keep());
  AnswerOk();
  ASSERT_EQ(acquired_.size(), 1U);
  EXPECT_EQ(acquired_[0]->generation, lease.generation);
  EXPECT_TRUE(queues_->Covers(lease));
}

// The publish uses a separate channel, and may arrive after declares that were sent later.
TEST_F(DelayQueuesTest, RenewOnceMoreForAPublishThatTheDeclaresMayHaveOvertaken) {
  Grant();
  time_.Advance(kWindow / 2 - absl::Milliseconds(1));
  EXPECT_TRUE(Holds());
  time_.Advance(absl::Milliseconds(1));
  ASSERT_EQ(declares_.size(), 1U);
  AnswerOk(/*messages=*/0);
  time_.Advance(kWindow / 2);
  ASSERT_EQ(declares_.size(), 1U);
  AnswerOk(/*messages=*/0);
  time_.Advance(kWindow / 2);
  EXPECT_THAT(declares_, IsEmpty());
}

// By a policy with a shorter expiry, or by hand. The declare that follows would hide it.
TEST_F(DelayQueuesTest, ReportThatAQueueWasDeletedWithTheMessagesThatWaitInIt) {
  const Lease lease = Grant();
  time_.Advance(kWindow / 2);
  Answer(absl::NotFoundError("no queue"));
  AnswerOk();
  AnswerOk();
  EXPECT_THAT(events_,
              ElementsAre("declared retry.1000", "lease_broken retry.1000", "declared retry.1000"));
  EXPECT_FALSE(queues_->Covers(lease));
  EXPECT_THAT(declares_, IsEmpty());
}

TEST_F(DelayQueuesTest, DoNotReportAQueueAsDeletedWhoseNodeIsDown) {
  Grant();
  time_.Advance(kWindow / 2);
  for (int i = 0; i < 3; ++i) Answer(absl::NotFoundError("its node is down"));
  EXPECT_THAT(events_, Not(Contains(StartsWith("lease_broken"))));
}

TEST_F(DelayQueuesTest, ForgetAQueueWhenTheBrokerDeletesIt) {
  Grant();
  time_.Advance(kWindow / 2);
  AnswerOk();
  events_.clear();
  time_.Advance(kLifetime - absl::Milliseconds(1));
  EXPECT_EQ(queues_->size(), 1U);
  time_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(queues_->size(), 0U);
  EXPECT_THAT(events_, ElementsAre("lapsed retry.1000"));
  EXPECT_EQ(time_.pending_timers(), 0U);
}

TEST_F(DelayQueuesTest, KeepALeaseWhoseRenewalIsRefusedAndPauseBeforeTheNext) {
  const Lease lease = Grant();
  time_.Advance(kWindow / 2);
  Answer(absl::PermissionDeniedError("ACCESS_REFUSED"));
  EXPECT_TRUE(Holds());
  EXPECT_TRUE(Holds());
  EXPECT_THAT(declares_, IsEmpty());
  time_.Advance(absl::Seconds(1));
  ASSERT_EQ(declares_.size(), 1U);
  Answer(absl::PermissionDeniedError("ACCESS_REFUSED"));
  time_.Advance(absl::Seconds(2) - absl::Milliseconds(1));
  EXPECT_TRUE(Holds());
  EXPECT_THAT(declares_, IsEmpty());
  time_.Advance(absl::Milliseconds(1));
  AnswerOk();
  EXPECT_TRUE(queues_->Covers(lease));
  EXPECT_THAT(events_, ElementsAre("declared retry.1000", "declare_failed retry.1000",
                                   "declare_failed retry.1000", "renewed retry.1000"));
}

TEST_F(DelayQueuesTest, RedeclareAfterABrokenLease) {
  const Lease lease = Grant();
  queues_->Broken(lease, "NO_ROUTE");
  queues_->Broken(lease, "NO_ROUTE");
  EXPECT_FALSE(Holds());
  EXPECT_FALSE(queues_->Covers(lease));
  EXPECT_THAT(events_, ElementsAre("declared retry.1000", "lease_broken retry.1000"));
  EXPECT_THAT(errors_.back(), AllOf(HasSubstr("NO_ROUTE"), HasSubstr("remedy: ")));
  const Lease again = Grant();
  EXPECT_FALSE(queues_->Covers(lease));
  queues_->Broken(lease, "NO_ROUTE");  // one published long ago
  EXPECT_TRUE(queues_->Covers(again));
}

TEST_F(DelayQueuesTest, DoNotReportAnEndedLeaseAsBroken) {
  const Lease lease = Grant();
  time_.Advance(kCoverage);
  queues_->Broken(lease, "NO_ROUTE");
  EXPECT_THAT(events_, ElementsAre("declared retry.1000"));
}

TEST_F(DelayQueuesTest, RedeclareForCallersThatWaitedWhenTheLeaseBroke) {
  const Lease lease = Grant();
  queues_->Acquire(kRoute, Keep());
  queues_->Broken(lease, "NO_ROUTE");
  time_.RunReady();
  EXPECT_THAT(acquired_, IsEmpty());
  AnswerOk();
  AnswerOk();
  EXPECT_EQ(acquired_.size(), 1U);
}

TEST_F(DelayQueuesTest, AnswerAllWaitingCallersWhenEverythingIsDropped) {
  const Lease lease = Grant({.ttl = absl::Seconds(1), .direct = true});
  queues_->Acquire(kRoute, Keep());
  queues_->Acquire(kWorkRoute, Keep());
  queues_->DropAll(absl::UnavailableError("connection lost"));
  ASSERT_EQ(acquired_.size(), 2U);
  for (const auto& answer : acquired_) {
    EXPECT_EQ(answer.status(), absl::UnavailableError("connection lost"));
  }
  EXPECT_FALSE(queues_->Covers(lease));
  EXPECT_EQ(queues_->size(), 0U);
  EXPECT_EQ(time_.pending_timers(), 0U);
}

TEST_F(DelayQueuesTest, IgnoreRepliesFromBeforeTheDrop) {
  queues_->Acquire(kRoute, Keep());
  queues_->DropAll(absl::UnavailableError("connection lost"));
  queues_->Acquire(kRoute, Keep());
  ASSERT_EQ(declares_.size(), 2U);
  AnswerOk();
  EXPECT_EQ(declares_.size(), 1U);
  AnswerOk();
  EXPECT_EQ(acquired_.size(), 1U);
  AnswerOk();
  EXPECT_EQ(acquired_.size(), 2U);
}

TEST_F(DelayQueuesTest, MayBeDroppedInACallback) {
  queues_->Acquire(kRoute, [this](const absl::StatusOr<Lease>& lease) {
    EXPECT_TRUE(lease.ok());
    queues_->DropAll(absl::AbortedError("dropped"));
    EXPECT_FALSE(queues_->Covers(*lease));
  });
  queues_->Acquire(kRoute, Keep());
  AnswerOk();
  AnswerOk();
  ASSERT_EQ(acquired_.size(), 1U);
  EXPECT_EQ(acquired_[0].status(), absl::AbortedError("dropped"));
}

TEST_F(DelayQueuesTest, MayBeDestroyedInAnyCallback) {
  const auto destroy = [this](const absl::StatusOr<Lease>&) { queues_.reset(); };
  const auto refill = [&] {
    Use({});
    declares_.clear();
    queues_->Acquire(kRoute, destroy);
    queues_->Acquire(kRoute, Keep());
  };
  refill();
  AnswerOk();
  AnswerOk();
  EXPECT_EQ(queues_, nullptr);
  refill();
  Answer(absl::PermissionDeniedError("ACCESS_REFUSED"));
  EXPECT_EQ(queues_, nullptr);
  refill();
  queues_->DropAll(absl::UnavailableError("lost"));
  EXPECT_EQ(queues_, nullptr);
  refill();
  AnswerOk();
  queues_.reset();
  AnswerOk();  // comes too late
  EXPECT_THAT(acquired_, IsEmpty());
  EXPECT_EQ(time_.pending_timers(), 0U);
}

}  // namespace retryq::delay_queues_test
