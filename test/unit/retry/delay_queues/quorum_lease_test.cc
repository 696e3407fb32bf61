#include "retry/delay_queues/quorum_lease.h"

#include <gtest/gtest.h>

namespace retryq {
namespace quorum_lease_test {

using Answer = LeaseClock::Answer;

const DelayQueueOptions kOptions{.queue_type = QueueType::kQuorum, .outage = absl::Minutes(10)};
constexpr absl::Duration kTtl = absl::Minutes(5);
constexpr absl::Duration kEpoch = absl::Minutes(15);

TEST(EpochTest, CountsFromTheUnixEpochForAllWorkersAlike) {
  const absl::Time start = absl::UnixEpoch() + 100 * kEpoch;
  for (const absl::Duration boot : {absl::Seconds(7), absl::Hours(1000)}) {
    const Epoch first = Epoch::At(start, boot, kTtl, kOptions);
    EXPECT_EQ(first.number, 100);
    EXPECT_EQ(first.ends, boot + kEpoch);
    const Epoch last = Epoch::At(start + kEpoch - absl::Milliseconds(1), boot, kTtl, kOptions);
    EXPECT_EQ(last.number, 100);
    EXPECT_EQ(last.ends, boot + absl::Milliseconds(1));
    EXPECT_EQ(Epoch::At(start + kEpoch, boot, kTtl, kOptions).number, 101);
  }
}

class QuorumLeaseTest : public ::testing::Test {
 protected:
  static absl::Duration At(double seconds) { return absl::Seconds(1000) + absl::Seconds(seconds); }

  QuorumLease lease_{Epoch{.number = 4, .ends = At(900)}, kOptions};
};

TEST_F(QuorumLeaseTest, IsGrantedByOneAnswerAndUsedASecondLater) {
  EXPECT_FALSE(lease_.Allows(At(0)));
  EXPECT_FALSE(lease_.Forming(At(0)));
  EXPECT_EQ(lease_.Answered(At(0), At(1)), Answer::kGranted);
  EXPECT_TRUE(lease_.Forming(At(1.999)));
  EXPECT_FALSE(lease_.Allows(At(1.999)));
  EXPECT_FALSE(lease_.Forming(At(2)));
  EXPECT_TRUE(lease_.Allows(At(2)));
  EXPECT_TRUE(lease_.Covers(lease_.generation(), At(1)));
}

TEST_F(QuorumLeaseTest, LastsToTheEndOfTheEpochAndIsNeverRenewed) {
  lease_.Answered(At(0), At(1));
  EXPECT_TRUE(lease_.Allows(At(899.999)));
  EXPECT_FALSE(lease_.Allows(At(900)));
  EXPECT_EQ(lease_.over_at(), At(900));
  EXPECT_EQ(lease_.renewal_due(), absl::InfiniteDuration());
  EXPECT_EQ(lease_.Answered(At(899), At(899.5)), Answer::kRenewed);
  EXPECT_FALSE(lease_.Allows(At(900)));
}

TEST_F(QuorumLeaseTest, CoversConfirmsForAsLongAsTheyMayTake) {
  lease_.Answered(At(0), At(1));
  EXPECT_TRUE(lease_.Covers(1, At(929.999)));
  EXPECT_FALSE(lease_.Covers(1, At(930)));
  EXPECT_FALSE(lease_.Covers(2, At(1)));
  EXPECT_EQ(lease_.end(), At(930));
}

TEST_F(QuorumLeaseTest, IsSafeOnlyOnceACrashLeavesTheQueueThere) {
  EXPECT_EQ(lease_.safe_from(), absl::InfiniteDuration());
  lease_.Answered(At(0), At(1));
  EXPECT_EQ(lease_.safe_from(), At(3));
}

TEST_F(QuorumLeaseTest, BrokenItIsGrantedAnewAndCoversNothingOfBefore) {
  lease_.Answered(At(0), At(1));
  lease_.Break();
  EXPECT_FALSE(lease_.Allows(At(10)));
  EXPECT_EQ(lease_.Answered(At(10), At(11)), Answer::kGranted);
  EXPECT_EQ(lease_.safe_from(), At(13));
  EXPECT_FALSE(lease_.Covers(1, At(11)));
  EXPECT_TRUE(lease_.Covers(2, At(11)));
}

}  // namespace quorum_lease_test
}  // namespace retryq
