#include "cli/plot/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/outage/outage_output.h"
#include "cli/outage/outage_simulation.h"
#include "cli/plan/plan.h"
#include "cli/plan/schedule_svg.h"
#include "support/well_formed.h"

namespace retryq::cli {
namespace svg_test {

using ::testing::AllOf;
using testing::CountElements;
using ::testing::HasSubstr;
using testing::IsWellFormed;
using ::testing::Not;

TEST(Svg, IsOneImageWithATitleAndADescription) {
  Svg svg(200, 100, "a title", "what it shows");
  svg.AddText({1.25, 2}, Svg::Anchor::kEnd, "note", "hello");
  const std::string image = std::move(svg).Finish();
  EXPECT_TRUE(IsWellFormed(image));
  EXPECT_THAT(image, AllOf(HasSubstr("viewBox=\"0 0 200 100\""), HasSubstr("role=\"img\""),
                           HasSubstr("<title id=\"title\">a title</title>"),
                           HasSubstr("<desc id=\"description\">what it shows</desc>"),
                           HasSubstr("x=\"1.2\" y=\"2\" text-anchor=\"end\">hello</text>")));
}

TEST(Svg, EscapesWhatXmlWouldTakeForItsOwn) {
  Svg svg(1, 1, "<&>\"", "\x01");
  svg.AddText({0, 0}, Svg::Anchor::kStart, "text", "</svg>");
  const std::string image = std::move(svg).Finish();
  EXPECT_TRUE(IsWellFormed(image)) << image;
  EXPECT_THAT(image, AllOf(HasSubstr("&lt;&amp;&gt;&quot;"), HasSubstr("&lt;/svg&gt;")));
}

TEST(Svg, StepsHoldUntilTheNextOneAndSayNothingTwice) {
  Svg svg(100, 100, "", "");
  svg.AddStepLine({{0, 50}, {10, 50}, {20, 30}}, 40, "first");
  svg.AddArea({{0, 50}, {20, 30}}, 40, 90, "second");
  EXPECT_THAT(std::move(svg).Finish(),
              AllOf(HasSubstr("d=\"M0 50H20V30H40\""), HasSubstr("d=\"M0 50H20V30H40V90H0Z\"")));
}

TEST(Svg, OutsideOfItNothingIsNeeded) {
  const std::string image = Svg(1, 1, "", "").Finish();
  EXPECT_THAT(image,
              AllOf(Not(HasSubstr("href")), Not(HasSubstr("url(")), Not(HasSubstr("@import"))));
  EXPECT_THAT(image, HasSubstr("prefers-color-scheme: dark"));
}

TEST(ScheduleSvg, HasABarForEachDelayAndSaysItInWords) {
  const Plan plan = MakePlan({.backoff = {.base = absl::Seconds(1)}, .max_attempts = 5});
  const std::string image = ScheduleSvg(plan);
  EXPECT_TRUE(IsWellFormed(image));
  EXPECT_EQ(CountElements(image, "rect"), 1 + 4);
  EXPECT_THAT(image, AllOf(HasSubstr(">4 delays of a message that always fails, within 15s<"),
                           HasSubstr(">8s</text>"), Not(HasSubstr("as chance decides"))));
}

TEST(ScheduleSvg, ShowsWhatIsLeftToChance) {
  const Plan plan =
      MakePlan({.backoff = {.base = absl::Seconds(10), .jitter = 0.5}, .max_attempts = 3});
  const std::string image = ScheduleSvg(plan);
  EXPECT_TRUE(IsWellFormed(image));
  EXPECT_THAT(image, AllOf(HasSubstr("as chance decides"), HasSubstr(">5s..10s</text>"),
                           HasSubstr("area maybe")));
}

TEST(ScheduleSvg, CanBeDrawnOfEveryPlan) {
  EXPECT_THAT(ScheduleSvg(MakePlan({.max_attempts = 1})), HasSubstr("No retry"));
  EXPECT_TRUE(IsWellFormed(ScheduleSvg(MakePlan({.max_attempts = 1}))));
  const std::string endless = ScheduleSvg(MakePlan({.max_attempts = 0}));
  EXPECT_THAT(endless, HasSubstr("The first 11 delays"));
  const std::string many = ScheduleSvg(MakePlan({.max_attempts = 900}));
  EXPECT_THAT(many, HasSubstr("The first 50 delays"));
  EXPECT_EQ(CountElements(many, "rect"), 1 + 50);
  const std::string long_ones = ScheduleSvg(
      MakePlan({.backoff = {.base = absl::Hours(24 * 3000), .max = absl::Hours(24 * 3650)}}));
  EXPECT_TRUE(IsWellFormed(long_ones));
}

class OutageSvgTest : public ::testing::Test {
 protected:
  static std::string Image(const OutageOptions& outage, const RetryOptions& retry = {}) {
    const auto report = SimulateOutage(outage, retry, {});
    EXPECT_TRUE(report.ok()) << report.status();
    return OutageSvg(outage, *report);
  }
};

TEST_F(OutageSvgTest, HasAxesWithUnitsALegendAndTheOutage) {
  const std::string image = Image({.outage = absl::Minutes(2), .rate = 10, .capacity = 30});
  EXPECT_TRUE(IsWellFormed(image));
  for (const char* text : {"Calls/s", "Messages waiting", "Delay queues", "Messages parked so far",
                           "time since the beginning", "of these, failed", "the capacity",
                           "the outage", ">2m</text>"}) {
    EXPECT_THAT(image, HasSubstr(text));
  }
  EXPECT_THAT(image, HasSubstr("Recovered "));
}

TEST_F(OutageSvgTest, HasNoCapacityWhereThereIsNone) {
  EXPECT_THAT(Image({.outage = absl::Minutes(2), .rate = 10}), Not(HasSubstr("the capacity")));
}

TEST_F(OutageSvgTest, CanBeDrawnOfEveryOutage) {
  EXPECT_TRUE(IsWellFormed(Image({.outage = absl::ZeroDuration(), .rate = 1})));
  EXPECT_TRUE(IsWellFormed(Image({.outage = absl::Milliseconds(1), .burst = 1})));
  EXPECT_TRUE(
      IsWellFormed(Image({.outage = absl::Hours(24 * 30), .rate = 1e-4, .capacity = 1e-5})));
}

}  // namespace svg_test
}  // namespace retryq::cli
