#include "retry/delay_queues/classic_lease.h"

#include <gtest/gtest.h>

namespace retryq {
namespace classic_lease_test {

using Answer = LeaseClock::Answer;

// With a TTL of 1 s: window 60 s, coverage 90 s, lifetime 121 s.
class ClassicLeaseTest : public ::testing::Test {
 protected:
  static absl::Duration At(double seconds) { return absl::Seconds(1000) + absl::Seconds(seconds); }

  // A lease whose second declares were sent at 0.
  void Grant() {
    ASSERT_EQ(clock_.Answered(At(-0.2), At(-0.1)), Answer::kFirst);
    ASSERT_EQ(clock_.Answered(At(0), At(0.1)), Answer::kGranted);
  }

  ClassicLease clock_{absl::Seconds(1), DelayQueueOptions{}};
};

TEST_F(ClassicLeaseTest, GrantsNothingBeforeTheSecondAnswer) {
  EXPECT_FALSE(clock_.Allows(At(0)));
  EXPECT_EQ(clock_.Answered(At(0), At(0.1)), Answer::kFirst);
  EXPECT_FALSE(clock_.granted());
  EXPECT_FALSE(clock_.Allows(At(0.1)));
  EXPECT_FALSE(clock_.Covers(clock_.generation(), At(0.1)));
  EXPECT_EQ(clock_.Answered(At(0.2), At(0.3)), Answer::kGranted);
  EXPECT_TRUE(clock_.Allows(At(0.3)));
  EXPECT_TRUE(clock_.Covers(clock_.generation(), At(0.3)));
}

TEST_F(ClassicLeaseTest, AllowsPublishingUntilTheWindowCloses) {
  Grant();
  EXPECT_TRUE(clock_.Allows(At(59.999)));
  EXPECT_FALSE(clock_.Allows(At(60)));
}

TEST_F(ClassicLeaseTest, CoversConfirmsUntilHalfTheMarginIsGone) {
  Grant();
  EXPECT_TRUE(clock_.Covers(1, At(89.999)));
  EXPECT_FALSE(clock_.Covers(1, At(90)));
  EXPECT_FALSE(clock_.Covers(0, At(1)));
  EXPECT_FALSE(clock_.Covers(2, At(1)));
}

TEST_F(ClassicLeaseTest, CountsFromWhenTheDeclaresWereSent) {
  Grant();
  EXPECT_EQ(clock_.Answered(At(50), At(80)), Answer::kRenewed);
  EXPECT_EQ(clock_.renewed_at(), At(50));
  EXPECT_EQ(clock_.renewal_due(), At(80));
  EXPECT_TRUE(clock_.Allows(At(109)));
  EXPECT_FALSE(clock_.Allows(At(110)));
  EXPECT_EQ(clock_.end(), At(171));
}

TEST_F(ClassicLeaseTest, KeepsItsGenerationThroughRenewals) {
  Grant();
  EXPECT_EQ(clock_.Answered(At(30), At(31)), Answer::kRenewed);
  EXPECT_EQ(clock_.Answered(At(60), At(119.9)), Answer::kRenewed);
  EXPECT_TRUE(clock_.Covers(1, At(149)));
}

TEST_F(ClassicLeaseTest, TakesAnAnswerAfterAGapForAFirstOne) {
  Grant();
  EXPECT_EQ(clock_.Answered(At(59), At(90)), Answer::kFirst);
  EXPECT_FALSE(clock_.Allows(At(90)));
  EXPECT_FALSE(clock_.Covers(1, At(90)));
  EXPECT_EQ(clock_.Answered(At(90), At(91)), Answer::kGranted);
  EXPECT_FALSE(clock_.Covers(1, At(91)));
  EXPECT_TRUE(clock_.Covers(2, At(91)));
}

TEST_F(ClassicLeaseTest, TakesASecondAnswerAfterAGapForAFirstOneToo) {
  EXPECT_EQ(clock_.Answered(At(0), At(1)), Answer::kFirst);
  EXPECT_EQ(clock_.Answered(At(1), At(90)), Answer::kFirst);
  EXPECT_EQ(clock_.Answered(At(90), At(90.9)), Answer::kGranted);
}

TEST_F(ClassicLeaseTest, StartsAnewAfterABreak) {
  Grant();
  clock_.Break();
  EXPECT_FALSE(clock_.Allows(At(1)));
  EXPECT_FALSE(clock_.Covers(1, At(1)));
  EXPECT_EQ(clock_.Answered(At(1), At(2)), Answer::kFirst);
  EXPECT_EQ(clock_.Answered(At(2), At(3)), Answer::kGranted);
  EXPECT_FALSE(clock_.Covers(1, At(3)));
}

}  // namespace classic_lease_test
}  // namespace retryq
