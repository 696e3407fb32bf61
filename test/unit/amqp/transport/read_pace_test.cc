#include "amqp/transport/read_pace.h"

#include "support/test.h"

namespace retryq::amqp::read_pace_test {

constexpr absl::Duration kLongest = absl::Milliseconds(2);
// In which rates are taken, with something to spare.
constexpr absl::Duration kWhile = absl::Milliseconds(33);

// A message, of many that may be under way.
constexpr Arrivals kMessage = {.count = 1, .bytes = 100, .share = 0.001};
constexpr Arrivals kNothing;

TEST(Arrivals, AddUpAndKeepTheLargestShare) {
  Arrivals all = {.count = 1, .bytes = 10, .used_up = 100, .unconfirmed = 1000, .share = 0.25};
  all.Add({.count = 2, .bytes = 20, .used_up = 200, .unconfirmed = 2000, .share = 0.5});
  all.Add({.share = 0.125});
  EXPECT_EQ(all.count, 3U);
  EXPECT_EQ(all.bytes, 30U);
  EXPECT_EQ(all.used_up, 300U);
  EXPECT_EQ(all.unconfirmed, 3000U);
  EXPECT_EQ(all.share, 0.5);
}

class ReadPaceTest : public ::testing::Test {
 protected:
  // Reads for `time`, `interval` after one another; the pause behind the last.
  absl::Duration Read(absl::Duration time, absl::Duration interval,
                      const Arrivals& arrivals = kMessage) {
    absl::Duration pause;
    for (const absl::Duration end = now_ + time; now_ + interval <= end;) {
      now_ += interval;
      pause = pace_.After(arrivals, now_);
    }
    return pause;
  }

  // As much as that, in pauses.
  absl::Duration ReadInPauses(absl::Duration time, const Arrivals& arrivals) {
    return Read(time, kLongest, arrivals);
  }

  void Gather() { ASSERT_EQ(Read(2 * kWhile, absl::Microseconds(100)), kLongest); }

