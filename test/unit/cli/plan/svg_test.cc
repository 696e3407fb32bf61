// The images of `retryq plan`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

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

TEST(ScheduleSvg, HasABarForEachDelay) {
  const std::string image =
      ScheduleSvg(MakeSchedule({.backoff = {.base = absl::Seconds(1)}, .max_attempts = 5}));
  EXPECT_TRUE(IsWellFormed(image));
  EXPECT_EQ(CountElements(image, "rect"), 1 + 4);
  EXPECT_THAT(image, AllOf(HasSubstr(">4 delays of a message that always fails, within 15s<"),
                           HasSubstr(">8s</text>"), Not(HasSubstr("random part")),
                           Not(HasSubstr("href")), HasSubstr("prefers-color-scheme: dark"),
                           HasSubstr("role=\"img\""), HasSubstr("<title id=\"title\">The delays")));
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
        ">failed calls<", ">capacity<", ">outage<", ">2m</text>", ". recovered ", ">20</text>"}) {
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
