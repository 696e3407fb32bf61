#include "retry/delivery/counted_returns.h"
#include "retryq/amqp/table.h"
#include "support/make_message.h"
#include "support/read_facts.h"
#include "support/test.h"

namespace retryq::redeliveries_test {

using testing::ReadFactsOf;

amqp::MessagePtr Redelivered(const amqp::Table& headers) {
  return MakeMessage({.headers = headers, .redelivered = true});
}

Redeliveries ReadRedeliveries(const amqp::Message& message, CountRedeliveries which) {
  return ReadFactsOf(message, {.queue = "orders", .retry = {.count_redeliveries = which}})
      .redeliveries;
}

DeliveryFacts FactsOfRedelivered(const amqp::Table& headers) {
  return ReadFactsOf(*Redelivered(headers), {.queue = "orders"});
}

const amqp::Table kFour = {{"x-delivery-count", std::int64_t{4}}};

TEST(Redeliveries, UseTheCountOfAQuorumQueue) {
  const Redeliveries four = ReadRedeliveries(*Redelivered(kFour), CountRedeliveries::kWhereCounted);
  EXPECT_EQ(four.count, 4U);
  EXPECT_TRUE(four.broker_counts);
}

TEST(Redeliveries, AreZeroForAFirstDelivery) {
  const auto message = MakeMessage({.headers = kFour});
  EXPECT_EQ(ReadRedeliveries(*message, CountRedeliveries::kWhereCounted).count, 0U);
  EXPECT_EQ(ReadRedeliveries(*message, CountRedeliveries::kAlways).count, 0U);
}

TEST(Redeliveries, OfAClassicQueueCountAsOneIfTheyCount) {
  const auto message = Redelivered({});
  EXPECT_EQ(ReadRedeliveries(*message, CountRedeliveries::kWhereCounted).count, 0U);
  const Redeliveries one = ReadRedeliveries(*message, CountRedeliveries::kAlways);
  EXPECT_EQ(one.count, 1U);
  EXPECT_FALSE(one.broker_counts);
}

TEST(Redeliveries, NeverCountIfDisabled) {
  EXPECT_EQ(ReadRedeliveries(*Redelivered(kFour), CountRedeliveries::kNever).count, 0U);
}

TEST(Redeliveries, WithAnInvalidCountAreTreatedAsOfAClassicQueue) {
  for (const amqp::Value& nonsense : {amqp::Value("4"), amqp::Value(std::int64_t{-4}),
                                      amqp::Value(std::numeric_limits<std::uint64_t>::max())}) {
    const auto message = Redelivered({{"x-delivery-count", nonsense}});
    EXPECT_EQ(ReadRedeliveries(*message, CountRedeliveries::kWhereCounted).count, 0U);
    EXPECT_FALSE(ReadRedeliveries(*message, CountRedeliveries::kAlways).broker_counts);
  }
}

TEST(Redeliveries, ReportTheirNumber) {
  EXPECT_EQ(WhyUnsettled({.count = 1}),
            absl::AbortedError("the worker that had it died or lost its connection"));
  EXPECT_EQ(WhyUnsettled({.count = 3}),
            absl::AbortedError("the worker that had it died or lost its connection, 3 times"));
}

TEST(Redeliveries, AreZeroIfAQuorumQueueShowsThatTheMessageWasRequeued) {
  const auto message = Redelivered({{"x-acquired-count", std::int64_t{3}}});
  EXPECT_EQ(ReadRedeliveries(*message, CountRedeliveries::kWhereCounted).count, 0U);
  EXPECT_EQ(ReadRedeliveries(*message, CountRedeliveries::kAlways).count, 0U);
}

TEST(CountedReturns, IncludeQueuesThatMayBeQuorumBefore43) {
  CountedReturns returns(CountRedeliveries::kWhereCounted);
  EXPECT_TRUE(returns.WouldCount({3, 10, 8}));
  EXPECT_FALSE(returns.WouldCount({4, 3, 6}));
  EXPECT_FALSE(returns.WouldCount({}));
  returns.Learn(FactsOfRedelivered({}));  // as only a classic queue does
  EXPECT_FALSE(returns.WouldCount({3, 10, 8}));
  returns.Learn(FactsOfRedelivered(kFour));  // the queue has been declared again
  EXPECT_TRUE(returns.WouldCount({3, 10, 8}));
}

TEST(CountedReturns, IncludeAllRedeliveriesExceptThoseOf43IfAllCount) {
  CountedReturns returns(CountRedeliveries::kAlways);
  EXPECT_TRUE(returns.WouldCount({4, 3, 6}));
  returns.Learn(FactsOfRedelivered({}));
  EXPECT_TRUE(returns.WouldCount({4, 3, 6}));
  returns.Learn(FactsOfRedelivered({{"x-acquired-count", std::int64_t{1}}}));
  EXPECT_FALSE(returns.WouldCount({4, 3, 6}));
  EXPECT_FALSE(CountedReturns(CountRedeliveries::kNever).WouldCount({3, 10, 8}));
}

}  // namespace retryq::redeliveries_test
