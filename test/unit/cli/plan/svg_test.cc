// The images of `retryq plan`, and what they are drawn with.

#include "cli/plan/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "cli/plan/plan_command.h"
#include "support/well_formed.h"

namespace retryq::cli {
namespace svg_test {

using ::testing::AllOf;
using testing::CountElements;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsWellFormed;
using ::testing::Not;

TEST(Svg, IsOneImageWithATitleAndADescription) {
  Svg svg(200, 100, "<&>\"", "contents");
  svg.AddText({1.25, 2}, Svg::Anchor::kEnd, "note", "</svg>");
  svg.AddSteps({{0, 50}, {10, 50}, {20, 30}}, 40, 90, "first");
  const std::string image = std::move(svg).Finish();
  EXPECT_TRUE(IsWellFormed(image));
  EXPECT_THAT(image,
              AllOf(HasSubstr("viewBox=\"0 0 200 100\""), HasSubstr("role=\"img\""),
                    HasSubstr("<title id=\"title\">&lt;&amp;&gt;&quot;</title>"),
                    HasSubstr("<desc id=\"description\">contents</desc>"),
                    HasSubstr("x=\"1.2\" y=\"2\" text-anchor=\"end\">&lt;/svg&gt;</text>"),
                    HasSubstr("d=\"M0 50H20V30H40V90H0Z\""), HasSubstr("d=\"M0 50H20V30H40\""),
                    Not(HasSubstr("href")), HasSubstr("prefers-color-scheme: dark")));
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

TEST(Ticks, AreRound) {
  EXPECT_THAT(NumberTicks(2100, 7), ElementsAre(0, 500, 1000, 1500, 2000));
  EXPECT_THAT(NumberTicks(1.05, 4), ElementsAre(0, 0.5, 1));
  EXPECT_THAT(TimeTicks(absl::Seconds(100), 5), ElementsAre(absl::ZeroDuration(), absl::Seconds(30),
                                                            absl::Minutes(1), absl::Seconds(90)));
  EXPECT_THAT(TimeTicks(absl::Minutes(25), 4),
              ElementsAre(absl::ZeroDuration(), absl::Minutes(10), absl::Minutes(20)));
}

TEST(Ticks, AreNeverTooManyNorTooFew) {
  for (absl::Duration end = absl::Milliseconds(1); end < absl::Hours(24 * 36'500); end *= 1.09) {
    for (const int most : {4, 9}) {
      EXPECT_LE(TimeTicks(end, most).size(), static_cast<std::size_t>(most)) << end;
      EXPECT_GE(TimeTicks(end, most).size(), 2U) << end;
      EXPECT_LE(TimeTicks(end, most).back(), end);
      const double number = absl::ToDoubleSeconds(end);
      EXPECT_LE(NumberTicks(number, most).size(), static_cast<std::size_t>(most)) << number;
      EXPECT_GE(NumberTicks(number, most).size(), 2U) << number;
    }
  }
}

TEST(ScheduleSvg, HasABarForEachDelay) {
  const std::string image =
      ScheduleSvg(MakeSchedule({.backoff = {.base = absl::Seconds(1)}, .max_attempts = 5}));
  EXPECT_TRUE(IsWellFormed(image));
  EXPECT_EQ(CountElements(image, "rect"), 1 + 4);
  EXPECT_THAT(image, AllOf(HasSubstr(">4 delays of a message that always fails, within 15s<"),
                           HasSubstr(">8s</text>"), Not(HasSubstr("random part"))));
  EXPECT_THAT(
      ScheduleSvg(
          MakeSchedule({.backoff = {.base = absl::Seconds(10), .jitter = 0.5}, .max_attempts = 3})),
      AllOf(HasSubstr("random part"), HasSubstr(">5s..10s</text>"), HasSubstr("area maybe")));
}

TEST(ScheduleSvg, CanBeDrawnOfEverySchedule) {
  const std::string none = ScheduleSvg(MakeSchedule({.max_attempts = 1}));
  EXPECT_TRUE(IsWellFormed(none));
  EXPECT_THAT(none, HasSubstr("No retry"));
  EXPECT_THAT(ScheduleSvg(MakeSchedule({.max_attempts = 0})), HasSubstr("The first 11 delays"));
  const std::string many = ScheduleSvg(MakeSchedule({.max_attempts = 900}));
  EXPECT_THAT(many, HasSubstr("The first 50 delays"));
  EXPECT_EQ(CountElements(many, "rect"), 1 + 50);
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
       {">Calls/s", ">Messages that wait<", ">Messages parked so far<", ">time since the start<",
        ">failed calls<", ">capacity<", ">outage<", ">2m</text>", ". recovered "}) {
    EXPECT_THAT(image, HasSubstr(text));
  }
  EXPECT_THAT(OutageImage({.outage = absl::Minutes(2), .rate = 10}), Not(HasSubstr(">capacity<")));
}

TEST(OutageSvg, CanBeDrawnOfEveryOutage) {
  OutageImage({.outage = absl::ZeroDuration(), .rate = 1});
  OutageImage({.outage = absl::Milliseconds(1), .burst = 1});
  OutageImage({.outage = absl::Hours(24 * 30), .rate = 1e-4, .capacity = 1e-5});
}

}  // namespace svg_test
}  // namespace retryq::cli
