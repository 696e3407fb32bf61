#include "retry/delay_queues/lease_clock.h"
#include "support/test.h"
#include "unit/retry/delay_queues/delay_queues_fixture.h"

namespace retryq::delay_queues_quorum_test {

const DelayQueueOptions kQuorum{.queue_type = QueueType::kQuorum, .outage = absl::Minutes(10)};
constexpr absl::Duration kEpoch = absl::Seconds(601);  // TTL 1 s

TEST(EpochTest, CountsFromTheUnixEpochForAllWorkers) {
  constexpr absl::Duration kFifteen = absl::Minutes(15);  // TTL 5 min
  const absl::Time start = absl::UnixEpoch() + 100 * kFifteen;
  for (const absl::Duration boot : {absl::Seconds(7), absl::Hours(1000)}) {
    const Epoch first = Epoch::At(start, boot, absl::Minutes(5), kQuorum);
    EXPECT_EQ(first.number, 100);
    EXPECT_EQ(first.ends, boot + kFifteen);
    const Epoch last =
        Epoch::At(start + kFifteen - absl::Milliseconds(1), boot, absl::Minutes(5), kQuorum);
    EXPECT_EQ(last.number, 100);
    EXPECT_EQ(last.ends, boot + absl::Milliseconds(1));
    EXPECT_EQ(Epoch::At(start + kFifteen, boot, absl::Minutes(5), kQuorum).number, 101);
  }
}

class DelayQueuesQuorumTest : public DelayQueuesTest {
 protected:
  DelayQueuesQuorumTest() {
    // To the start of an epoch whose number is a multiple of four.
    absl::Duration into;
    absl::IDivDuration(time_.Now() - absl::UnixEpoch(), 4 * kEpoch, &into);
    time_.Advance(4 * kEpoch - into);
    Use(kQuorum);
  }

  // One answer grants a lease, which is usable a second later.
  Lease GrantQuorum() {
    std::optional<Lease> lease;
    queues_->Acquire(kRoute, [&](absl::StatusOr<Lease> acquired) { lease = acquired.value(); });
    AnswerOk();
    EXPECT_FALSE(lease.has_value());
    time_.Advance(LeaseClock::kForming);
    EXPECT_TRUE(lease.has_value());
    return lease.value_or(Lease());
  }

  void Refuse() { Answer(absl::FailedPreconditionError("inequivalent arg 'x-expires'")); }

  std::int64_t ExpiresOfLastDeclare() const {
    const amqp::Value* value = declares_.back().params.queue.arguments.Find("x-expires");
    return std::get<std::int64_t>(value->variant);
  }
};

TEST_F(DelayQueuesQuorumTest, UsesTheNextOfFourSlotsInEachEpoch) {
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) {
    names.push_back(*GrantQuorum().name);
    EXPECT_TRUE(Holds());
    time_.Advance(kEpoch - LeaseClock::kForming - absl::Milliseconds(1));
    EXPECT_TRUE(Holds());
    time_.Advance(absl::Milliseconds(1));
    EXPECT_FALSE(Holds());
  }
  EXPECT_THAT(names, ElementsAre("retry.1000.q0", "retry.1000.q1", "retry.1000.q2", "retry.1000.q3",
                                 "retry.1000.q0"));
  EXPECT_THAT(declares_, IsEmpty());
}

TEST_F(DelayQueuesQuorumTest, UsesTheNextSlotIfAStaleQueueHasThisOne) {
  queues_->Acquire(kRoute, Keep());
  const std::int64_t stamp = ExpiresOfLastDeclare();
  Refuse();
  EXPECT_EQ(NameOfLastDeclare(), "retry.1000.q1");
  EXPECT_EQ(ExpiresOfLastDeclare(), stamp);
  AnswerOk();
  time_.Advance(LeaseClock::kForming);
  ASSERT_THAT(acquired_, SizeIs(1));
  EXPECT_EQ(*acquired_[0].value().name, "retry.1000.q1");
  EXPECT_THAT(events_, ElementsAre("declared retry.1000.q1"));
}

TEST_F(DelayQueuesQuorumTest, UsesTheHashedNamesIfAllFourSlotsAreRefusedAndThenFails) {
  queues_->Acquire(kRoute, Keep());
  for (int i = 0; i < 4; ++i) Refuse();
  std::string hashed = NameOfLastDeclare();
  EXPECT_THAT(hashed, ::testing::MatchesRegex("retry\\.1000\\.[0-9a-f]{8}\\.q0"));
  for (int i = 0; i < 3; ++i) Refuse();
  hashed.back() = '3';
  EXPECT_EQ(NameOfLastDeclare(), hashed);
  EXPECT_THAT(acquired_, IsEmpty());
  Refuse();
  ASSERT_THAT(acquired_, SizeIs(1));
  EXPECT_TRUE(absl::IsFailedPrecondition(acquired_[0].status()));
  EXPECT_THAT(declares_, IsEmpty());
}

TEST_F(DelayQueuesQuorumTest, CallersWaitWhileItFormsWithoutAnotherDeclare) {
  queues_->Acquire(kRoute, Keep());
  AnswerOk();
  time_.Advance(LeaseClock::kForming / 2);
  queues_->Acquire(kRoute, Keep());
  EXPECT_FALSE(Holds());
  EXPECT_THAT(declares_, IsEmpty());
  EXPECT_THAT(acquired_, IsEmpty());
  time_.Advance(LeaseClock::kForming / 2);
  EXPECT_THAT(acquired_, SizeIs(2));
  EXPECT_TRUE(Holds());
}

TEST_F(DelayQueuesQuorumTest, ForgetsUnusedQueues) {
  GrantQuorum();
  time_.Advance(kEpoch + kQuorum.confirm_timeout);
  EXPECT_EQ(queues_->size(), 0U);
  EXPECT_EQ(time_.pending_timers(), 0U);
}

}  // namespace retryq::delay_queues_quorum_test
