#include "cli/outage/latency_histogram.h"

#include <gtest/gtest.h>

namespace retryq::cli {
namespace latency_histogram_test {

TEST(LatencyHistogram, IsExactBelowAQuarterOfASecond) {
  LatencyHistogram latencies;
  for (int ms = 1; ms <= 200; ++ms) latencies.Add(absl::Milliseconds(ms));
  EXPECT_EQ(latencies.Quantile(0.5), absl::Milliseconds(100));
  EXPECT_EQ(latencies.Quantile(0.99), absl::Milliseconds(198));
  EXPECT_EQ(latencies.Quantile(1), absl::Milliseconds(200));
  EXPECT_EQ(latencies.count(), 200U);
}

TEST(LatencyHistogram, IsExactToOnePerCentAboveThat) {
  for (absl::Duration latency = absl::Milliseconds(250); latency < absl::Hours(24 * 3650);
       latency *= 1.37) {
    LatencyHistogram latencies;
    latencies.Add(latency);
    EXPECT_LE(latencies.Quantile(0.5), latency);
    EXPECT_GE(latencies.Quantile(0.5), 0.99 * latency);
    EXPECT_EQ(latencies.longest(), latency);
  }
}

TEST(LatencyHistogram, OfNothingIsZero) {
  EXPECT_EQ(LatencyHistogram().Quantile(0.5), absl::ZeroDuration());
  EXPECT_EQ(LatencyHistogram().longest(), absl::ZeroDuration());
}

TEST(LatencyHistogram, TellsNothingAtAllFromSomething) {
  LatencyHistogram latencies;
  for (int i = 0; i < 99; ++i) latencies.Add(absl::ZeroDuration());
  latencies.Add(absl::Seconds(10));
  EXPECT_EQ(latencies.Quantile(0.99), absl::ZeroDuration());
  EXPECT_GT(latencies.Quantile(1), absl::Seconds(9));
}

}  // namespace latency_histogram_test
}  // namespace retryq::cli
