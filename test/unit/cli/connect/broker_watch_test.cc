#include "cli/connect/broker_session.h"
#include "support/test.h"

namespace retryq::cli::broker_watch_test {

class BrokerWatchTest : public ::testing::Test {
 protected:
  void Hear(EventKind kind, std::string_view error = "") {
    watch_.OnEvent({.kind = kind, .time = {}, .error = error});
  }

  // Runs the loop for a moment; returns ok if the watch does not fail it.
  absl::Status Run() {
    const auto timer = loop_.After(absl::Milliseconds(1), [this] { loop_.Stop(); });
    return loop_.Run();
  }

  EventLoop loop_;
  BrokerWatch watch_{loop_, {}, absl::ZeroDuration(), ""};
};

TEST_F(BrokerWatchTest, WaitsForAnAttemptThatHasBegun) {
  EXPECT_EQ(Run(), absl::OkStatus());
  Hear(EventKind::kDisconnected, "UNAVAILABLE: Connection timed out");
  EXPECT_TRUE(absl::IsUnavailable(loop_.Run()));
}

TEST_F(BrokerWatchTest, WaitsForALostConnection) {
  Hear(EventKind::kConnected);
  EXPECT_TRUE(watch_.has_connected());
  Hear(EventKind::kDisconnected, "UNAVAILABLE: the connection was reset");
  EXPECT_EQ(Run(), absl::OkStatus());
  Hear(EventKind::kDisconnected, "UNAUTHENTICATED: wrong password");
  EXPECT_EQ(Run(), absl::OkStatus());
}

TEST_F(BrokerWatchTest, BeginsOnceWithTheFirstConnection) {
  int begun = 0;
  watch_.WhenConnected([&begun] { ++begun; });
  Hear(EventKind::kDisconnected, "UNAVAILABLE: Connection refused");
  EXPECT_EQ(begun, 0);
  for (int i = 0; i < 2; ++i) Hear(EventKind::kConnected);
  EXPECT_EQ(begun, 1);
}

}  // namespace retryq::cli::broker_watch_test
