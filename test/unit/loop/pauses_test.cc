#include "loop/pauses.h"

#include "support/test.h"

namespace retryq::pauses_test {

// Always the same fraction of 2^64.
class FixedRandom final : public Random {
 public:
  explicit FixedRandom(std::uint64_t next) : next_(next) {}
  std::uint64_t Next() override { return next_; }

 private:
  const std::uint64_t next_;
};

constexpr absl::Duration kNow = absl::Hours(1);

TEST(Pauses, DoubleUpToTheMaximum) {
  FixedRandom highest(~std::uint64_t{0});
  Pauses pauses(absl::Milliseconds(100), absl::Seconds(1));
  for (const int milliseconds : {100, 200, 400, 800, 1000, 1000, 1000}) {
    EXPECT_LE(pauses.Next(kNow, highest), absl::Milliseconds(milliseconds));
  }
  for (int i = 0; i < 10000; ++i) pauses.Next(kNow, highest);
  EXPECT_GT(pauses.Next(kNow, highest), absl::Milliseconds(999));
}

TEST(Pauses, AreNeverShorterThanHalf) {
  FixedRandom lowest(0);
  Pauses pauses(absl::Milliseconds(100), absl::Seconds(1));
  for (const int milliseconds : {50, 100, 200, 400, 500, 500}) {
    EXPECT_EQ(pauses.Next(kNow, lowest), absl::Milliseconds(milliseconds));
  }
}

TEST(Pauses, RestartAfterALastingSuccess) {
  FixedRandom lowest(0);
  Pauses pauses(absl::Milliseconds(100), absl::Seconds(1));
  pauses.Next(kNow, lowest);
  pauses.Next(kNow, lowest);
  pauses.Succeeded(kNow);
  EXPECT_EQ(pauses.Next(kNow + Pauses::kLasting, lowest), absl::Milliseconds(50));
}

TEST(Pauses, KeepGrowingAfterAShortSuccess) {
  FixedRandom lowest(0);
  Pauses pauses(absl::Milliseconds(100), absl::Seconds(1));
  for (const int milliseconds : {50, 100, 200, 400, 500}) {
    pauses.Succeeded(kNow);
    EXPECT_EQ(pauses.Next(kNow + absl::Seconds(9), lowest), absl::Milliseconds(milliseconds));
  }
}

TEST(Pauses, ASuccessAffectsOnlyTheNextFailure) {
  FixedRandom lowest(0);
  Pauses pauses(absl::Milliseconds(100), absl::Seconds(1));
  pauses.Succeeded(kNow);
  pauses.Next(kNow + absl::Hours(1), lowest);
  EXPECT_EQ(pauses.Next(kNow + absl::Hours(2), lowest), absl::Milliseconds(100));
}

TEST(Pauses, CanBeTheMaximumAtOnce) {
  FixedRandom lowest(0);
  Pauses pauses(absl::Milliseconds(100), absl::Seconds(10));
  EXPECT_EQ(pauses.Longest(lowest), absl::Seconds(5));
}

TEST(Pauses, CanBeWithoutJitter) {
  constexpr absl::Duration kFirst = absl::Seconds(1);
  constexpr absl::Duration kLongest = absl::Seconds(8);
  EXPECT_EQ(Pauses::WholeAfter(1, kFirst, kLongest), absl::Seconds(1));
  EXPECT_EQ(Pauses::WholeAfter(3, kFirst, kLongest), absl::Seconds(4));
  EXPECT_EQ(Pauses::WholeAfter(UINT32_MAX, kFirst, kLongest), kLongest);
}

TEST(Pauses, StayAtTheMaximumAfterManyFailures) {
  for (std::uint32_t failures = 4; failures < 200; ++failures) {
    EXPECT_EQ(Pauses::WholeAfter(failures, absl::Seconds(1), absl::Seconds(8)), absl::Seconds(8));
  }
}

}  // namespace retryq::pauses_test
