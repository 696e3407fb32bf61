#include "retry/retrier/target_checks.h"

#include "retryq/testing/simulated_time.h"
#include "support/scripted_broker.h"
#include "support/test.h"

namespace retryq::target_checks_test {

using ::testing::Property;

class TargetChecksTest : public ::testing::Test {
 protected:
  TargetChecksTest() {
    broker_.on_check_exchange = [this](const std::string& name) {
      exchanges_looked_for_.push_back(name);
      return absl::OkStatus();
    };
  }

  void Look(const Target& target) {
    checks_.Look(target, [this](const absl::Status& there) { answers_.push_back(there); });
  }
  void Settle() { time_.RunReady(); }

  testing::SimulatedTime time_;
  testing::ScriptedBroker broker_{time_};
  TargetChecks checks_{broker_, time_};
  std::vector<absl::Status> answers_;
  std::vector<std::string> exchanges_looked_for_;
};

TEST_F(TargetChecksTest, ConcurrentChecksShareOneRequest) {
  for (int i = 0; i < 100; ++i) Look({.exchange = "", .queue = "orders"});
  EXPECT_THAT(broker_.declares, SizeIs(1));
  EXPECT_THAT(answers_, SizeIs(0));
  Settle();
  EXPECT_THAT(answers_, AllOf(SizeIs(100), Each(Property(&absl::Status::ok, true))));
}

TEST_F(TargetChecksTest, TrustsExistingTargetsForAWhile) {
  Look({.exchange = "", .queue = "orders"});
  Settle();
  time_.Advance(TargetChecks::kTrusted - absl::Milliseconds(1));
  Look({.exchange = "", .queue = "orders"});
  EXPECT_THAT(answers_, SizeIs(2));
  EXPECT_THAT(broker_.declares, SizeIs(1));
  time_.Advance(absl::Milliseconds(1));
  Look({.exchange = "", .queue = "orders"});
  EXPECT_THAT(broker_.declares, SizeIs(2));
}

TEST_F(TargetChecksTest, ChecksQueuesAndExchangesSeparately) {
  Look({.exchange = "", .queue = "orders"});
  Look({.exchange = "", .queue = "bills"});
  Look({.exchange = "orders", .queue = ""});
  EXPECT_THAT(broker_.declares, SizeIs(2));
  EXPECT_THAT(exchanges_looked_for_, ::testing::ElementsAre("orders"));
}

TEST_F(TargetChecksTest, ChecksMissingTargetsEachTime) {
  broker_.on_declare = [](const QueueDeclaration&) { return absl::NotFoundError("no queue"); };
  for (int i = 0; i < 2; ++i) {
    Look({.exchange = "", .queue = "orders"});
    Settle();
  }
  EXPECT_THAT(broker_.declares, SizeIs(2));
  EXPECT_THAT(answers_,
              AllOf(SizeIs(2), Each(Property(&absl::Status::code, absl::StatusCode::kNotFound))));
}

TEST_F(TargetChecksTest, ALostConnectionEndsTheTrust) {
  Look({.exchange = "", .queue = "orders"});
  Settle();
  checks_.Forget();
  Look({.exchange = "", .queue = "orders"});
  EXPECT_THAT(broker_.declares, SizeIs(2));
}

TEST_F(TargetChecksTest, DoesNotKeepThousandsOfTargetsForever) {
  for (int i = 0; i < 3000; ++i) {
    Look({.exchange = "", .queue = absl::StrCat("orders.", i)});
    Settle();
    time_.Advance(absl::Milliseconds(10));
  }
  EXPECT_LE(checks_.size(), 1001U);
}

TEST_F(TargetChecksTest, DoesNotTrustThousandsOfTargetsAtOnce) {
  for (int i = 0; i < 3000; ++i) {
    Look({.exchange = "", .queue = absl::StrCat("orders.", i)});
    Settle();
    EXPECT_LE(checks_.size(), 1002U);
  }
  Look({.exchange = "", .queue = "orders.2999"});
  EXPECT_THAT(broker_.declares, SizeIs(3000));
}

TEST_F(TargetChecksTest, TrustsATargetAgainThatIsFoundAgain) {
  Look({.exchange = "", .queue = "orders"});
  Settle();
  time_.Advance(TargetChecks::kTrusted);
  Look({.exchange = "", .queue = "orders"});
  Settle();
  time_.Advance(TargetChecks::kTrusted - absl::Milliseconds(1));
  Look({.exchange = "", .queue = "bills"});
  Look({.exchange = "", .queue = "orders"});
  EXPECT_THAT(broker_.declares, SizeIs(3));
}

}  // namespace retryq::target_checks_test
