// How long a failed message waits, as its consumer sees it.

#include <gmock/gmock.h>

#include "support/retry_test.h"

namespace retryq::testing {
namespace retry_delays_test {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Lt;

// Never early, the broker's millisecond aside; late by what a busy machine takes.
auto About(absl::Duration delay) {
  return AllOf(Ge(delay - absl::Milliseconds(1)), Lt(delay + absl::Seconds(10)));
}

class RetryDelays : public RetryTest {
 protected:
  void SetUp() override { peer_.DeclareQueue("orders"); }
};

TEST_F(RetryDelays, GrowByFactorFromBaseUpToMax) {
  Client client(loop_, Options());
  const auto consumer = client.Consume({.queue = "orders",
                                        .retry = {.backoff = {.base = absl::Milliseconds(250),
                                                              .factor = 2,
                                                              .max = absl::Seconds(1)}}},
                                       calls_.FailTimes(4));
  ASSERT_TRUE(consumer.ok()) << consumer.status();

  peer_.Publish("", "orders", "one");
  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 5; }));

  EXPECT_THAT(calls_.Gaps(),
              ElementsAre(About(absl::Milliseconds(250)), About(absl::Milliseconds(500)),
                          About(absl::Seconds(1)), About(absl::Seconds(1))));
  EXPECT_THAT(vhost_.QueuesBeginning("retry."),
              ElementsAre("retry.1000", "retry.250", "retry.500"));
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == 1; }));
  EXPECT_EQ(peer_.Count("orders"), 0U);
}

TEST_F(RetryDelays, AreExactForAFactorThatIsNoWholeNumber) {
  Client client(loop_, Options());
  const auto consumer = client.Consume(
      {.queue = "orders", .retry = {.backoff = {.base = absl::Milliseconds(100), .factor = 1.5}}},
      calls_.FailTimes(3));
  ASSERT_TRUE(consumer.ok()) << consumer.status();

  peer_.Publish("", "orders", "one");
  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 4; }));

  EXPECT_THAT(vhost_.QueuesBeginning("retry."), ElementsAre("retry.100", "retry.150", "retry.225"));
}

TEST_F(RetryDelays, FollowTheHandlerWhereItSaysRetryAfter) {
  Client client(loop_, Options());
  const auto consumer = client.Consume({.queue = "orders", .retry = Every(absl::Milliseconds(100))},
                                       [&](const Delivery& delivery) -> Outcome {
                                         calls_.Note(delivery);
                                         if (delivery.attempt() > 0) return Outcome::Ok();
                                         return Outcome::RetryAfter(absl::Milliseconds(700),
                                                                    absl::UnavailableError("429"));
                                       });
  ASSERT_TRUE(consumer.ok()) << consumer.status();

  peer_.Publish("", "orders", "one");
  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 2; }));

  EXPECT_THAT(calls_.Gaps(), ElementsAre(About(absl::Milliseconds(700))));
}

TEST_F(RetryDelays, AreThoseOfEachMessageAndNotOfTheOnesAheadOfIt) {
  Client client(loop_, Options());
  const auto consumer = client.Consume({.queue = "orders", .retry = Every(absl::Milliseconds(300))},
                                       [&](const Delivery& delivery) -> Outcome {
                                         calls_.Note(delivery);
                                         if (delivery.attempt() > 0) return Outcome::Ok();
                                         if (delivery.body() == "quick")
                                           return absl::UnavailableError("soon");
                                         return Outcome::RetryAfter(
                                             absl::Seconds(3), absl::UnavailableError("later"));
                                       });
  ASSERT_TRUE(consumer.ok()) << consumer.status();

  peer_.Publish("", "orders", "slow");
  peer_.Publish("", "orders", "quick");
  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 4; }));

  EXPECT_EQ(calls_[2].body(), "quick");
  EXPECT_EQ(calls_[3].body(), "slow");
}

TEST_F(RetryDelays, AreSaidToTheHandlerWithWhatHappenedBefore) {
  Client client(loop_, Options());
  const auto consumer = client.Consume({.queue = "orders", .retry = Every(absl::Milliseconds(50))},
                                       calls_.FailTimes(2));
  ASSERT_TRUE(consumer.ok()) << consumer.status();

  const absl::Time before = absl::Now();
  peer_.Publish("", "orders", "one");
  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 3; }));

  EXPECT_EQ(calls_[0].attempt(), 0U);
  EXPECT_EQ(calls_[0].id(), "");
  EXPECT_EQ(calls_[2].attempt(), 2U);
  EXPECT_EQ(calls_[2].last_error(), "UNAVAILABLE: not yet");
  EXPECT_EQ(calls_[2].history().delay, absl::Milliseconds(50));
  EXPECT_EQ(calls_[2].id().size(), 32U);
  EXPECT_EQ(calls_[2].id(), calls_[1].id());
  EXPECT_EQ(calls_[2].first_failure(), calls_[1].first_failure());
  EXPECT_THAT(calls_[2].first_failure().value_or(absl::InfinitePast()),
              AllOf(Ge(before - absl::Milliseconds(1)), Lt(absl::Now())));
}

}  // namespace retry_delays_test
}  // namespace retryq::testing
