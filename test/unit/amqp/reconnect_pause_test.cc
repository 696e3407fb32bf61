#include "amqp/reconnect_pause.h"

#include <gtest/gtest.h>

namespace retryq::amqp {
namespace {

// Always the same fraction of 2^64.
class FixedRandom final : public Random {
 public:
  explicit FixedRandom(std::uint64_t next) : next_(next) {}
  std::uint64_t Next() override { return next_; }

 private:
  const std::uint64_t next_;
};

TEST(ReconnectPause, DoublesUpToItsMaximum) {
  FixedRandom highest(~std::uint64_t{0});
  ReconnectPause pause(absl::Milliseconds(100), absl::Seconds(1));
  for (const int milliseconds : {100, 200, 400, 800, 1000, 1000, 1000}) {
    EXPECT_LE(pause.Next(highest), absl::Milliseconds(milliseconds));
  }
  for (int i = 0; i < 10000; ++i) pause.Next(highest);
  EXPECT_GT(pause.Next(highest), absl::Milliseconds(999));
}

TEST(ReconnectPause, IsNeverShorterThanHalf) {
  FixedRandom lowest(0);
  ReconnectPause pause(absl::Milliseconds(100), absl::Seconds(1));
  for (const int milliseconds : {50, 100, 200, 400, 500, 500}) {
    EXPECT_EQ(pause.Next(lowest), absl::Milliseconds(milliseconds));
  }
}

TEST(ReconnectPause, BeginsAnewAfterASuccess) {
  FixedRandom lowest(0);
  ReconnectPause pause(absl::Milliseconds(100), absl::Seconds(1));
  pause.Next(lowest);
  pause.Next(lowest);
  pause.Reset();
  EXPECT_EQ(pause.Next(lowest), absl::Milliseconds(50));
}

TEST(ReconnectPause, CanBeItsLongestAtOnce) {
  FixedRandom lowest(0);
  ReconnectPause pause(absl::Milliseconds(100), absl::Seconds(10));
  EXPECT_EQ(pause.Longest(lowest), absl::Seconds(5));
}

}  // namespace
}  // namespace retryq::amqp
