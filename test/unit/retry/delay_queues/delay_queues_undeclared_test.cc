// Delay queues that another user has declared, and full delay queues.

#include "unit/retry/delay_queues/delay_queues_fixture.h"

namespace retryq::delay_queues_undeclared_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class UndeclaredDelayQueuesTest : public DelayQueuesTest {
 protected:
  UndeclaredDelayQueuesTest() { Use({.declare = false}); }

  void CheckExchange(std::string, std::function<void(absl::Status)> done) override {
    done(exchange_);
  }

  absl::Status exchange_;
};

TEST_F(UndeclaredDelayQueuesTest, AreMissingIfTheirExchangeIsMissing) {
  exchange_ = absl::NotFoundError("no exchange 'retry.1000'");
  queues_->Acquire(kRoute, Keep());
  AnswerOk();
  ASSERT_EQ(acquired_.size(), 1U);
  EXPECT_THAT(std::string(acquired_[0].status().message()), HasSubstr("no exchange 'retry.1000'"));
}

TEST_F(UndeclaredDelayQueuesTest, NameTheMissingReadPermission) {
  queues_->Acquire(kRoute, Keep());
  Answer(absl::PermissionDeniedError("ACCESS_REFUSED"));
  ASSERT_EQ(acquired_.size(), 1U);
  EXPECT_THAT(std::string(acquired_[0].status().message()),
              AllOf(HasSubstr("'read'"), HasSubstr("'^retry[.].*'")));
}

TEST_F(UndeclaredDelayQueuesTest, StayInUseAfterANackOrAMissingConfirm) {
  queues_->Acquire(kRoute, Keep());
  AnswerOk();
  EXPECT_EQ(queues_->Nacked(*acquired_[0]), std::nullopt);
  queues_->Avoid(kRoute);
  EXPECT_TRUE(Holds());
  EXPECT_THAT(declares_, IsEmpty());
}

TEST_F(UndeclaredDelayQueuesTest, WithALimitAreTreatedAsFullAfterANack) {
  Use({.max_length = 7, .max_length_bytes = 1000});
  const Lease lease = Grant();
  const std::optional<std::string> full = queues_->Nacked(lease);
  ASSERT_TRUE(full.has_value());
  EXPECT_THAT(*full, StartsWith("'retry.1000' is full (7 messages or 1000 bytes)"));
  EXPECT_TRUE(Holds());
  EXPECT_TRUE(queues_->Covers(lease));
}

}  // namespace retryq::delay_queues_undeclared_test
