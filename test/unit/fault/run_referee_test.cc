#include "fault/run_referee.h"

#include "fault/messages.h"
#include "support/test.h"

namespace retryq::fault::referee_test {

// Messages 0 to 3, of which 0 and 1 were handled and 2 was parked.
RunReferee AllButTheLast() {
  RunReferee referee;
  referee.Handled({.number = 0});
  referee.Handled({.number = 1});
  referee.Parked({.number = 2});
  return referee;
}

TEST(FaultReferee, CountsHandledAndParkedMessages) {
  const Count count = AllButTheLast().Result(3);
  EXPECT_EQ(count.sent, 3U);
  EXPECT_EQ(count.handled, 2U);
  EXPECT_EQ(count.parked, 1U);
  EXPECT_EQ(count.duplicates, 0U);
  EXPECT_EQ(count.lost, 0U);
}

TEST(FaultReferee, CountsAMissingMessageAsLost) {
  const RunReferee referee = AllButTheLast();
  EXPECT_EQ(referee.Result(4).lost, 1U);
  EXPECT_THAT(referee.Missing(4), ElementsAre(3));
}

TEST(FaultReferee, CountsAWaitingMessageAsNeitherLostNorDone) {
  RunReferee referee = AllButTheLast();
  referee.Waiting({.number = 3});
  EXPECT_EQ(referee.Result(4).waiting, 1U);
  EXPECT_EQ(referee.Result(4).lost, 0U);
}

TEST(FaultReferee, CountsNoMoreDestroyedMessagesThanPossible) {
  RunReferee referee = AllButTheLast();
  referee.MayHaveDestroyed(2);
  EXPECT_EQ(referee.Result(5).destroyed, 2U);
  EXPECT_EQ(referee.Result(5).lost, 0U);
  EXPECT_EQ(referee.Result(6).destroyed, 2U);
  EXPECT_EQ(referee.Result(6).lost, 1U);
}

TEST(FaultReferee, DoesNotCountExistingMessagesAsDestroyed) {
  RunReferee referee = AllButTheLast();
  referee.MayHaveDestroyed(2);
  EXPECT_EQ(referee.Result(3).destroyed, 0U);
}

TEST(FaultReferee, CountsEachRepeatedOutcomeAsADuplicate) {
  RunReferee referee = AllButTheLast();
  referee.Handled({.number = 0});
  referee.Parked({.number = 1});
  referee.Waiting({.number = 2});
  const Count count = referee.Result(3);
  EXPECT_EQ(count.duplicates, 3U);
  EXPECT_EQ(count.handled, 2U);
  EXPECT_EQ(count.parked, 1U);
  EXPECT_EQ(count.waiting, 0U);
}

TEST(FaultReferee, DoesNotCountRepetitionsOfTheProducerAsDuplicates) {
  RunReferee referee = AllButTheLast();
  referee.Handled({.number = 0, .repetition = 1});
  EXPECT_EQ(referee.Result(3).duplicates, 0U);
  EXPECT_EQ(referee.Result(3).handled, 2U);
}

TEST(FaultMessageName, IsReadAsItWasWritten) {
  const MessageName name{.number = 17, .repetition = 3};
  EXPECT_EQ(MessageName::Parse(name.Text()), name);
  for (const Kind kind : {Kind::kUnaffected, Kind::kPoison}) {
    const MessageName other{.kind = kind, .number = 17, .repetition = 3};
    EXPECT_EQ(MessageName::Parse(other.Text()), other);
    EXPECT_NE(other.Text(), name.Text());
  }
  for (const char* text : {"", "17", "17.", ".3", "x.3", "17.3 "}) {
    EXPECT_FALSE(MessageName::Parse(text).has_value()) << text;
  }
}

TEST(FaultPlan, HasMessagesThatSucceedAtOnceLaterAndNever) {
  int at_once = 0;
  int later = 0;
  int never = 0;
  for (std::uint64_t number = 0; number < 60; ++number) {
    const std::uint64_t failures = FailuresOf(number);
    ++(failures == 0 ? at_once : failures < kMaxAttempts ? later : never);
  }
  EXPECT_EQ(at_once, 20);
  EXPECT_EQ(later, 30);
  EXPECT_EQ(never, 10);
}

}  // namespace retryq::fault::referee_test
