// The simulation of an outage: --simulate, the events, and the result as text, JSON and image.

#include <nlohmann/json.hpp>

#include "cli/plan/plan_command.h"
#include "support/test.h"
#include "support/well_formed.h"

namespace retryq::cli::outage_test {

std::string Complaints(const std::string& simulate) {
  FlagReader reader;
  ReadSimulate(simulate, reader);
  return std::string(reader.status().message());
}

TEST(SimulateFlag, ReadsAllKeys) {
  FlagReader reader;
  const OutageOptions options =
      ReadSimulate("outage=10m,rate=90/m,capacity=7200/h,burst=7,speed=0.5/s", reader);
  EXPECT_TRUE(reader.status().ok()) << reader.status();
  EXPECT_EQ(options.outage, absl::Minutes(10));
  EXPECT_EQ(options.rate, 1.5);
  EXPECT_EQ(options.capacity, 2);
  EXPECT_EQ(options.burst, 7U);
  EXPECT_EQ(options.speed, 0.5);
  EXPECT_EQ(Complaints("outage=1m,burst=1"), "");
}

TEST(SimulateFlag, RefusesWrongKeysAndValues) {
  for (const auto& [simulate, complaint] : std::vector<std::pair<std::string, std::string>>{
           {"", "unknown key \"\""},
           {"otage=1m",
            "unknown key \"otage\"; write KEY=VALUE with commas "
            "between; keys: outage"},
           {"outage=1m,", "unknown key \"\""},
           {"outage", "--simulate outage '': write a duration"},
           {"outage=soon,rate=1/s", "--simulate outage 'soon': write a duration"},
           {"outage=1m,rate=2", "--simulate rate '2': write a rate up to 1000000/s, such as"},
           {"outage=1m,rate=nan/s", "--simulate rate 'nan/s'"},
           {"outage=1m,rate=-1/s", "--simulate rate '-1/s'"},
           {"outage=1m,rate=1e9/s", "--simulate rate '1e9/s'"},
           {"outage=1m,rate=1/s,capacity=0/s", "--simulate capacity '0/s': write a rate above 0"},
           {"outage=1m,rate=1/s,speed=5/d", "--simulate speed '5/d'"},
           {"outage=1m,burst=5000001", "--simulate burst '5000001': write a whole number"},
           {"outage=1m,rate=1/s,outage=2m", "outage: is given more than once"},
           {"rate=1/s", "add outage=10m"},
           {"outage=1m", "add rate=200/s or burst=10000"}}) {
    EXPECT_THAT(Complaints(simulate), HasSubstr(complaint));
  }
}

// Ten messages a second.
OutageOptions Outage(absl::Duration outage) { return {.outage = outage, .rate = 10}; }

// Messages that arrive together at the start of the outage, and no others.
OutageOptions Burst(std::uint64_t messages, absl::Duration outage) {
  return {.outage = outage, .burst = messages};
}

RetryOptions Fixed(absl::Duration delay) {
  return {.backoff = {.base = delay, .factor = 1.0}, .max_attempts = 0};
}

RetryOptions Doubling(double jitter = 0) {
  return {.backoff = {.base = absl::Seconds(1), .jitter = jitter}, .max_attempts = 0};
}

OutageReport Simulate(const OutageOptions& outage, const RetryOptions& retry,
                      const std::optional<BreakerOptions>& breaker = std::nullopt) {
  const auto report = SimulateOutage(outage, retry, breaker);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.value_or(OutageReport());
}

// Messages of the first half of the outage are tried 0, 30 and 60 s after their arrival, the others
// after 0 and 30 s: the last one, which arrives at 59.9 s, at 89.9 s.
TEST(OutageSimulation, RecoversWithinOneDelayWithUnlimitedCapacity) {
  const OutageReport report = Simulate(Outage(absl::Minutes(1)), Fixed(absl::Seconds(30)));
  EXPECT_EQ(report.recovery, absl::Milliseconds(29'900));
  EXPECT_EQ(report.waiting_at_outage_end, 600U);
  EXPECT_EQ(report.failures, 600U + 300U);
  EXPECT_EQ(report.calls, report.arrived + 900U);
  EXPECT_EQ(report.most_calls_until_end, 20U);
  EXPECT_EQ(report.most_calls_after, 30U);
  EXPECT_EQ(report.most_attempts, 3U);
  EXPECT_EQ(report.latency_p50, absl::Seconds(30));
  EXPECT_EQ(report.latency_max, absl::Minutes(1));
  EXPECT_EQ(report.parked, 0U);
  EXPECT_EQ(report.arrived, report.handled + report.waiting);
}

// 600 messages wait, and ten more come each second: at 100 a second they take
// seven seconds.
TEST(OutageSimulation, HandlesTheBacklogOfABreakerAtTheSpeedOfTheWorkers) {
  OutageOptions outage = Outage(absl::Minutes(1));
  const BreakerOptions breaker{.calls = 10, .ratio = 1, .pause = absl::Seconds(30), .probes = 1};
  outage.speed = 100;
  const OutageReport slow = Simulate(outage, Doubling(), breaker);
  EXPECT_EQ(slow.most_calls_after, 100U);
  EXPECT_GT(slow.recovery, absl::Seconds(7));
  EXPECT_LT(slow.recovery, absl::Seconds(8.5));
  outage.speed = 1000;
  EXPECT_LT(Simulate(outage, Doubling(), breaker).recovery, absl::Seconds(2));
}

TEST(OutageSimulation, CountsTheAgeFromTheFirstFailure) {
  RetryOptions retry = Fixed(absl::Seconds(1));
  retry.max_age = absl::Seconds(20);
  const BreakerOptions breaker{.calls = 5, .ratio = 1, .pause = absl::Minutes(1)};
  EXPECT_EQ(Simulate(Outage(absl::Seconds(59)), retry, breaker).parked, 0U);
}

TEST(OutageSimulation, CountsParkedMessagesInEachSample) {
  RetryOptions retry = Fixed(absl::Seconds(1));
  retry.max_attempts = 2;
  const OutageReport report = Simulate(Outage(absl::Seconds(20)), retry);
  EXPECT_EQ(report.samples.at(2).parked, 0U) << "the outage begins";
  EXPECT_EQ(report.samples.at(3).parked, 10U);
  EXPECT_EQ(report.samples.at(21).parked, 190U);
  EXPECT_EQ(report.samples.back().parked, report.parked);
}

// 100 of 1000 calls are accepted at once, and as many in each second that
// follows.
TEST(OutageSimulation, FailsCallsBeyondTheCapacity) {
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

TEST(OutageSimulation, DoesNotRecoverIfTheRateIsAboveTheCapacity) {
  OutageOptions outage = Outage(absl::Seconds(30));
  outage.capacity = 8;
  const OutageReport report = Simulate(outage, Fixed(absl::Seconds(10)));
  EXPECT_EQ(report.recovery, std::nullopt);
  EXPECT_EQ(report.end, absl::Seconds(3 + 30 + 300 + 20 + 60)) << "the limit of the wait";
  EXPECT_EQ(report.arrived, report.handled + report.waiting);
  EXPECT_THAT(OutageSummary(outage, {&report}),
              AllOf(HasSubstr("recovered after the outage        not within 6m20s\n"),
                    HasSubstr("\nremedy: a capacity above the rate\n")));
}

TEST(OutageSimulation, RefusesTooManyMessagesAndCalls) {
  const SimulationLimits limits = {.messages = 1000, .calls = 5000};
  const auto refusal = [&limits](const OutageOptions& outage, const RetryOptions& retry) {
    return std::string(SimulateOutage(outage, retry, std::nullopt, limits).status().message());
  };
  EXPECT_THAT(refusal(Outage(absl::Seconds(101)), Doubling()),
              AllOf(HasSubstr("1000 messages"), HasSubstr("lower rate")));
  EXPECT_THAT(refusal(Outage(absl::Seconds(80)), Fixed(absl::Minutes(1))),
              HasSubstr("1000 messages"))
      << "after the outage";
  EXPECT_THAT(refusal(Outage(absl::Seconds(50)), Fixed(absl::Milliseconds(1))),
              AllOf(HasSubstr("5000 calls"), HasSubstr("longer delays")));
}

TEST(OutageSimulation, LimitsTheNumberOfSamples) {
  OutageOptions outage = Outage(absl::Hours(24 * 30));
  outage.rate = 1.0 / 3600;
  const OutageReport days = Simulate(outage, Fixed(absl::Hours(5)));
  EXPECT_EQ(days.waiting_at_outage_end, 24U * 30U);
  EXPECT_LE(days.samples.size(), 8192U);
  EXPECT_EQ(days.samples.size(),
            static_cast<std::size_t>(absl::Ceil(days.end, days.interval) / days.interval));
}

TEST(OutageText, HasATableOverTimeWithBars) {
  OutageReport report{
      .end = absl::Seconds(30), .interval = absl::Seconds(1), .most_calls_until_end = 40};
  report.samples.resize(30);
  report.samples[1].most_calls = 10;
  report.samples[2] = {.most_calls = 40, .most_failures = 20, .waiting = 7, .parked = 3};
  report.samples[3].parked = 3;
  EXPECT_THAT(
      OutageText(Outage(absl::Seconds(2)), report),
      HasSubstr("    time  calls/s  failed/s   waiting    parked  #: failed calls, =: others\n"
                "      0s       10         0         0         0 *========\n"
                "      2s       40        20         7         3 "
                "*###############===============\n"
                "      4s        0         0         0         0  \n"));
}

TEST(OutageJson, HasAllFigures) {
  const OutageOptions outage = Outage(absl::Seconds(10));
  const OutageReport report = Simulate(outage, Doubling());
  const auto json = OutageJson(outage, report, BreakerOptions());
  EXPECT_EQ(json.at("outage_begin_ms"), 1000);
  EXPECT_EQ(json.at("outage_end_ms"), 11'000);
  EXPECT_EQ(json.at("capacity_per_second"), nullptr);
  EXPECT_EQ(json.at("arrived"), report.arrived);
  EXPECT_EQ(json.at("calls"), report.calls);
  EXPECT_EQ(json.at("recovery_ms"), absl::ToInt64Milliseconds(report.recovery.value()));
  EXPECT_EQ(json.at("latency_ms").at("max"), absl::ToInt64Milliseconds(report.latency_max));
  EXPECT_EQ(json.at("samples").size(), report.samples.size());
  EXPECT_EQ(json.at("samples").at(0).at("calls"), 10);
  EXPECT_EQ(json.at("breaker").at("pause_ms"), 30'000);
  EXPECT_FALSE(OutageJson(outage, report).contains("breaker"));
}

using testing::IsWellFormed;

TEST(TimeTicks, AreRound) {
  EXPECT_THAT(TimeTicks(absl::Seconds(100), 5), ElementsAre(absl::ZeroDuration(), absl::Seconds(30),
                                                            absl::Minutes(1), absl::Seconds(90)));
  EXPECT_THAT(TimeTicks(absl::Minutes(25), 4),
              ElementsAre(absl::ZeroDuration(), absl::Minutes(10), absl::Minutes(20)));
}

TEST(TimeTicks, AreNeverTooManyNorTooFew) {
  for (absl::Duration end = absl::Milliseconds(1); end < absl::Hours(24 * 36'500); end *= 1.09) {
    for (const int most : {4, 9}) {
      EXPECT_LE(TimeTicks(end, most).size(), static_cast<std::size_t>(most)) << end;
      EXPECT_GE(TimeTicks(end, most).size(), 2U) << end;
      EXPECT_LE(TimeTicks(end, most).back(), end);
    }
  }
}

std::string OutageImage(const OutageOptions& outage) {
  const auto report = SimulateOutage(outage, {});
  EXPECT_TRUE(report.ok()) << report.status();
  std::string image = OutageSvg(outage, *report);
  EXPECT_TRUE(IsWellFormed(image));
  return image;
}

TEST(OutageSvg, HasPanelsALegendAndTheOutage) {
  const std::string image = OutageImage({.outage = absl::Minutes(2), .rate = 10, .capacity = 30});
  for (const char* text :
       {"role=\"img\"", "<title id=\"title\">A simulated", "prefers-color-scheme: dark", ">Calls/s",
        ">Messages that wait<", ">Messages parked so far<", ">time since the start<",
        ">failed calls<", ">capacity<", ">outage<", ">2m</text>", ". recovered ", ">20</text>"}) {
    EXPECT_THAT(image, HasSubstr(text));
  }
  EXPECT_THAT(image, Not(HasSubstr("href")));
  EXPECT_THAT(OutageImage({.outage = absl::Minutes(2), .rate = 10}), Not(HasSubstr(">capacity<")));
}

TEST(OutageSvg, CanBeDrawnOfEveryOutage) {
  OutageImage({.outage = absl::ZeroDuration(), .rate = 1});
  OutageImage({.outage = absl::Milliseconds(1), .burst = 1});
  OutageImage({.outage = absl::Hours(24 * 30), .rate = 1e-4, .capacity = 1e-5});
}

}  // namespace retryq::cli::outage_test
