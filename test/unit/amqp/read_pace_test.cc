#include "amqp/read_pace.h"

#include <gtest/gtest.h>

namespace retryq::amqp {
namespace {

constexpr absl::Duration kLongest = absl::Milliseconds(2);

// Many reads, of a few messages each, that are a small part of all there could be.
constexpr Arrivals kStream = {.count = 10, .share = 0.01};

class ReadPaceTest : public ::testing::Test {
 protected:
  // Reads that come `interval` after one another; the pause behind the last.
  absl::Duration Read(int times, absl::Duration interval, const Arrivals& arrivals = kStream) {
    absl::Duration pause;
    for (int i = 0; i < times; ++i) {
      now_ += interval;
      pause = pace_.After(arrivals, now_);
    }
    return pause;
  }

  ReadPace pace_{kLongest};
  absl::Duration now_ = absl::Hours(1);
};

TEST_F(ReadPaceTest, GathersNothingAtFirst) {
  EXPECT_EQ(Read(8, absl::Microseconds(10)), absl::ZeroDuration());
}

TEST_F(ReadPaceTest, GathersWhereManyReadsComeAtOnce) {
  EXPECT_EQ(Read(9, absl::Microseconds(100)), ReadPace::kShortest);
}

TEST_F(ReadPaceTest, GathersLongerAndLongerUpToItsLongest) {
  Read(9, absl::Microseconds(100));
  EXPECT_EQ(Read(1, absl::Microseconds(250)), absl::Microseconds(500));
  EXPECT_EQ(Read(1, absl::Microseconds(500)), absl::Milliseconds(1));
  EXPECT_EQ(Read(1, absl::Milliseconds(1)), absl::Milliseconds(2));
  EXPECT_EQ(Read(100, absl::Milliseconds(2)), absl::Milliseconds(2));
}

TEST_F(ReadPaceTest, LeavesReadsAloneThatComeSeldom) {
  EXPECT_EQ(Read(1000, absl::Milliseconds(1)), absl::ZeroDuration());
}

TEST_F(ReadPaceTest, LeavesReadsAloneThatBringLittle) {
  EXPECT_EQ(Read(1000, absl::Microseconds(100), {.count = 1}), absl::ZeroDuration());
}

TEST_F(ReadPaceTest, LeavesReadsAloneThatSomebodyWaitsFor) {
  EXPECT_EQ(Read(1000, absl::Microseconds(100), {.count = 10, .share = 1}), absl::ZeroDuration());
}

TEST_F(ReadPaceTest, OnlyReadsInARowAreMany) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(Read(6, absl::Microseconds(100)), absl::ZeroDuration());
    EXPECT_EQ(Read(1, absl::Seconds(1)), absl::ZeroDuration());
  }
}

TEST_F(ReadPaceTest, HalvesThePauseWhereTheBrokerWouldRunOut) {
  Read(20, absl::Microseconds(100));
  const Arrivals many = {.count = 20, .share = 0.1};
  EXPECT_EQ(Read(1, absl::Milliseconds(2), many), absl::Milliseconds(1));
  EXPECT_EQ(Read(1, absl::Milliseconds(1), many), absl::Microseconds(500));
  EXPECT_EQ(Read(1, absl::Microseconds(500), many), absl::Microseconds(250));
  EXPECT_EQ(Read(1, absl::Microseconds(250), many), absl::ZeroDuration());
}

TEST_F(ReadPaceTest, KeepsThePauseThatIsJustRight) {
  Read(9, absl::Microseconds(100));
  const Arrivals enough = {.count = 20, .share = 0.05};
  EXPECT_EQ(Read(100, absl::Microseconds(250), enough), ReadPace::kShortest);
}

TEST_F(ReadPaceTest, EndsWhereNothingComesForLong) {
  Read(20, absl::Microseconds(100));
  EXPECT_EQ(Read(10, absl::Milliseconds(2), {}), absl::Milliseconds(2));
  EXPECT_EQ(Read(1, absl::Milliseconds(2)), absl::Milliseconds(2));
  EXPECT_EQ(Read(10, absl::Milliseconds(2), {}), absl::Milliseconds(2));
  EXPECT_EQ(Read(10, absl::Milliseconds(2), {}), absl::ZeroDuration());
}

TEST_F(ReadPaceTest, BeginsAnewAfterItsEnd) {
  Read(20, absl::Microseconds(100));
  Read(17, absl::Milliseconds(2), {});
  EXPECT_EQ(Read(8, absl::Microseconds(100)), absl::ZeroDuration());
  EXPECT_EQ(Read(1, absl::Microseconds(100)), ReadPace::kShortest);
}

TEST_F(ReadPaceTest, GathersAsLongAsTheOneItFollows) {
  const auto leader = std::make_shared<ReadPace>(kLongest);
  pace_.Follow(leader);
  EXPECT_EQ(Read(1, absl::Seconds(1), {}), absl::ZeroDuration());
  for (int i = 0; i < 20; ++i) leader->After(kStream, now_);
  EXPECT_EQ(Read(100, absl::Milliseconds(2), {}), kLongest);
  leader->Reset();
  EXPECT_EQ(Read(1, absl::Milliseconds(2), {}), absl::ZeroDuration());
}

TEST_F(ReadPaceTest, GathersNothingOnANewConnection) {
  Read(20, absl::Microseconds(100));
  pace_.Reset();
  EXPECT_EQ(Read(8, absl::Microseconds(100)), absl::ZeroDuration());
}

TEST_F(ReadPaceTest, NeverGathersWhereItMustNot) {
  ReadPace none(absl::ZeroDuration());
  ReadPace too_short(absl::Microseconds(249));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(none.After(kStream, now_), absl::ZeroDuration());
    EXPECT_EQ(too_short.After(kStream, now_), absl::ZeroDuration());
  }
}

}  // namespace
}  // namespace retryq::amqp