  ReadPace pace_{kLongest};
  absl::Duration now_ = absl::Hours(1);
};

TEST_F(ReadPaceTest, GathersNothingAtFirst) {
  EXPECT_EQ(Read(absl::Milliseconds(31), absl::Microseconds(100)), absl::ZeroDuration());
}

TEST_F(ReadPaceTest, GathersIfReadsFollowQuickly) {
  EXPECT_EQ(Read(kWhile, absl::Microseconds(100)), kLongest);
  EXPECT_EQ(ReadInPauses(absl::Seconds(1), {.count = 20, .bytes = 2000, .share = 0.02}), kLongest);
}

TEST_F(ReadPaceTest, GathersOnlyAsLongAsTheBrokerCanContinueSending) {
  // An eighth comes in a millisecond, in half of one, in a quarter, and in a fifth.
  for (const auto& [share, pause] :
       {std::pair{0.0125, absl::Milliseconds(1)}, std::pair{0.025, absl::Microseconds(500)},
        std::pair{0.05, absl::Microseconds(250)}, std::pair{0.0625, absl::ZeroDuration()}}) {
    pace_.Reset();
    EXPECT_EQ(Read(kWhile, absl::Microseconds(100), {.count = 10, .share = share * 0.99}), pause);
  }
}

TEST_F(ReadPaceTest, GathersTwiceAsMuchFromANearbyBroker) {
  const Arrivals a_quarter_in_two_milliseconds = {.count = 10, .share = 0.0125 * 0.99};
  pace_.Reset(ReadPace::kShortest - absl::Microseconds(1));
  EXPECT_EQ(Read(kWhile, absl::Microseconds(100), a_quarter_in_two_milliseconds), kLongest);
  pace_.Reset(ReadPace::kShortest);
  EXPECT_EQ(Read(kWhile, absl::Microseconds(100), a_quarter_in_two_milliseconds),
            absl::Milliseconds(1));
  pace_.Reset(absl::ZeroDuration());
  EXPECT_EQ(Read(kWhile, absl::Microseconds(100), {.count = 10, .share = 0.0125 * 1.01}),
            absl::Milliseconds(1));
}

TEST_F(ReadPaceTest, GathersNoMoreThanFits) {
  // So much comes in a millisecond, and in a fifth of one.
  EXPECT_EQ(Read(kWhile, absl::Microseconds(100), {.count = 5, .bytes = ReadPace::kFull / 10}),
            absl::Milliseconds(1));
  pace_.Reset();
  EXPECT_EQ(Read(kWhile, absl::Microseconds(100), {.count = 5, .bytes = ReadPace::kFull / 2}),
            absl::ZeroDuration());
}

TEST_F(ReadPaceTest, DoesNotGatherIfPausesSaveNoReads) {
  EXPECT_EQ(Read(absl::Seconds(1), absl::Milliseconds(1.5), {.count = 10}), absl::ZeroDuration());
  EXPECT_EQ(Read(absl::Seconds(1), absl::Milliseconds(1.25), {.count = 10}), kLongest);
}

TEST_F(ReadPaceTest, DoesNotGatherIfReadsBringLittle) {
  EXPECT_EQ(Read(absl::Seconds(1), absl::Microseconds(420)), absl::ZeroDuration());
  EXPECT_EQ(Read(absl::Seconds(1), absl::Microseconds(380)), kLongest);
}

TEST_F(ReadPaceTest, DoesNotGatherIfTheCallerWaitsForAReply) {
  EXPECT_EQ(Read(absl::Seconds(1), absl::Microseconds(100), {.count = 1, .share = 1}),
            absl::ZeroDuration());
}

TEST_F(ReadPaceTest, HalvesThePauseSoonIfTheCallerWaits) {
  Gather();
  const Arrivals answer = {.count = 1, .share = 1};
  EXPECT_EQ(Read(absl::Milliseconds(4), absl::Milliseconds(2), answer), absl::Milliseconds(1));
  EXPECT_EQ(Read(absl::Milliseconds(2), absl::Milliseconds(1), answer), absl::Microseconds(500));
  EXPECT_EQ(Read(absl::Milliseconds(2), absl::Microseconds(500), answer), absl::Microseconds(250));
  EXPECT_EQ(Read(absl::Milliseconds(2), absl::Microseconds(250), answer), absl::ZeroDuration());
}

TEST_F(ReadPaceTest, WaitsForTheNextMessageAfterTwoEmptyPauses) {
  Gather();
  EXPECT_EQ(ReadInPauses(kLongest, kNothing), kLongest);
  EXPECT_EQ(ReadInPauses(kLongest, kMessage), kLongest);
  EXPECT_EQ(ReadInPauses(kLongest, kNothing), kLongest);
  EXPECT_EQ(ReadInPauses(kLongest, kNothing), absl::ZeroDuration());
  EXPECT_EQ(ReadInPauses(kLongest, kMessage), kLongest);
}

TEST_F(ReadPaceTest, StopsIfLittleArrivesForAWhile) {
  Gather();
  EXPECT_EQ(ReadInPauses(2 * kWhile, kMessage), absl::ZeroDuration());
  EXPECT_EQ(Read(2 * kWhile, absl::Microseconds(100)), kLongest);
}

TEST_F(ReadPaceTest, TreatsATimeWithoutReadsAsATimeWithoutInput) {
  Gather();
  Read(absl::Milliseconds(1), absl::Microseconds(100));
  EXPECT_EQ(Read(absl::Hours(1), absl::Hours(1)), absl::ZeroDuration());
}

TEST_F(ReadPaceTest, GathersAsLongAsItsLeader) {
  const auto leader = std::make_shared<ReadPace>(kLongest);
  pace_.Follow(leader);
  EXPECT_EQ(Read(absl::Seconds(1), kLongest, kNothing), absl::ZeroDuration());
  for (absl::Duration time; time < kWhile; time += absl::Microseconds(100)) {
    leader->After(kMessage, now_ + time);
  }
  EXPECT_EQ(Read(absl::Seconds(1), kLongest, kNothing), kLongest);
  leader->Reset();
  EXPECT_EQ(Read(kLongest, kLongest, kNothing), absl::ZeroDuration());
}

TEST_F(ReadPaceTest, KeepsLeadingWhileItsFollowerReceivesMessages) {
  const auto leader = std::make_shared<ReadPace>(kLongest);
  pace_.Follow(leader);
  for (absl::Duration time; time < kWhile; time += absl::Microseconds(100)) {
    leader->After(kMessage, now_ + time);
  }
  now_ += kWhile;
  for (int i = 0; i < 10; ++i) {
    now_ += kLongest;
    EXPECT_EQ(leader->After(kNothing, now_), kLongest);
    EXPECT_EQ(pace_.After(kMessage, now_), kLongest);
  }
  for (int i = 0; i < 2; ++i) {
    now_ += kLongest;
    EXPECT_EQ(pace_.After(kNothing, now_), kLongest);
    EXPECT_EQ(leader->After(kNothing, now_), i == 0 ? kLongest : absl::ZeroDuration());
  }
  EXPECT_EQ(pace_.After(kNothing, now_), absl::ZeroDuration());
}

// One consumer that has used up its prefetch, with half of it in publishes; their confirms come a
// few at a time.
class BusyBroker : public ReadPaceTest {
 protected:
  BusyBroker() {
    follower_.Follow(leader_);
    leader_->Reset(kNear);
  }

