#include "amqp/transport/shuffle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "retryq/testing/seeded_random.h"

namespace retryq::amqp {
namespace shuffle_test {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Le;
using ::testing::Pair;
using ::testing::SizeIs;

TEST(Shuffle, GivesEveryOrderEquallyOften) {
  testing::SeededRandom random;
  std::map<std::vector<int>, int> seen;
  for (int i = 0; i < 24'000; ++i) {
    std::vector<int> items = {1, 2, 3, 4};
    Shuffle(&items, random);
    ++seen[items];
  }
  EXPECT_THAT(seen, SizeIs(24));
  EXPECT_THAT(seen, Each(Pair(::testing::_, AllOf(Ge(850), Le(1150)))));
}

TEST(Shuffle, LeavesNothingOutAndAddsNothing) {
  testing::SeededRandom random;
  std::vector<int> items = {1, 1, 2, 3, 5, 8};
  Shuffle(&items, random);
  std::sort(items.begin(), items.end());
  EXPECT_EQ(items, std::vector<int>({1, 1, 2, 3, 5, 8}));
  std::vector<int> none;
  Shuffle(&none, random);
  EXPECT_TRUE(none.empty());
}

}  // namespace shuffle_test
}  // namespace retryq::amqp
