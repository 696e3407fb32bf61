#include "loop/alive.h"

#include "support/test.h"

namespace retryq::alive_test {

struct Object {
  Lifeline<Object> lifeline{this};
};

TEST(AlivePtr, IsNullOnceTheObjectIsDestroyed) {
  auto object = std::make_unique<Object>();
  const AlivePtr<Object> alive = object->lifeline.ptr();
  EXPECT_EQ(alive.get(), object.get());
  object.reset();
  EXPECT_FALSE(alive);
}

TEST(LifelineWatch, DetectsTheDestructionOfTheObject) {
  auto object = std::make_unique<Object>();
  const Lifeline<Object>::Watch watch(object->lifeline);
  EXPECT_TRUE(watch);
  object.reset();
  EXPECT_FALSE(watch);
}

TEST(LifelineWatch, DetectsItInNestedWatches) {
  auto object = std::make_unique<Object>();
  const Lifeline<Object>::Watch outer(object->lifeline);
  { const Lifeline<Object>::Watch over(object->lifeline); }
  const Lifeline<Object>::Watch inner(object->lifeline);
  object.reset();
  EXPECT_FALSE(outer);
  EXPECT_FALSE(inner);
}

}  // namespace retryq::alive_test
