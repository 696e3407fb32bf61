#include "retry/retrier/gated_retrier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "unit/retry/retrier/retrier_fixture.h"

namespace retryq {
namespace gated_retrier_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::RetrierTest;
using ::testing::SizeIs;

// Threads that run their work when the test wants it.
class LaterExecutor final : public Executor {
 public:
  void Post(std::function<void()> work) override { work_.push_back(std::move(work)); }
  void RunOne() {
    const std::function<void()> work = std::move(work_.front());
    work_.erase(work_.begin());
    work();
  }
  std::size_t size() const { return work_.size(); }

 private:
  std::vector<std::function<void()>> work_;
};

class GatedRetrierTest : public RetrierTest {
 protected:
  GatedRetrier& Make(const char* version = "4.3.6") {
    broker_.version = version;
    shared_ =
        Retrier::Shared::Create(broker_, testing::EnvironmentOf(time_, random_, &events_)).value();
    auto made = GatedRetrier::Create(shared_, {.queue = "orders"}).value();
    gated_ = made.get();
    retrier_ = std::move(made);
    broker_.Ready();
    gated_->Watch([this](CallResult result, std::string_view error) {
      static constexpr const char* kNames[] = {"succeeded", "failed", "neither"};
      results_.push_back(absl::StrCat(kNames[static_cast<int>(result)], error.empty() ? "" : " ",
                                      std::string(error)));
    });
    return *gated_;
  }