  // Reads on both for `time`; the pause of what is delivered behind the last.
  absl::Duration ReadBoth(absl::Duration time) {
    absl::Duration pause;
    for (const absl::Duration end = now_ + time; now_ + kInterval <= end;) {
      now_ += kInterval;
      pause = leader_->After(delivered_, now_);
      follower_.After(confirmed_, now_);
    }
    return pause;
  }

  static constexpr absl::Duration kNear = absl::Microseconds(20);
  static constexpr absl::Duration kInterval = absl::Microseconds(100);

  std::shared_ptr<ReadPace> leader_ = std::make_shared<ReadPace>(kLongest);
  ReadPace follower_{kLongest};
  Arrivals delivered_ = {.count = 1, .bytes = 100, .used_up = 512, .share = 1.0 / 512};
  Arrivals confirmed_ = {.count = 1, .bytes = 20, .unconfirmed = 256, .share = 1.0 / 257};
};

TEST_F(BusyBroker, AllowsPausesFourTimesAsLong) {
  EXPECT_EQ(ReadBoth(kWhile), kLongest);
  EXPECT_EQ(ReadBoth(2 * kWhile), 4 * kLongest);
  EXPECT_EQ(ReadBoth(absl::Seconds(1)), 4 * kLongest);
}

TEST_F(BusyBroker, LimitsThePauseToTheTimeItCanContinueSending) {
  delivered_.share = 0.004;  // a quarter in six milliseconds
  EXPECT_EQ(ReadBoth(absl::Seconds(1)), 2 * kLongest);
}

TEST_F(BusyBroker, MustBeNear) {
  leader_->Reset(ReadPace::kShortest);
  EXPECT_EQ(ReadBoth(absl::Seconds(1)), kLongest);
}

TEST_F(BusyBroker, MustHaveManyUnconfirmedMessages) {
  confirmed_.unconfirmed = 255;
  EXPECT_EQ(ReadBoth(absl::Seconds(1)), kLongest);
}

TEST_F(BusyBroker, MustHaveUsedUpThePrefetch) {
  delivered_.used_up = 0;
  EXPECT_EQ(ReadBoth(absl::Seconds(1)), kLongest);
}

TEST_F(BusyBroker, MustConfirmAFewAtATime) {
  confirmed_ = {.count = 200, .bytes = 20, .unconfirmed = 256, .share = 200.0 / 456};
  EXPECT_EQ(ReadBoth(absl::Seconds(1)), kLongest);
}

TEST_F(BusyBroker, EndsOnceThePrefetchIsNoLongerUsedUp) {
  ReadBoth(absl::Seconds(1));
  delivered_.used_up = 0;
  EXPECT_EQ(ReadBoth(8 * kWhile), kLongest);
}

TEST_F(ReadPaceTest, NeverGathersIfItsLimitIsTooShort) {
  ReadPace none(absl::ZeroDuration());
  ReadPace too_short(absl::Microseconds(249));
  for (int i = 0; i < 1000; ++i) {
    now_ += absl::Microseconds(10);
    EXPECT_EQ(none.After(kMessage, now_), absl::ZeroDuration());
    EXPECT_EQ(too_short.After(kMessage, now_), absl::ZeroDuration());
  }
}

}  // namespace retryq::amqp::read_pace_test
