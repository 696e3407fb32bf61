#include "cli/outage/outage_simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/outage/outage_output.h"
#include "retryq/backoff.h"

namespace retryq::cli {
namespace outage_simulation_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Ten messages a second, and an outage from the beginning.
OutageOptions Outage(absl::Duration outage) {
  return {.outage = outage, .start = absl::ZeroDuration(), .rate = 10};
}

// That many at once, in an outage from the beginning, and nothing else.
OutageOptions Burst(std::uint64_t messages, absl::Duration outage) {
  return {.outage = outage, .start = absl::ZeroDuration(), .burst = messages};
}

RetryOptions Fixed(absl::Duration delay) {
  return {.backoff = {.base = delay, .factor = 1.0}, .max_attempts = 0};
}

RetryOptions Doubling(double jitter = 0) {
  return {.backoff = {.base = absl::Seconds(1), .jitter = jitter}, .max_attempts = 0};
}

OutageReport Simulate(const OutageOptions& outage, const RetryOptions& retry) {
  const auto report = SimulateOutage(outage, retry, {});
  EXPECT_TRUE(report.ok()) << report.status();
  return report.value_or(OutageReport());
}

TEST(OutageSimulation, WithoutAnOutageNothingIsRetried) {
  const OutageReport report = Simulate(Outage(absl::ZeroDuration()), Doubling());
  EXPECT_EQ(report.arrived, 100U);  // in the ten seconds that it goes on
  EXPECT_EQ(report.handled, 100U);
  EXPECT_EQ(report.calls, 100U);
  EXPECT_EQ(report.most_calls_after, 10U);
  EXPECT_EQ(report.most_waiting, 0U);
  EXPECT_EQ(report.most_delay_queues, 0U);
  EXPECT_EQ(report.recovery, absl::ZeroDuration());
}

// What arrives in the first half of the outage is called at 0, 30 and 60 s of its life, the rest at
// 0 and 30 s: the last one, which arrives at 59.9 s, at 89.9 s.
TEST(OutageSimulation, WithAnyCapacityRecoversWithinOneDelay) {
  const OutageReport report = Simulate(Outage(absl::Minutes(1)), Fixed(absl::Seconds(30)));
  EXPECT_EQ(report.recovery, absl::Milliseconds(29'900));
  EXPECT_EQ(report.waiting_at_outage_end, 600U);
  EXPECT_EQ(report.failures, 600U + 300U);
  EXPECT_EQ(report.calls, report.arrived + 900U);
  EXPECT_EQ(report.most_calls_until_end, 20U);
  EXPECT_EQ(report.most_calls_after, 30U);
  EXPECT_EQ(report.most_attempts, 3U);
  EXPECT_EQ(report.latency_max, absl::Minutes(1));
  EXPECT_EQ(report.latency_p50, absl::Milliseconds(29'952)) << "30 s to less than one per cent";
  EXPECT_EQ(report.parked, 0U);
  EXPECT_EQ(report.arrived, report.handled + report.waiting);
}

OutageOptions WithBreaker(OutageOptions outage, const BreakerOptions& breaker = {}) {
  outage.breaker = breaker;
  return outage;
}

// Ten messages a second: the first ten fail, and the breaker is open from 0.9 s on. Pauses end at
// 30.9 s and 60.9 s, by when the outage is over.
TEST(OutageSimulation, ABreakerTriesOneMessageForEachPauseAndParksNone) {
  RetryOptions retry = Doubling();
  retry.max_attempts = 3;
  const BreakerOptions breaker{.calls = 10, .ratio = 1, .pause = absl::Seconds(30)};
  const OutageReport report = Simulate(WithBreaker(Outage(absl::Minutes(1)), breaker), retry);
  EXPECT_EQ(report.failures, 10U + 1U);
  EXPECT_EQ(report.parked, 0U);
  EXPECT_EQ(report.calls, report.handled + report.failures);
  EXPECT_EQ(report.most_attempts, 3U);  // of the one that is tried: it came back first
  EXPECT_EQ(report.waiting_at_outage_end, 600U);
  EXPECT_EQ(report.arrived, report.handled + report.waiting);
}

// 600 wait, and ten more come each second: at 100 a second they take seven seconds, and those that
// came last before that wait for none.
TEST(OutageSimulation, WhatABreakerKeptWaitingLeavesAtTheWorkersSpeed) {
  OutageOptions outage = WithBreaker(
      Outage(absl::Minutes(1)), {.calls = 10, .ratio = 1, .pause = absl::Seconds(30), .probes = 1});
  outage.speed = 100;
  const OutageReport slow = Simulate(outage, Doubling());
  EXPECT_EQ(slow.most_calls_after, 100U);
  ASSERT_TRUE(slow.recovery);
  EXPECT_GT(*slow.recovery, absl::Seconds(7));
  EXPECT_LT(*slow.recovery, absl::Seconds(8.5));
  outage.speed = 1000;
  EXPECT_LT(*Simulate(outage, Doubling()).recovery, absl::Seconds(2));
}

TEST(OutageSimulation, ABreakerThatNeverOpensChangesNothing) {
  OutageOptions outage = Outage(absl::ZeroDuration());
  outage.duration = absl::Minutes(10);
  outage.error_rate = 0.1;
  const OutageReport without = Simulate(outage, Fixed(absl::Seconds(10)));
  outage.speed = 1e6;
  const OutageReport with = Simulate(WithBreaker(outage), Fixed(absl::Seconds(10)));
  EXPECT_EQ(with.calls, without.calls);
  EXPECT_EQ(with.failures, without.failures);
  EXPECT_EQ(with.handled, without.handled);
}

TEST(OutageSimulation, CountsTheAgeFromTheFirstFailureAndNotFromTheWaitBeforeIt) {
  RetryOptions retry = Fixed(absl::Seconds(1));
  retry.max_age = absl::Seconds(20);
  const BreakerOptions breaker{.calls = 5, .ratio = 1, .pause = absl::Minutes(1)};
  const OutageReport report = Simulate(WithBreaker(Outage(absl::Seconds(59)), breaker), retry);
  EXPECT_EQ(report.parked, 0U);
}

TEST(OutageSimulation, IsAsJsonWithItsBreaker) {
  const OutageOptions outage = WithBreaker(Outage(absl::Seconds(10)));
  const auto json = OutageJson(outage, Simulate(outage, Doubling()));
  EXPECT_EQ(json.at("breaker").at("calls"), 20);
  EXPECT_EQ(json.at("breaker").at("pause_ms"), 30'000);
  EXPECT_FALSE(OutageJson(Outage(absl::Seconds(10)), {}).contains("breaker"));
}

// Attempts at 0, 1 and 3 s: all three fail for who arrives before 97 s of the 100.
TEST(OutageSimulation, ParksExactlyThoseWhoseScheduleTheOutageOutlasts) {
  RetryOptions retry = Doubling();
  retry.max_attempts = 3;
  EXPECT_EQ(Simulate(Outage(absl::Seconds(100)), retry).parked, 970U);
}

// Attempts at 0, 10 and 20 s; the one at 30 s would be too late.
TEST(OutageSimulation, ParksByAge) {
  RetryOptions retry = Fixed(absl::Seconds(10));
  retry.max_age = absl::Seconds(25);
  EXPECT_EQ(Simulate(Outage(absl::Seconds(100)), retry).parked, 800U);
}

TEST(OutageSimulation, CountsWhatIsParkedAlongTheWay) {
  RetryOptions retry = Fixed(absl::Seconds(1));
  retry.max_attempts = 2;
  const OutageReport report = Simulate(Outage(absl::Seconds(20)), retry);
  EXPECT_EQ(report.samples.at(0).parked, 0U);
  EXPECT_EQ(report.samples.at(1).parked, 10U);
  EXPECT_EQ(report.samples.at(19).parked, 190U);
  EXPECT_EQ(report.samples.back().parked, report.parked);
}

// A hundred of a thousand are taken at once, and so in each second that follows.
TEST(OutageSimulation, CallsBeyondTheCapacityFail) {
  OutageOptions outage = Burst(1000, absl::ZeroDuration());
  outage.capacity = 100;
  const OutageReport report = Simulate(outage, Fixed(absl::Seconds(1)));
  EXPECT_EQ(report.calls, 5500U);
  EXPECT_EQ(report.handled, 1000U);
  EXPECT_EQ(report.recovery, absl::Seconds(9));
  EXPECT_EQ(report.samples.at(0).most_calls, 1000U);
  EXPECT_EQ(report.samples.at(0).most_failures, 900U);
  EXPECT_EQ(report.samples.at(3).calls, 700U);
  EXPECT_EQ(report.samples.at(3).failures, 600U);
}

TEST(OutageSimulation, WhatTheCapacityTakesFailsByTheErrorRate) {
  OutageOptions outage = Outage(absl::ZeroDuration());
  outage.rate = 1000;
  outage.error_rate = 0.5;
  outage.duration = absl::Seconds(100);
  const OutageReport report = Simulate(outage, Fixed(absl::Milliseconds(1)));
  EXPECT_NEAR(static_cast<double>(report.calls) / static_cast<double>(report.arrived), 2.0, 0.02);
  EXPECT_EQ(report.recovery, absl::ZeroDuration()) << "no outage has made these fail";
}

TEST(OutageSimulation, OneSeedIsOneHistory) {
  OutageOptions outage = Outage(absl::Minutes(1));
  outage.poisson = true;
  outage.error_rate = 0.1;
  const auto history = [&outage](std::uint64_t seed) {
    outage.seed = seed;
    nlohmann::json json = OutageJson(outage, Simulate(outage, Doubling(1.0)));
    json.erase("seed");
    return json.dump();
  };
  EXPECT_EQ(history(7), history(7));
  EXPECT_NE(history(7), history(8));
}

TEST(OutageSimulation, PoissonArrivalsComeAtTheRateOnAverage) {
  OutageOptions outage = Outage(absl::ZeroDuration());
  outage.poisson = true;
  outage.rate = 100;
  outage.duration = absl::Seconds(1000);
  const OutageReport report = Simulate(outage, Doubling());
  EXPECT_NEAR(static_cast<double>(report.arrived), 100'000.0, 1500.0);
  EXPECT_GT(report.most_calls_after, 115U) << "not evenly";
}

// All fail at once, so without chance all come back at once.
TEST(OutageSimulation, FullJitterTakesTheWavesOutOfABurst) {
  const OutageOptions outage = Burst(10'000, absl::Seconds(20));
  const OutageReport none = Simulate(outage, Doubling());
  const OutageReport full = Simulate(outage, Doubling(1.0));
  EXPECT_EQ(none.most_calls_after, 10'000U);
  EXPECT_EQ(none.recovery, absl::Seconds(11)) << "1 + 2 + 4 + 8 + 16 s after the beginning";
  EXPECT_LT(full.most_calls_after, none.most_calls_after / 5);
  EXPECT_EQ(full.handled, 10'000U);
}

// retry.1000 goes 121 s after its last use, which is at 9.9 s.
TEST(OutageSimulation, CountsDelayQueuesByTheirLease) {
  OutageOptions outage = Outage(absl::Seconds(10));
  outage.duration = absl::Seconds(200);
  const OutageReport report = Simulate(outage, Fixed(absl::Seconds(1)));
  EXPECT_EQ(report.most_delay_queues, 1U);
  EXPECT_EQ(report.samples.at(0).delay_queues, 1U);
  EXPECT_EQ(report.samples.at(129).delay_queues, 1U);
  EXPECT_EQ(report.samples.at(130).delay_queues, 0U);
}

TEST(OutageSimulation, SaysThatWhereTheRateIsAboveTheCapacityThereIsNoRecovery) {
  OutageOptions outage = Outage(absl::Seconds(30));
  outage.capacity = 8;
  const OutageReport report = Simulate(outage, Fixed(absl::Seconds(10)));
  EXPECT_EQ(report.recovery, std::nullopt);
  EXPECT_EQ(report.end, absl::Seconds(30 + 300 + 20 + 60)) << "it waits no longer than it says";
  EXPECT_GT(report.waiting, 0U);
  EXPECT_EQ(report.arrived, report.handled + report.waiting);
}

TEST(OutageSimulation, BeginsAfterATenthOfTheOutageUnlessItIsTold) {
  OutageOptions outage = Outage(absl::Seconds(95));
  EXPECT_EQ(Simulate(outage, Doubling()).outage_begin, absl::ZeroDuration());
  outage.start = std::nullopt;
  EXPECT_EQ(Simulate(outage, Doubling()).outage_begin, absl::Seconds(10));
}

TEST(OutageSimulation, GoesOnForAsLongAsItIsTold) {
  OutageOptions outage = Outage(absl::Seconds(10));
  outage.duration = absl::Seconds(1000);
  const OutageReport report = Simulate(outage, Doubling());
  EXPECT_EQ(report.arrived, 10'000U);
  EXPECT_EQ(report.interval, absl::Seconds(2));
  EXPECT_EQ(report.samples.size(), 500U);
}

TEST(OutageSimulation, LivesThroughDaysOfFewMessages) {
  OutageOptions outage = Outage(absl::Hours(24));
  outage.rate = 1.0 / 3600;
  const OutageReport report = Simulate(outage, Fixed(absl::Hours(5)));
  EXPECT_EQ(report.waiting_at_outage_end, 24U);
  EXPECT_LE(report.samples.size(), 512U);
  EXPECT_LE(*report.recovery, absl::Hours(5));
}

TEST(OutageSimulation, TakesARateAtWhichNothingComesAgain) {
  for (const bool poisson : {false, true}) {
    OutageOptions outage = Outage(absl::Minutes(1));
    outage.rate = 1e-300;
    outage.poisson = poisson;
    const OutageReport report = Simulate(outage, Fixed(absl::Seconds(7)));
    EXPECT_EQ(report.arrived, poisson ? 0U : 1U);
    EXPECT_EQ(report.handled, report.arrived);
  }
}

TEST(OutageSimulation, RefusesWhatIsTooLargeAndSaysTheRemedy) {
  const SimulationLimits limits = {.messages = 1000, .calls = 5000};
  const auto refusal = [&limits](const OutageOptions& outage, const RetryOptions& retry) {
    return std::string(SimulateOutage(outage, retry, {}, nullptr, limits).status().message());
  };
  OutageOptions too_many = Outage(absl::Seconds(101));
  EXPECT_THAT(refusal(too_many, Doubling()),
              AllOf(HasSubstr("1000 messages"), HasSubstr("lower rate")));
  too_many.outage = absl::Seconds(99);  // it goes on after that
  EXPECT_THAT(refusal(too_many, Fixed(absl::Minutes(1))), HasSubstr("1000 messages"));
  EXPECT_THAT(refusal(Outage(absl::Seconds(50)), Fixed(absl::Milliseconds(1))),
              AllOf(HasSubstr("5000 calls"), HasSubstr("longer delays")));
}

TEST(OutageSimulation, SaysHowFarItHasCome) {
  std::vector<std::uint64_t> said;
  const auto progress = [&said](absl::Duration, std::uint64_t calls) { said.push_back(calls); };
  OutageOptions outage = Outage(absl::ZeroDuration());
  outage.rate = 1'000'000;
  outage.duration = absl::Milliseconds(2500);
  ASSERT_TRUE(SimulateOutage(outage, Doubling(), {}, progress).ok());
  EXPECT_THAT(said, ::testing::ElementsAre(0, 1'000'000, 2'000'000));
}

}  // namespace outage_simulation_test
}  // namespace retryq::cli
