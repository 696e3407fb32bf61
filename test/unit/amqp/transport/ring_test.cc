#include "amqp/transport/ring.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>

namespace retryq::amqp {
namespace ring_test {

TEST(Ring, BehavesLikeADeque) {
  std::mt19937 random(1);
  Ring<int> ring;
  std::deque<int> model;
  for (int i = 0; i < 20000; ++i) {
    // Grows for a while, shrinks for a while.
    const bool grow = random() % 10 < (i / 1000 % 2 == 0 ? 7 : 3);
    if (grow || model.empty()) {
      ring.push_back(i);
      model.push_back(i);
    } else {
      ASSERT_EQ(ring.pop_front(), model.front());
      model.pop_front();
    }
    ASSERT_EQ(ring.size(), model.size());
    ASSERT_EQ(ring.empty(), model.empty());
    if (!model.empty()) {
      const std::size_t at = random() % model.size();
      ASSERT_EQ(ring[at], model[at]);
      ASSERT_EQ(ring.front(), model.front());
    }
  }
}

TEST(Ring, DestroysRemovedAndClearedElements) {
  const auto token = std::make_shared<int>();
  Ring<std::shared_ptr<int>> ring;
  for (int i = 0; i < 3; ++i) ring.push_back(token);
  ring.pop_front();
  EXPECT_EQ(token.use_count(), 3);
  ring.clear();
  EXPECT_EQ(token.use_count(), 1);
}

}  // namespace ring_test
}  // namespace retryq::amqp
