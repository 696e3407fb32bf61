#include "cli/text/duration.h"

#include "support/test.h"

namespace retryq::cli::duration_test {

TEST(ParseDuration, ReadsEachUnit) {
  EXPECT_EQ(ParseDuration("500ms"), absl::Milliseconds(500));
  EXPECT_EQ(ParseDuration("1s"), absl::Seconds(1));
  EXPECT_EQ(ParseDuration("10m"), absl::Minutes(10));
  EXPECT_EQ(ParseDuration("2h"), absl::Hours(2));
  EXPECT_EQ(ParseDuration("1d"), absl::Hours(24));
}

TEST(ParseDuration, AddsSeveralParts) {
  EXPECT_EQ(ParseDuration("1m30s"), absl::Seconds(90));
  EXPECT_EQ(ParseDuration("1d2h3m4s5ms"),
            absl::Hours(26) + absl::Minutes(3) + absl::Seconds(4) + absl::Milliseconds(5));
}

TEST(ParseDuration, AcceptsFractions) {
  EXPECT_EQ(ParseDuration("1.5h"), absl::Minutes(90));
  EXPECT_EQ(ParseDuration("1.001s"), absl::Milliseconds(1001));
  EXPECT_EQ(ParseDuration("0.3s"), absl::Milliseconds(300));
}

TEST(ParseDuration, RefusesOtherTexts) {
  for (const char* text :
       {"",   "5",   "s",   "ms",    "-1s",  "+1s", "1 s",  " 1s", "1s ",  "1w", "1sm",
        "1S", "1.s", ".5s", "1..5s", "1e3s", "inf", "infs", "nan", "0x1s", "1s2"}) {
    EXPECT_EQ(ParseDuration(text), std::nullopt) << "'" << text << "'";
  }
}

TEST(ParseDuration, RefusesMoreThanAHundredYears) {
  EXPECT_EQ(ParseDuration("36500d"), absl::Hours(24) * 36500);
  EXPECT_EQ(ParseDuration("36500d1s"), std::nullopt);
  EXPECT_EQ(ParseDuration(std::string(400, '9') + "d"), std::nullopt);
}

TEST(DurationText, WritesTheLargestUnitsFirst) {
  EXPECT_EQ(DurationText(absl::Seconds(90)), "1m30s");
  EXPECT_EQ(DurationText(absl::Milliseconds(1500)), "1s500ms");
  EXPECT_EQ(DurationText(absl::Hours(25)), "1d1h");
  EXPECT_EQ(DurationText(absl::ZeroDuration()), "0s");
}

TEST(ParseDelayLine, ReadsOnlyTheLineWithThatName) {
  EXPECT_EQ(ParseDelayLine("retry-after", "retry-after: 30s"), absl::Seconds(30));
  EXPECT_EQ(ParseDelayLine("retry-after", "Retry-After:1m30s"), absl::Seconds(90));
  EXPECT_EQ(ParseDelayLine("retry-after", "  RETRY-AFTER:  500ms  "), absl::Milliseconds(500));
  EXPECT_EQ(ParseDelayLine("retry-after", "retry-after"), std::nullopt);
  EXPECT_EQ(ParseDelayLine("retry-after", "retry-after: soon"), std::nullopt);
  EXPECT_EQ(ParseDelayLine("retry-after", "please retry-after: 30s"), std::nullopt);
  EXPECT_EQ(ParseDelayLine("retry-after", "retry-after-all: 30s"), std::nullopt);
  EXPECT_EQ(ParseDelayLine("retry-after", "snooze: 30s"), std::nullopt);
  EXPECT_EQ(ParseDelayLine("snooze", "Snooze: 30s"), absl::Seconds(30));
  EXPECT_EQ(ParseDelayLine("retry-after", ""), std::nullopt);
}

TEST(ParseDelayLine, ReadsANumberAsSeconds) {
  EXPECT_EQ(ParseDelayLine("retry-after", "Retry-After: 120"), absl::Seconds(120));
  EXPECT_EQ(ParseDelayLine("retry-after", "Retry-After: 0"), absl::ZeroDuration());
}

TEST(NumberText, HasAtMostSixCharacters) {
  for (const auto& [number, text] : {std::pair(0.0, "0"),
                                     {0.25, "0.25"},
                                     {42, "42"},
                                     {2000, "2000"},
                                     {9999.7, "10k"},
                                     {12'345, "12.3k"},
                                     {999'949, "999.9k"},
                                     {999'999, "1M"},
                                     {1'250'000, "1.2M"},
                                     {2e9, "2G"}}) {
    EXPECT_EQ(NumberText(number), text);
  }
}

}  // namespace retryq::cli::duration_test
