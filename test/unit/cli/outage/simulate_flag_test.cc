#include "cli/outage/simulate_flag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace retryq::cli {
namespace simulate_flag_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

OutageOptions Read(const std::string& text) {
  FlagReader reader;
  OutageOptions options = ReadSimulate(text, reader);
  EXPECT_TRUE(reader.status().ok()) << reader.status();
  return options;
}

std::string Complaints(const std::string& text) {
  FlagReader reader;
  ReadSimulate(text, reader);
  return std::string(reader.status().message());
}

TEST(SimulateFlag, ReadsAllKeys) {
  const OutageOptions options = Read(
      "outage=10m,rate=200/s,capacity=500/s,start=5s,duration=1h,error_rate=0.25,burst=7,"
      "arrivals=poisson,seed=42,speed=300/s");
  EXPECT_EQ(options.outage, absl::Minutes(10));
  EXPECT_EQ(options.rate, 200);
  EXPECT_EQ(options.capacity, 500);
  EXPECT_EQ(options.start, absl::Seconds(5));
  EXPECT_EQ(options.duration, absl::Hours(1));
  EXPECT_EQ(options.error_rate, 0.25);
  EXPECT_EQ(options.burst, 7U);
  EXPECT_TRUE(options.poisson);
  EXPECT_EQ(options.seed, 42U);
  EXPECT_EQ(options.speed, 300);
}

TEST(SimulateFlag, RatesAreASecondAMinuteOrAnHour) {
  EXPECT_EQ(Read("outage=1m,rate=90/m").rate, 1.5);
  EXPECT_EQ(Read("outage=1m,rate=7200/h").rate, 2);
  EXPECT_EQ(Read("outage=1m,rate=0.5/s").rate, 0.5);
}

TEST(SimulateFlag, WhatIsNotSaidHasItsDefault) {
  const OutageOptions options = Read("outage=1m,rate=1/s");
  EXPECT_TRUE(std::isinf(options.capacity));
  EXPECT_EQ(options.start, std::nullopt);
  EXPECT_EQ(options.duration, std::nullopt);
  EXPECT_FALSE(options.poisson);
}

TEST(SimulateFlag, NamesEveryWrongKeyAndWhatItTakes) {
  EXPECT_THAT(
      Complaints("otage=1m,rate=2,capacity=0/s,seed=-1,error_rate=1,arrivals=odd"),
      AllOf(HasSubstr("'otage=1m': there is no key 'otage'; there are outage, rate, "),
            HasSubstr("'rate=2': write so many a second"), HasSubstr("'capacity=0/s': write"),
            HasSubstr("'seed=-1': write a whole"), HasSubstr("'error_rate=1': write the part"),
            HasSubstr("'arrivals=odd': write even or poisson")));
}

TEST(SimulateFlag, RefusesWhatIsNoKeyWithAValue) {
  for (const char* text : {"", "outage", "outage=1m,", ",outage=1m", "=1m"}) {
    EXPECT_THAT(Complaints(text), HasSubstr("--simulate")) << text;
  }
}

TEST(SimulateFlag, RefusesNumbersThatAreNoRates) {
  for (const char* rate : {"/s", "nan/s", "-1/s", "inf/s", "1e9/s", "5/d", "5s"}) {
    EXPECT_THAT(Complaints("outage=1m,rate=" + std::string(rate)), HasSubstr("such as 200/s"))
        << rate;
  }
}

TEST(SimulateFlag, RefusesDurationsThatAreNone) {
  for (const char* outage : {"", "10", "-1m", "366d", "soon"}) {
    EXPECT_THAT(Complaints("rate=1/s,outage=" + std::string(outage)), HasSubstr("at most 365d"))
        << outage;
  }
}

TEST(SimulateFlag, RefusesAKeyThatIsGivenTwice) {
  EXPECT_THAT(Complaints("outage=1m,rate=1/s,outage=2m"), HasSubstr("more than once"));
}

TEST(SimulateFlag, WantsAnOutageAndSomethingThatArrives) {
  EXPECT_THAT(Complaints("rate=1/s"), HasSubstr("add outage=10m"));
  EXPECT_THAT(Complaints("outage=1m"), HasSubstr("add rate=200/s or burst=10000"));
  EXPECT_EQ(Complaints("outage=1m,burst=1"), "");
}

TEST(SimulateFlag, RefusesAnEndBeforeThatOfTheOutage) {
  EXPECT_THAT(Complaints("outage=1m,rate=1/s,start=30s,duration=80s"),
              HasSubstr("take at least 1m30s"));
}

}  // namespace simulate_flag_test
}  // namespace retryq::cli
