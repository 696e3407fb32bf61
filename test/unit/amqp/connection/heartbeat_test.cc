#include "amqp/connection/heartbeat.h"

#include "retryq/testing/simulated_time.h"
#include "support/test.h"

namespace retryq::amqp::heartbeat_test {

class HeartbeatTest : public ::testing::Test {
 protected:
  void Start(absl::Duration interval) {
    heartbeat_.emplace(time_, interval,
                       Heartbeat::Callbacks{.send =
                                                [this] {
                                                  ++sent_;
                                                  heartbeat_->OnSent();
                                                },
                                            .dead =
                                                [this] {
                                                  ++dead_;
                                                  heartbeat_.reset();
                                                }});
  }

  testing::SimulatedTime time_;
  std::optional<Heartbeat> heartbeat_;
  int sent_ = 0;
  int dead_ = 0;
};

TEST_F(HeartbeatTest, IsSentEveryHalfIntervalWhileIdle) {
  Start(absl::Seconds(10));
  for (int i = 1; i <= 20; ++i) {
    time_.Advance(absl::Seconds(5));
    heartbeat_->OnReceived();
    EXPECT_EQ(sent_, i);
  }
}

TEST_F(HeartbeatTest, IsNotSentWhileOtherDataIsSent) {
  Start(absl::Seconds(10));
  for (int i = 0; i < 20; ++i) {
    heartbeat_->OnSent();
    heartbeat_->OnReceived();
    time_.Advance(absl::Seconds(3));
  }
  EXPECT_EQ(sent_, 0);
  time_.Advance(absl::Seconds(2));
  EXPECT_EQ(sent_, 1);
}

TEST_F(HeartbeatTest, TreatsThePeerAsDeadWithinTwoIntervalsOfSilence) {
  for (int ms = 0; ms < 1250; ms += 50) {
    dead_ = 0;
    Start(absl::Seconds(10));
    time_.Advance(absl::Seconds(8) + absl::Milliseconds(ms));
    heartbeat_->OnReceived();
    time_.Advance(absl::Milliseconds(18'749));
    EXPECT_EQ(dead_, 0) << ms;
    time_.Advance(absl::Milliseconds(1251));
    EXPECT_EQ(dead_, 1) << ms;
    time_.Advance(absl::Seconds(100));
    EXPECT_EQ(dead_, 1) << ms;
  }
}

TEST_F(HeartbeatTest, StaysAliveWhileAnythingArrives) {
  Start(absl::Seconds(10));
  for (int i = 0; i < 50; ++i) {
    time_.Advance(absl::Seconds(18));
    heartbeat_->OnReceived();
  }
  EXPECT_EQ(dead_, 0);
}

TEST_F(HeartbeatTest, IsOffAtAnIntervalOfZero) {
  Start(absl::ZeroDuration());
  time_.Advance(absl::Hours(1));
  EXPECT_EQ(sent_, 0);
  EXPECT_EQ(dead_, 0);
  EXPECT_EQ(time_.pending_timers(), 0U);
}

}  // namespace retryq::amqp::heartbeat_test
