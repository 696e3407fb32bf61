#include "retryq/broker/retrier.h"
#include "support/test.h"
#include "support/waiting_executor.h"
#include "unit/retry/retrier/retrier_fixture.h"

namespace retryq::handler_calls_test {

class HandlerCalls : public RetrierTest {};

TEST_F(HandlerCalls, StartsNothingOnAThreadAfterTheChannelCloses) {
  MakeRetrier({.queue = "orders"});
  const auto threads = std::make_shared<testing::WaitingExecutor>();
  std::vector<Delivery> handled;
  deliver_ = retrier_->Wrap(
      [&](const Delivery& delivery) {
        handled.push_back(delivery);
        return Outcome::Ok();
      },
      threads);
  Deliver();
  Deliver();
  ASSERT_EQ(threads->size(), 2U);
  EXPECT_EQ(retrier_->handling(), 2U);
  threads->RunOne();
  ASSERT_THAT(handled, SizeIs(1));
  EXPECT_FALSE(handled[0].abandoned());
  retrier_->Abandon();
  EXPECT_TRUE(handled[0].abandoned());
  EXPECT_EQ(retrier_->handling(), 0U);
  threads->RunOne();
  EXPECT_THAT(handled, SizeIs(1));
  time_.RunReady();
  EXPECT_THAT(broker_.acked, IsEmpty());
  Deliver();
  threads->RunOne();
  ASSERT_THAT(handled, SizeIs(2));
  EXPECT_FALSE(handled[1].abandoned());
}

TEST_F(HandlerCalls, FreesDeliveriesWhoseChannelIsClosed) {
  MakeRetrier({.queue = "orders"});
  const auto threads = std::make_shared<testing::WaitingExecutor>();
  deliver_ = retrier_->Wrap([](const Delivery&) { return Outcome::Ok(); }, threads);
  auto message = MakeMessage();
  const std::weak_ptr<amqp::Message> kept = message;
  deliver_(std::move(message));
  EXPECT_FALSE(kept.expired());
  retrier_->Abandon();
  EXPECT_TRUE(kept.expired());
}

TEST_F(HandlerCalls, ReportsAnExceptionOfAnAsynchronousHandler) {
  Start({.queue = "orders"}, AsyncHandler([](const Delivery&, const Settlement&) {
          throw std::runtime_error("out of paper");
        }));
  Deliver();
  time_.RunReady();
  EXPECT_THAT(std::string(events_.Last(EventKind::kFailed)->error), HasSubstr("out of paper"));
}

TEST_F(HandlerCalls, AnAsynchronousHandlerMaySettleAtAnyTime) {
  std::vector<Settlement> settlements;
  Start({.queue = "orders"}, AsyncHandler([&settlements](Delivery, Settlement settlement) {
          settlements.push_back(std::move(settlement));
        }));
  Deliver();
  Deliver();
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(retrier_->open(), 2U);
  std::move(settlements[1]).Settle(Outcome::Ok());
  time_.RunReady();
  EXPECT_THAT(broker_.acked, ElementsAre(2));
  settlements.clear();  // dropped unsettled: retried
  time_.RunReady();
  EXPECT_EQ(LastPublish().exchange, "retry.1000");
}

TEST_F(HandlerCalls, AbandonedDeliveriesAreForgotten) {
  std::vector<Settlement> settlements;
  Start({.queue = "orders"}, AsyncHandler([&settlements](Delivery, Settlement settlement) {
          settlements.push_back(std::move(settlement));
        }));
  Deliver();
  Deliver();
  std::move(settlements[0]).Settle(absl::UnavailableError("down"));
  time_.RunReady();
  retrier_->Abandon();
  EXPECT_EQ(retrier_->open(), 0U);
  LastPublish().Confirm();
  std::move(settlements[1]).Settle(Outcome::Ok());
  time_.RunReady();
  EXPECT_THAT(broker_.acked, IsEmpty());
}

}  // namespace retryq::handler_calls_test
