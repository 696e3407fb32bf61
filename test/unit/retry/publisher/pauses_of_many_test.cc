// Many messages with the same problem: they cause no more requests than one message, and other
// messages go first.

#include "support/scripted_test.h"
#include "support/test.h"

namespace retryq::pauses_of_many_test {

using testing::ScriptedBroker;

class PausesOfMany : public testing::ScriptedTest {
 protected:
  void Publish(const std::string& queue, absl::Duration delay = absl::ZeroDuration()) {
    client_->Publish({.routing_key = queue}, {.delay = delay, .deadline = absl::Hours(1)},
                     [](const absl::Status&) {});
  }
  void RefuseDelayQueues() {
    broker_.on_declare = [](const QueueDeclaration& queue) -> absl::Status {
      return queue.passive ? absl::OkStatus() : absl::PermissionDeniedError("403 ACCESS_REFUSED");
    };
  }
  std::size_t Declares() const {
    return static_cast<std::size_t>(
        std::count_if(broker_.declares.begin(), broker_.declares.end(),
                      [](const DeclareParams& params) { return !params.queue.passive; }));
  }
  bool IsOpen(const std::string& queue) {
    const auto open = broker_.open();
    return std::any_of(open.begin(), open.end(), [&](const ScriptedBroker::Published* published) {
      return published->routing_key == queue;
    });
  }
};

TEST_F(PausesOfMany, ARefusedDelayQueueIsDeclaredAsRarelyAsForOneMessage) {
  RefuseDelayQueues();
  broker_.Ready();
  for (int i = 0; i < 500; ++i) Publish("orders", absl::Seconds(10));
  time_.Advance(absl::Minutes(1));
  EXPECT_GT(Declares(), 3U);
  EXPECT_LT(Declares(), 20U);
}

TEST_F(PausesOfMany, AllMessagesContinueTogetherOnceTheDelayQueueExists) {
  RefuseDelayQueues();
  broker_.Ready();
  for (int i = 0; i < 500; ++i) Publish("orders", absl::Seconds(10));
  time_.Advance(absl::Minutes(5));
  broker_.on_declare = nullptr;
  time_.Advance(absl::Seconds(30));
  EXPECT_EQ(broker_.open().size(), 500U);
}

TEST_F(PausesOfMany, ADelayQueueThatClosesTheConnectionIsNotDeclaredAtOnce) {
  broker_.on_declare = [](const QueueDeclaration& queue) -> absl::Status {
    return queue.passive ? absl::OkStatus() : absl::UnavailableError("the connection was reset");
  };
  broker_.Ready();
  Publish("orders", absl::Seconds(10));
  for (int i = 0; i < 5; ++i) {
    time_.Advance(absl::Seconds(10));
    broker_.Lose();
    broker_.Ready();
  }
  broker_.declares.clear();
  time_.Advance(absl::Milliseconds(500));
  EXPECT_EQ(Declares(), 0U);
}

TEST_F(PausesOfMany, AMessageThatWasOpenAtEveryLossIsPublishedAfterOthers) {
  broker_.Ready();
  Publish("bad");
  for (int i = 0; i < 3; ++i) {
    time_.Advance(absl::Seconds(1));
    ASSERT_TRUE(IsOpen("bad"));
    broker_.Lose();
    if (i < 2) broker_.Ready();
  }
  broker_.Ready();
  Publish("good");
  time_.Advance(absl::ZeroDuration());
  EXPECT_TRUE(IsOpen("good"));
  EXPECT_FALSE(IsOpen("bad"));
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(IsOpen("bad"));
}

}  // namespace retryq::pauses_of_many_test
