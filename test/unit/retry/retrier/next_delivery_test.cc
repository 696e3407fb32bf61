#include "base/header_names.h"
#include "retryq/broker/retrier.h"
#include "support/test.h"
#include "unit/retry/retrier/retrier_fixture.h"

namespace retryq::next_delivery_test {

// The next delivery reuses the memory of the previous one.
class NextDelivery : public RetrierTest {
 protected:
  // The previous message was handled, given up, and parked.
  void StartAfterAnother(CountRedeliveries count) {
    Start({.queue = "orders", .retry = {.max_attempts = 2, .count_redeliveries = count}},
          Handler(Fails));
    Deliver({.headers = Failed(1)});
    LastPublish().Confirm();
    ASSERT_THAT(events_.Last(EventKind::kParked)->error, HasSubstr("gave up"));
    ASSERT_TRUE(events_.Last(EventKind::kFailed)->handling.has_value());
    events_.entries.clear();
  }

  static amqp::Table Failed(std::int64_t count) {
    return testing::Copied({{kRetryCountHeader.data(), count}});
  }
};

TEST_F(NextDelivery, IsMovedWithoutThePreviousError) {
  StartAfterAnother(CountRedeliveries::kNever);
  Redeliver(10);
  LastPublish().Confirm();
  ASSERT_EQ(events_.Count(EventKind::kMoved), 1U);
  EXPECT_EQ(events_.Last(EventKind::kMoved)->error, "");
}

TEST_F(NextDelivery, IsForwardedWithoutThePreviousError) {
  StartAfterAnother(CountRedeliveries::kNever);
  amqp::Table headers = Failed(1);
  headers.Set(kRetryRemainingHeader, std::int64_t{60'000});
  headers.Set(kRetryNotBeforeHeader, absl::ToUnixMillis(time_.Now() + absl::Minutes(1)));
  Deliver({.headers = headers});
  LastPublish().Confirm();
  ASSERT_EQ(events_.Count(EventKind::kForwarded), 1U);
  EXPECT_EQ(events_.Last(EventKind::kForwarded)->error, "");
}

TEST_F(NextDelivery, IsReportedUnhandledAfterAHandledOne) {
  StartAfterAnother(CountRedeliveries::kAlways);
  Redeliver(5);
  LastPublish().Confirm();
  ASSERT_EQ(events_.Count(EventKind::kFailed), 1U);
  EXPECT_EQ(events_.Last(EventKind::kFailed)->handling, std::nullopt);
}

TEST_F(NextDelivery, IsHeldForASecondAtFirst) {
  Start({.queue = "orders"}, Handler(Fails));
  // Every destination refuses it, until it is held.
  const auto hold = [this](std::size_t times) {
    events_.entries.clear();
    for (int i = 0; i < 1000 && events_.Count(EventKind::kHeld) < times; ++i) {
      if (broker_.open().empty()) {
        time_.Advance(absl::Milliseconds(100));
      } else {
        broker_.CloseChannel(406, "PRECONDITION_FAILED - too large");
        time_.RunReady();
      }
    }
    ASSERT_EQ(events_.Count(EventKind::kHeld), times);
  };
  Deliver();
  hold(5);
  while (broker_.open().empty()) time_.Advance(absl::Seconds(1));
  broker_.open().front()->Confirm();
  ASSERT_EQ(retrier_->open(), 0U);

  Deliver();
  hold(1);
  ASSERT_THAT(broker_.open(), IsEmpty());
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(broker_.open(), SizeIs(1));
}

}  // namespace retryq::next_delivery_test
