#include "base/broker_version.h"

#include "support/test.h"

namespace retryq::broker_version_test {

BrokerVersion Version(std::string_view text) { return BrokerVersion::Parse(text); }

TEST(BrokerVersion, ComparesNumbersAndNotText) {
  EXPECT_EQ(Version("3.10.8"), (BrokerVersion{3, 10, 8}));
  EXPECT_EQ(Version("4.3.0-rc.1"), (BrokerVersion{4, 3, 0}));
  EXPECT_EQ(Version("4"), (BrokerVersion{4, 0, 0}));
  EXPECT_LT(Version("3.9.30"), Version("3.10.8"));
  EXPECT_LT(Version("3.13.7"), Version("4.0.1"));
}

TEST(BrokerVersion, IsOlderThanEveryOtherIfUnknown) {
  for (const char* text : {"", "unknown", "v4.3.3", "-4", "99999999999.1"}) {
    EXPECT_FALSE(Version(text).is_known()) << text;
    EXPECT_LT(Version(text), Version("2.0.0")) << text;
    EXPECT_FALSE(Version(text).HasDefaultDeliveryLimit()) << text;
    EXPECT_FALSE(Version(text).CountsFailuresOnly()) << text;
    EXPECT_FALSE(Version(text).DeadLetteringMayStop()) << text;
  }
}

TEST(BrokerVersion, HasADefaultDeliveryLimitFrom4_0) {
  EXPECT_FALSE(Version("3.13.7").HasDefaultDeliveryLimit());
  EXPECT_TRUE(Version("4.0.0").HasDefaultDeliveryLimit());
}

TEST(BrokerVersion, CountsFailuresOnlyFrom4_3) {
  for (const char* text : {"4.3.0", "4.3.6", "4.10.1", "5.0.0"}) {
    EXPECT_TRUE(Version(text).CountsFailuresOnly()) << text;
  }
  for (const char* text : {"3.10.8", "3.13.7", "4.0.5", "4.2.9"}) {
    EXPECT_FALSE(Version(text).CountsFailuresOnly()) << text;
  }
}

TEST(BrokerVersion, MayStopDeadLetteringFrom4_3_0To4_3_2) {
  for (const char* text : {"4.3.0", "4.3.2"}) EXPECT_TRUE(Version(text).DeadLetteringMayStop());
  for (const char* text : {"4.2.9", "4.3.3", "4.4.0", "3.13.7"}) {
    EXPECT_FALSE(Version(text).DeadLetteringMayStop()) << text;
  }
}

}  // namespace retryq::broker_version_test
