#include "base/iso_time.h"

#include "support/test.h"

namespace retryq::iso_time_test {

const absl::Time kTime = absl::FromUnixMillis(1769850307250);

TEST(IsoTime, IsInUtc) {
  EXPECT_EQ(IsoTime(kTime), "2026-01-31T09:05:07.250Z");
  EXPECT_EQ(IsoSeconds(kTime), "2026-01-31T09:05:07Z");
}

TEST(IsoTime, IsParsedWithAnyOffset) {
  EXPECT_EQ(ParseIsoTime(IsoTime(kTime)), kTime);
  EXPECT_EQ(ParseIsoTime("2026-01-31T10:05:07.250+01:00"), kTime);
  EXPECT_EQ(ParseIsoTime("2026-01-31T09:05:07Z"), absl::FromUnixSeconds(1769850307));
}

TEST(IsoTime, IsAPointInTime) {
  for (const char* text : {"", "yesterday", "2026-01-31", "infinite-future"}) {
    EXPECT_EQ(ParseIsoTime(text), std::nullopt) << text;
  }
}

}  // namespace retryq::iso_time_test
