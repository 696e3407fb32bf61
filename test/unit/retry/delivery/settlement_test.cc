#include "retryq/settlement.h"

#include <mutex>
#include <thread>
#include <type_traits>

#include "support/test.h"

namespace retryq::settlement_test {

static_assert(!std::is_copy_constructible_v<Settlement>);
static_assert(std::is_nothrow_move_constructible_v<Settlement>);
static_assert(std::is_nothrow_move_assignable_v<Settlement>);

// Runs posted work when the test calls it; a closed executor drops it, like a destroyed loop.
class ManualExecutor : public Executor {
 public:
  void Post(Work work) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!closed_) posted_.push_back(std::move(work));
  }

  void Run() {
    for (Work& work : std::exchange(posted_, {})) std::move(work)();
  }

  void Close() { closed_ = true; }

 private:
  std::mutex mutex_;
  bool closed_ = false;
  std::vector<Work> posted_;
};

class SettlementTest : public ::testing::Test {
 protected:
  Settlement Make() {
    return Settlement(executor_, [this](const Outcome& outcome) { outcomes_.push_back(outcome); });
  }

  std::shared_ptr<ManualExecutor> executor_ = std::make_shared<ManualExecutor>();
  std::vector<Outcome> outcomes_;
};

TEST_F(SettlementTest, SettlesOnTheExecutorAndNotBefore) {
  Make().Settle(absl::UnavailableError("down"));
  EXPECT_TRUE(outcomes_.empty());
  executor_->Run();
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_[0].status(), absl::UnavailableError("down"));
}

TEST_F(SettlementTest, KeepsAnExplicitOutcome) {
  Make().Settle(Outcome::RetryAfter(absl::Seconds(3), absl::UnavailableError("busy")));
  executor_->Run();
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_[0].kind(), Outcome::Kind::kRetryAfter);
  EXPECT_EQ(outcomes_[0].delay(), absl::Seconds(3));
}

TEST_F(SettlementTest, ADroppedSettlementFailsWithAnExplicitError) {
  { const Settlement dropped = Make(); }
  executor_->Run();
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
  executor_->Run();
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_TRUE(outcomes_[0].status().ok());
}

TEST_F(SettlementTest, AnOverwrittenSettlementCountsAsDropped) {
  {
    Settlement kept = Make();
    kept = Settlement(executor_, [this](const Outcome&) { outcomes_.push_back(Outcome::Ok()); });
    executor_->Run();
    ASSERT_EQ(outcomes_.size(), 1u);
    EXPECT_TRUE(absl::IsUnknown(outcomes_[0].status()));
    std::move(kept).Settle(Outcome::Ok());
  }
  executor_->Run();
  ASSERT_EQ(outcomes_.size(), 2u);
  EXPECT_TRUE(outcomes_[1].status().ok());
}

TEST_F(SettlementTest, DoesNothingAfterTheLoopIsDestroyed) {
  executor_->Close();
  Make().Settle(Outcome::Ok());
  executor_->Run();
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
  executor_->Run();
  EXPECT_EQ(outcomes_.size(), 4u);
}

}  // namespace retryq::settlement_test
