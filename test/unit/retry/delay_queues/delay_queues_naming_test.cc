// The name under which a delay queue is used, and the error if there is none.

#include "support/test.h"
#include "unit/retry/delay_queues/delay_queues_fixture.h"

namespace retryq::delay_queues_naming_test {

class DelayQueuesNamingTest : public DelayQueuesTest {};

TEST_F(DelayQueuesNamingTest, UseTheHashedNameIfArgumentsDiffer) {
  queues_->Acquire(kRoute, Keep());
  Answer(absl::FailedPreconditionError("PRECONDITION_FAILED - inequivalent arg 'x-expires'"));
  ASSERT_EQ(declares_.size(), 1U);
  EXPECT_THAT(NameOfLastDeclare(), MatchesRegex("retry\\.1000\\.[0-9a-f]*"));
  EXPECT_EQ(declares_.back().params.exchange->name, NameOfLastDeclare());
  const std::string name = NameOfLastDeclare();
  AnswerOk();
  AnswerOk();
  ASSERT_EQ(acquired_.size(), 1U);
  EXPECT_EQ(*acquired_[0]->name, name);
  EXPECT_THAT(events_, ElementsAre("renamed " + name, "declared " + name));
  EXPECT_THAT(errors_[0], AllOf(StartsWith("used instead of 'retry.1000'"),
                                HasSubstr("inequivalent arg 'x-expires'"), HasSubstr("remedy: ")));
  EXPECT_EQ(queues_->size(), 1U);
}

TEST_F(DelayQueuesNamingTest, KeepTheHashedNameAfterItsLeaseEndsAndAfterALostConnection) {
  const std::string name = *Grant(kRoute, /*is_hashed=*/true).name;
  time_.Advance(kWindow / 2);
  AnswerOk();
  time_.Advance(kLifetime);
  EXPECT_EQ(queues_->size(), 0U);
  EXPECT_EQ(*Grant().name, name);
  queues_->DropAll(absl::UnavailableError("lost"));
  EXPECT_EQ(*Grant().name, name);
  EXPECT_THAT(events_, ElementsAre("renamed " + name, "declared " + name, "renewed " + name,
                                   "lapsed " + name, "declared " + name, "declared " + name));
}

// Its declare is answered, but it is gone before the binding.
TEST_F(DelayQueuesNamingTest, RepeatADeclareAfterNotFound) {
  queues_->Acquire(kRoute, Keep());
  Answer(absl::NotFoundError("no queue 'retry.1000'"));
  ASSERT_EQ(declares_.size(), 1U);
  EXPECT_EQ(NameOfLastDeclare(), "retry.1000");
  AnswerOk();
  EXPECT_THAT(acquired_, IsEmpty());
  AnswerOk();
  ASSERT_EQ(acquired_.size(), 1U);
  EXPECT_EQ(*acquired_[0]->name, "retry.1000");
  EXPECT_THAT(events_, ElementsAre("declared retry.1000"));
}

TEST_F(DelayQueuesNamingTest, UseTheHashedNameIfADeclareHangs) {
  queues_->Acquire(kRoute, Keep());
  time_.Advance(absl::Seconds(5) - absl::Milliseconds(1));
  EXPECT_EQ(declares_.size(), 1U);
  time_.Advance(absl::Milliseconds(1));
  ASSERT_EQ(declares_.size(), 2U);
  const Sent hanging = std::move(declares_.front());
  declares_.pop_front();
  const std::string name = NameOfLastDeclare();
  AnswerOk();
  AnswerOk();
  ASSERT_EQ(acquired_.size(), 1U);
  EXPECT_EQ(*acquired_[0]->name, name);
  EXPECT_THAT(events_, ElementsAre("renamed " + name, "declared " + name));
  hanging.done(DeclareOk{});
  EXPECT_THAT(declares_, IsEmpty());
  EXPECT_EQ(queues_->size(), 1U);
  EXPECT_EQ(*queues_->CurrentLease(kRoute, time_.SinceBoot()).name, name);
}

TEST_F(DelayQueuesNamingTest, KeepThePlainNameIfOnlyTheNetworkHung) {
  queues_->Acquire(kRoute, Keep());
  time_.Advance(absl::Seconds(6));
  ASSERT_EQ(declares_.size(), 2U);
  AnswerOk();  // the plain one, late, but before the hashed one
  ASSERT_EQ(declares_.size(), 2U);
  EXPECT_EQ(NameOfLastDeclare(), "retry.1000");
  AnswerOk();  // the hashed one, which is ignored
  AnswerOk();
  ASSERT_EQ(acquired_.size(), 1U);
  EXPECT_EQ(*acquired_[0]->name, "retry.1000");
  EXPECT_THAT(events_, ElementsAre("declared retry.1000"));
  EXPECT_EQ(queues_->size(), 1U);
}

TEST_F(DelayQueuesNamingTest, ForgetAHangingDeclareAfterALostConnection) {
  queues_->Acquire(kRoute, Keep());
  time_.Advance(absl::Seconds(6));
  queues_->DropAll(absl::UnavailableError("lost"));
  declares_.clear();
  EXPECT_EQ(*Grant().name, "retry.1000");
}

TEST_F(DelayQueuesNamingTest, LetABackgroundRenewalHangAsLongAsTheWindowIsOpen) {
  Grant();
  time_.Advance(kWindow / 2);
  ASSERT_EQ(declares_.size(), 1U);
  time_.Advance(kWindow / 2 - absl::Milliseconds(1));
  EXPECT_TRUE(Holds());
  EXPECT_EQ(declares_.size(), 1U);
  time_.Advance(absl::Milliseconds(1));
  queues_->Acquire(kRoute, Keep());
  time_.RunReady();
  ASSERT_EQ(declares_.size(), 2U);
  EXPECT_THAT(NameOfLastDeclare(), StartsWith("retry.1000."));
}

TEST_F(DelayQueuesNamingTest, CoverMessagesPublishedUnderThePlainNameBeforeARenaming) {
  const Lease plain = Grant();
  time_.Advance(kWindow / 2);
  for (int i = 0; i < 3; ++i) Answer(absl::NotFoundError("home node is down"));
  AnswerOk();
  AnswerOk();
  EXPECT_TRUE(queues_->Covers(plain));
  EXPECT_NE(*queues_->CurrentLease(kRoute, time_.SinceBoot()).name, "retry.1000");
  time_.Advance(kCoverage - kWindow / 2);
  EXPECT_FALSE(queues_->Covers(plain));
}

TEST_F(DelayQueuesNamingTest, CoverNothingPublishedIntoARecreatedQueue) {
  const Lease plain = Grant();
  time_.Advance(kWindow / 2);
  Answer(absl::FailedPreconditionError("inequivalent arg"));
  EXPECT_FALSE(queues_->Covers(plain));
}

TEST_F(DelayQueuesNamingTest, SuggestARemedyIfTheHashedNameIsRefusedToo) {
  queues_->Acquire(kRoute, Keep());
  Answer(absl::FailedPreconditionError("inequivalent arg"));
  const std::string name = NameOfLastDeclare();
  Answer(absl::FailedPreconditionError("inequivalent arg 'x-max-length'"));
  ASSERT_EQ(acquired_.size(), 1U);
  EXPECT_EQ(acquired_[0].status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(acquired_[0].status().message()),
              AllOf(HasSubstr(name), HasSubstr("'x-max-length'"), HasSubstr("another prefix")));
  EXPECT_THAT(events_, ElementsAre("declare_failed " + name));
  EXPECT_EQ(queues_->size(), 0U);
}

TEST_F(DelayQueuesNamingTest, KeepTheirNameAtAQueueLimit) {
  queues_->Acquire(kRoute, Keep());
  Answer(absl::ResourceExhaustedError("406 - queue limit in vhost 'shop' (10) is reached"));
  EXPECT_THAT(declares_, IsEmpty());
  ASSERT_EQ(acquired_.size(), 1U);
  EXPECT_EQ(acquired_[0].status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(acquired_[0].status().message()),
              AllOf(HasSubstr("'retry.1000'"), HasSubstr("(10) is reached"),
                    HasSubstr("set_vhost_limits")));
  EXPECT_THAT(events_, ElementsAre("declare_failed retry.1000"));
  EXPECT_EQ(*Grant().name, "retry.1000");
}

TEST_F(DelayQueuesNamingTest, NameTheMissingPermission) {
  queues_->Acquire(kWorkRoute, Keep());
  queues_->Acquire(kWorkRoute, Keep());
  Answer(absl::PermissionDeniedError("ACCESS_REFUSED"));
  ASSERT_EQ(acquired_.size(), 2U);
  EXPECT_EQ(acquired_[1].status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(acquired_[1].status().message()),
              AllOf(HasSubstr("'retry.1000'"), HasSubstr("ACCESS_REFUSED"),
                    HasSubstr("'configure'"), HasSubstr("'^retry[.].*'"), HasSubstr("'work'")));
  EXPECT_THAT(events_, ElementsAre("declare_failed retry.1000"));
  EXPECT_EQ(queues_->size(), 0U);
  EXPECT_EQ(time_.pending_timers(), 0U);
}

TEST_F(DelayQueuesNamingTest, UseTheHashedNameAfterANack) {
  const Lease lease = Grant();
  queues_->Nacked(lease);
  queues_->Nacked(lease);
  EXPECT_FALSE(Holds());
  EXPECT_TRUE(queues_->Covers(lease));
  queues_->Acquire(kRoute, Keep());
  ASSERT_EQ(declares_.size(), 1U);
  const std::string name = NameOfLastDeclare();
  AnswerOk();
  AnswerOk();
  ASSERT_EQ(acquired_.size(), 1U);
  EXPECT_EQ(*acquired_[0]->name, name);
  EXPECT_THAT(events_, ElementsAre("declared retry.1000", "renamed " + name, "declared " + name));
  queues_->Nacked(*acquired_[0]);  // there is no third name
  EXPECT_TRUE(Holds());
}

TEST_F(DelayQueuesNamingTest, UseOnlyTheHashedNameIfConfirmsAreMissing) {
  Grant();
  queues_->Avoid(kRoute);
  const std::string name = NameOfLastDeclare();
  EXPECT_NE(name, "retry.1000");
  EXPECT_THAT(events_, ElementsAre("declared retry.1000", "renamed " + name));
  queues_->Avoid(kRoute);
  queues_->DropAll(absl::UnavailableError("gone"));
  queues_->Avoid(kRoute);
  queues_->Acquire(kRoute, Keep());
  EXPECT_EQ(NameOfLastDeclare(), name);
  EXPECT_EQ(events_.size(), 2U);
}

// Delay queues that another user has declared, and full delay queues.
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

}  // namespace retryq::delay_queues_naming_test