  GatedRetrier* gated_ = nullptr;
  std::vector<std::string> results_;
};

TEST_F(GatedRetrierTest, TellsHowEachCallEnded) {
  std::vector<Outcome> outcomes = {absl::UnavailableError("down"), Outcome::Ok(),
                                   absl::InvalidArgumentError("no order"), Outcome::Requeue(),
                                   Outcome::RetryAfter(absl::Seconds(1), absl::OkStatus())};
  Make();
  deliver_ = gated_->Wrap(Handler([&](const Delivery&) {
    Outcome outcome = outcomes.front();
    outcomes.erase(outcomes.begin());
    return outcome;
  }));
  for (std::size_t left = outcomes.size(); left > 0; --left) Deliver();
  EXPECT_THAT(results_, ElementsAre("failed UNAVAILABLE: down", "succeeded",
                                    "neither INVALID_ARGUMENT: no order", "neither",
                                    "failed the handler gave no reason"));
}

TEST_F(GatedRetrierTest, GivesBackWhatComesWhileTheGateIsClosed) {
  int calls = 0;
  Make();
  deliver_ = gated_->Wrap(Handler([&](const Delivery&) {
    ++calls;
    return Outcome::Ok();
  }));
  gated_->CloseGate();
  Deliver();
  Deliver();
  EXPECT_THAT(broker_.requeued, ElementsAre(1, 2));
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(events_.Count(EventKind::kDelivered), 0U);
  EXPECT_EQ(events_.Count(EventKind::kRequeued), 2U);
  EXPECT_EQ(gated_->open(), 0U);
  gated_->OpenGate();
  Deliver();
  EXPECT_EQ(calls, 1);
}

TEST_F(GatedRetrierTest, GivesBackWhatWaitsForTheRestOfItsDelayWhenThatIsOver) {
  Make();
  deliver_ = gated_->Wrap(Handler(testing::Fails));
  Deliver({.headers = testing::Copied(
               {{"x-retry-count", std::int64_t{1}}, {"x-retry-remaining", std::int64_t{10}}})});
  EXPECT_THAT(broker_.requeued, IsEmpty());
  gated_->CloseGate();
  time_.Advance(absl::Milliseconds(20));
  EXPECT_THAT(broker_.requeued, ElementsAre(1));
  EXPECT_EQ(events_.Count(EventKind::kFailed), 0U);
}

TEST_F(GatedRetrierTest, GivesBackWhatNoThreadHasBegun) {
  const auto threads = std::make_shared<LaterExecutor>();
  int calls = 0;
  Make();
  deliver_ = gated_->Wrap(Handler([&](const Delivery&) {
                            ++calls;
                            return Outcome::Ok();
                          }),
                          threads);
  for (int i = 0; i < 3; ++i) Deliver();
  threads->RunOne();  // and its outcome is on the way to the loop
  gated_->CloseGate();
  gated_->GiveBackUnbegun();
  EXPECT_THAT(broker_.requeued, ElementsAre(2, 3));
  while (threads->size() > 0) threads->RunOne();
  time_.RunReady();
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(broker_.acked, ElementsAre(1));
}

TEST_F(GatedRetrierTest, MayBeDestroyedWhileItGivesBack) {
  const auto threads = std::make_shared<LaterExecutor>();
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
  auto made = GatedRetrier::Create(shared_, {.queue = "orders"}).value();
  gated_ = made.get();
  retrier_ = std::move(made);
  broker_.Ready();
  deliver_ = gated_->Wrap(Handler(testing::Fails), threads);
  for (int i = 0; i < 3; ++i) Deliver();
  gated_->CloseGate();
  gated_->GiveBackUnbegun();
  EXPECT_EQ(retrier_, nullptr);
  EXPECT_THAT(broker_.requeued, ElementsAre(1));
  time_.RunReady();
}

TEST_F(GatedRetrierTest, HoldsWhatGoesBackByACopyUntilTheFlowHasEnded) {
  std::vector<Settlement> open;
  Make("4.0.5");
  deliver_ = gated_->Wrap(AsyncHandler(
      [&](const Delivery&, Settlement settlement) { open.push_back(std::move(settlement)); }));
  for (int i = 0; i < 3; ++i) Deliver();
  gated_->HoldReturns();
  for (const std::size_t i : {0U, 2U}) std::move(open[i]).Settle(Outcome::Requeue());
  std::move(open[1]).Settle(Outcome::Ok());
  time_.RunReady();
  EXPECT_THAT(broker_.publishes, IsEmpty());
  EXPECT_THAT(broker_.acked, ElementsAre(2));
  EXPECT_EQ(gated_->open(), 2U);
  EXPECT_EQ(gated_->handling(), 0U);
  gated_->LetReturnsGo();
  ASSERT_THAT(broker_.publishes, SizeIs(2));
  for (auto& copy : broker_.publishes) copy.Confirm();
  EXPECT_THAT(broker_.acked, ElementsAre(2, 1, 3));
  EXPECT_THAT(broker_.requeued, IsEmpty());
  EXPECT_EQ(events_.Count(EventKind::kRequeued), 2U);
}

TEST_F(GatedRetrierTest, HoldsWhatIsMovedToo) {
  Make("4.0.5");
  deliver_ = gated_->Wrap(Handler(testing::Fails));
  gated_->HoldReturns();
  Redeliver(15);
  EXPECT_THAT(broker_.publishes, IsEmpty());
  gated_->LetReturnsGo();
  ASSERT_THAT(broker_.publishes, SizeIs(1));
  LastPublish().Confirm();
  EXPECT_EQ(events_.Count(EventKind::kMoved), 1U);
}

TEST_F(GatedRetrierTest, HoldsNothingThatGoesBackByItself) {
  Make("4.3.6");
  deliver_ = gated_->Wrap(Handler([](const Delivery&) { return Outcome::Requeue(); }));
  gated_->HoldReturns();
  Deliver();
  EXPECT_THAT(broker_.requeued, ElementsAre(1));
}

TEST_F(GatedRetrierTest, ForgetsWhatItHoldsWithItsChannel) {
  Make("4.0.5");
  deliver_ = gated_->Wrap(Handler([](const Delivery&) { return Outcome::Requeue(); }));
  gated_->HoldReturns();
  Deliver();
  gated_->Abandon();
  EXPECT_EQ(gated_->open(), 0U);
  gated_->LetReturnsGo();
  EXPECT_THAT(broker_.publishes, IsEmpty());
  EXPECT_THAT(broker_.requeued, IsEmpty());
}

TEST_F(GatedRetrierTest, DoesNotTellOfCallsThatBeganBeforeTheGateWasClosed) {
  std::vector<Settlement> open;
  Make();
  deliver_ = gated_->Wrap(AsyncHandler(
      [&](const Delivery&, Settlement settlement) { open.push_back(std::move(settlement)); }));
  Deliver();
  gated_->CloseGate();
  gated_->OpenGate();
  Deliver();
  for (Settlement& settlement : open) std::move(settlement).Settle(Outcome::Ok());
  time_.RunReady();
  EXPECT_THAT(results_, ElementsAre("succeeded"));
  EXPECT_THAT(broker_.acked, ElementsAre(1, 2));
}

}  // namespace gated_retrier_test
}  // namespace retryq
