#include "retryq/settlement.h"

#include <thread>
#include <type_traits>

#include "support/test.h"
#include "support/waiting_executor.h"

namespace retryq::settlement_test {

static_assert(!std::is_copy_constructible_v<Settlement>);
static_assert(std::is_nothrow_move_constructible_v<Settlement>);
static_assert(std::is_nothrow_move_assignable_v<Settlement>);

class SettlementTest : public ::testing::Test {
 protected:
  Settlement Make() {
    return Settlement(executor_, [this](const Outcome& outcome) { outcomes_.push_back(outcome); });
  }

  std::shared_ptr<testing::WaitingExecutor> executor_ =
      std::make_shared<testing::WaitingExecutor>();
  std::vector<Outcome> outcomes_;
};

TEST_F(SettlementTest, SettlesOnTheExecutorAndNotBefore) {
  Make().Settle(absl::UnavailableError("down"));
  EXPECT_TRUE(outcomes_.empty());
  executor_->RunAll();
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_[0].status(), absl::UnavailableError("down"));
}

TEST_F(SettlementTest, ADroppedSettlementFailsWithAnExplicitError) {
  { const Settlement dropped = Make(); }
  executor_->RunAll();
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_[0].kind(), Outcome::Kind::kByStatus);
  EXPECT_TRUE(absl::IsUnknown(outcomes_[0].status()));
  EXPECT_NE(outcomes_[0].status().message().find("dropped its settlement"),
            absl::string_view::npos);
}

TEST_F(SettlementTest, TheFirstOfTwoOutcomesCounts) {
  Settlement settlement = Make();
  std::move(settlement).Settle(Outcome::Ok());
  std::move(settlement).Settle(absl::UnavailableError("late"));  // NOLINT(bugprone-use-after-move)
  executor_->RunAll();
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_TRUE(outcomes_[0].status().ok());
}

TEST_F(SettlementTest, AnOverwrittenSettlementCountsAsDropped) {
  {
    Settlement kept = Make();
    kept = Settlement(executor_, [this](const Outcome&) { outcomes_.push_back(Outcome::Ok()); });
    executor_->RunAll();
    ASSERT_EQ(outcomes_.size(), 1u);
    EXPECT_TRUE(absl::IsUnknown(outcomes_[0].status()));
    std::move(kept).Settle(Outcome::Ok());
  }
  executor_->RunAll();
  ASSERT_EQ(outcomes_.size(), 2u);
  EXPECT_TRUE(outcomes_[1].status().ok());
}

TEST_F(SettlementTest, DoesNothingAfterTheLoopIsDestroyed) {
  Make().Settle(Outcome::Ok());
  executor_->Drop();
  EXPECT_TRUE(outcomes_.empty());
}

TEST_F(SettlementTest, SettlesFromAnyThread) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([settlement = Make(), i]() mutable {
      if (i % 2 == 0) std::move(settlement).Settle(Outcome::Ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  executor_->RunAll();
  EXPECT_EQ(outcomes_.size(), 4u);
}

}  // namespace retryq::settlement_test
