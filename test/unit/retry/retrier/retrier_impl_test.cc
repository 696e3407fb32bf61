#include "retry/retrier/retrier_impl.h"

#include "support/test.h"
#include "support/waiting_executor.h"
#include "unit/retry/retrier/retrier_fixture.h"

namespace retryq::retrier_impl_test {

class RetrierImplTest : public RetrierTest {
 protected:
  void Make(const char* version = "4.3.6") {
    broker_.version = version;
    shared_ =
        Retrier::Shared::Create(broker_, testing::EnvironmentOf(time_, random_, &events_)).value();
    retrier_ = Retrier::Create(shared_, {.queue = "orders"}).value();
    broker_.Ready();
    retrier_->impl().Watch([this](CallResult result, std::string_view error) {
      static constexpr const char* kNames[] = {"succeeded", "failed", "neither"};
      results_.push_back(absl::StrCat(kNames[static_cast<int>(result)], error.empty() ? "" : " ",
                                      std::string(error)));
    });
  }

  std::vector<std::string> results_;
};

TEST_F(RetrierImplTest, ReportsTheOutcomeOfEachCall) {
  std::vector<Outcome> outcomes = {absl::UnavailableError("down"), Outcome::Ok(),
                                   absl::InvalidArgumentError("no order"), Outcome::Requeue(),
                                   Outcome::RetryAfter(absl::Seconds(1), absl::OkStatus())};
  Make();
  deliver_ = retrier_->Wrap(Handler([&](const Delivery&) {
    Outcome outcome = outcomes.front();
    outcomes.erase(outcomes.begin());
    return outcome;
  }));
  for (std::size_t left = outcomes.size(); left > 0; --left) Deliver();
  EXPECT_THAT(results_, ElementsAre("failed UNAVAILABLE: down", "succeeded",
                                    "neither INVALID_ARGUMENT: no order", "neither",
                                    "failed the handler gave no reason"));
}

TEST_F(RetrierImplTest, RequeuesADeliveryWhenTheRestOfItsDelayIsOver) {
  Make();
  deliver_ = retrier_->Wrap(Handler(testing::Fails));
  Deliver({.headers = testing::Copied(
               {{"x-retry-count", std::int64_t{1}}, {"x-retry-remaining", std::int64_t{10}}})});
  EXPECT_THAT(broker_.requeued, IsEmpty());
  retrier_->impl().StopHandling();
  time_.Advance(absl::Milliseconds(20));
  EXPECT_THAT(broker_.requeued, ElementsAre(1));
  EXPECT_EQ(events_.Count(EventKind::kFailed), 0U);
}

TEST_F(RetrierImplTest, RequeuesDeliveriesThatNoThreadHasBegun) {
  const auto threads = std::make_shared<testing::WaitingExecutor>();
  int calls = 0;
  Make();
  deliver_ = retrier_->Wrap(Handler([&](const Delivery&) {
                              ++calls;
                              return Outcome::Ok();
                            }),
                            threads);
  for (int i = 0; i < 3; ++i) Deliver();
  threads->RunOne();  // and its outcome is on the way to the loop
  retrier_->impl().StopHandling();
  retrier_->impl().RequeueUnbegun();
  EXPECT_THAT(broker_.requeued, ElementsAre(2, 3));
  threads->RunAll();
  time_.RunReady();
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(broker_.acked, ElementsAre(1));
}

TEST_F(RetrierImplTest, MayBeDestroyedWhileItRequeues) {
  const auto threads = std::make_shared<testing::WaitingExecutor>();
  class Destroyer final : public Observer {
   public:
    void OnEvent(const Event& event) override {
      if (event.kind == EventKind::kRequeued) (*destroy)();
    }
    std::function<void()>* destroy = nullptr;
  } observer;
  std::function<void()> destroy = [this] { retrier_.reset(); };
  observer.destroy = &destroy;
  broker_.version = "4.3.6";
  shared_ =
      Retrier::Shared::Create(broker_, testing::EnvironmentOf(time_, random_, &observer)).value();
  retrier_ = Retrier::Create(shared_, {.queue = "orders"}).value();
  broker_.Ready();
  deliver_ = retrier_->Wrap(Handler(testing::Fails), threads);
  for (int i = 0; i < 3; ++i) Deliver();
  retrier_->impl().StopHandling();
  retrier_->impl().RequeueUnbegun();
  EXPECT_EQ(retrier_, nullptr);
  EXPECT_THAT(broker_.requeued, ElementsAre(1));
  time_.RunReady();
}

TEST_F(RetrierImplTest, HoldsCopiesOfRequeuesUntilReturnsResume) {
  std::vector<Settlement> open;
  Make("4.0.5");
  deliver_ = retrier_->Wrap(AsyncHandler(
      [&](const Delivery&, Settlement settlement) { open.push_back(std::move(settlement)); }));
  for (int i = 0; i < 3; ++i) Deliver();
  retrier_->impl().PauseReturns();
  for (const std::size_t i : {0U, 2U}) std::move(open[i]).Settle(Outcome::Requeue());
  std::move(open[1]).Settle(Outcome::Ok());
  time_.RunReady();
  EXPECT_THAT(broker_.publishes, IsEmpty());
  EXPECT_THAT(broker_.acked, ElementsAre(2));
  EXPECT_EQ(retrier_->open(), 2U);
  EXPECT_EQ(retrier_->handling(), 0U);
  retrier_->impl().ResumeReturns();
  ASSERT_THAT(broker_.publishes, SizeIs(2));
  for (auto& copy : broker_.publishes) copy.Confirm();
  EXPECT_THAT(broker_.acked, ElementsAre(2, 1, 3));
  EXPECT_THAT(broker_.requeued, IsEmpty());
  EXPECT_EQ(events_.Count(EventKind::kRequeued), 2U);
}

TEST_F(RetrierImplTest, DoesNotHoldPlainRequeues) {
  Make("4.3.6");
  deliver_ = retrier_->Wrap(Handler([](const Delivery&) { return Outcome::Requeue(); }));
  retrier_->impl().PauseReturns();
  Deliver();
  EXPECT_THAT(broker_.requeued, ElementsAre(1));
}

TEST_F(RetrierImplTest, DropsHeldMessagesWithTheirChannel) {
  Make("4.0.5");
  deliver_ = retrier_->Wrap(Handler([](const Delivery&) { return Outcome::Requeue(); }));
  retrier_->impl().PauseReturns();
  Deliver();
  retrier_->Abandon();
  EXPECT_EQ(retrier_->open(), 0U);
  retrier_->impl().ResumeReturns();
  EXPECT_THAT(broker_.publishes, IsEmpty());
  EXPECT_THAT(broker_.requeued, IsEmpty());
}

TEST_F(RetrierImplTest, DoesNotReportCallsThatBeganBeforeHandlingWasStopped) {
  std::vector<Settlement> open;
  Make();
  deliver_ = retrier_->Wrap(AsyncHandler(
      [&](const Delivery&, Settlement settlement) { open.push_back(std::move(settlement)); }));
  Deliver();
  retrier_->impl().StopHandling();
  retrier_->impl().ResumeHandling();
  Deliver();
  for (Settlement& settlement : open) std::move(settlement).Settle(Outcome::Ok());
  time_.RunReady();
  EXPECT_THAT(results_, ElementsAre("succeeded"));
  EXPECT_THAT(broker_.acked, ElementsAre(1, 2));
}

}  // namespace retryq::retrier_impl_test
