// The image of a simulated outage.

#include "cli/plan/plan_command.h"
#include "support/test.h"
#include "support/well_formed.h"

namespace retryq::cli::svg_test {

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

}  // namespace retryq::cli::svg_test
