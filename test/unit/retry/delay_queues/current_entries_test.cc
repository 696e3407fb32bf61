#include "retry/delay_queues/current_entries.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace retryq {
namespace current_entries_test {

constexpr DelayRoute kSecond{.ttl = absl::Seconds(1)};
constexpr DelayRoute kMinute{.ttl = absl::Minutes(1)};

class CurrentEntriesTest : public ::testing::Test {
 protected:
  DelayQueueEntry Entry(const DelayRoute& route) {
    return DelayQueueEntry(++last_id_, DelayRouteKey(route), NameFamily::kPlain, options_, {});
  }
  // Twice, as the second time goes another way.
  DelayQueueEntry* Find(const DelayRoute& route) {
    DelayQueueEntry* const found = entries_.Find(route);
    EXPECT_EQ(entries_.Find(route), found);
    return found;
  }

  const DelayQueueOptions options_ = {};
  std::uint64_t last_id_ = 0;
  CurrentEntries entries_;
};

TEST_F(CurrentEntriesTest, AreFoundByTheirRoutesInAnyOrder) {
  DelayQueueEntry second = Entry(kSecond);
  DelayQueueEntry minute = Entry(kMinute);
  entries_.Set(second);
  EXPECT_EQ(Find(kMinute), nullptr);
  entries_.Set(minute);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Find(kSecond), &second);
    EXPECT_EQ(Find(kMinute), &minute);
  }
}

TEST_F(CurrentEntriesTest, AreToldApartByEachPartOfTheRoute) {
  DelayQueueEntry second = Entry(kSecond);
  entries_.Set(second);
  EXPECT_EQ(Find(kSecond), &second);
  EXPECT_EQ(Find({.ttl = absl::Seconds(1), .dead_letter_exchange = "work"}), nullptr);
  EXPECT_EQ(Find({.ttl = absl::Seconds(1), .direct = true}), nullptr);
  EXPECT_EQ(Find({.ttl = absl::Milliseconds(1001)}), nullptr);
}

TEST_F(CurrentEntriesTest, AreReplacedByOthersOfTheirRoute) {
  DelayQueueEntry plain = Entry(kSecond);
  DelayQueueEntry hashed = Entry(kSecond);
  entries_.Set(plain);
  EXPECT_EQ(Find(kSecond), &plain);
  entries_.Set(hashed);
  EXPECT_EQ(Find(kSecond), &hashed);
}

TEST_F(CurrentEntriesTest, AreForgottenOneByOneOrAllTogether) {
  DelayQueueEntry second = Entry(kSecond);
  DelayQueueEntry minute = Entry(kMinute);
  entries_.Set(second);
  entries_.Set(minute);
  EXPECT_EQ(Find(kSecond), &second);
  entries_.Erase(second.key());
  EXPECT_EQ(Find(kSecond), nullptr);
  EXPECT_EQ(Find(kMinute), &minute);
  entries_.Clear();
  EXPECT_EQ(Find(kMinute), nullptr);
}

}  // namespace current_entries_test
}  // namespace retryq
