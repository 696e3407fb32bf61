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

constexpr char kRefusedDeclare[] =
    "delay queue 'retry.1000' cannot be declared (403 ACCESS_REFUSED - access to queue "
    "'retry.1000' in vhost '/' refused for user 'u'); remedy: grant the user 'configure'";

TEST_F(BrokerWatchTest, AMissingPermissionForDelayQueuesFailsTheLoopWithTheRemedy) {
  Hear(EventKind::kConnected);
  Hear(EventKind::kDeclareFailed, "delay queue 'retry.1000' cannot be declared (a limit)");
  EXPECT_EQ(Run(), absl::OkStatus());
  Hear(EventKind::kDeclareFailed, kRefusedDeclare);
  EXPECT_EQ(loop_.Run(), absl::PermissionDeniedError(kRefusedDeclare));
}

TEST_F(BrokerWatchTest, AMissingPermissionForDelayQueuesGoesToTheCallback) {
  absl::Status refused;
  BrokerWatch watch(loop_, {}, absl::ZeroDuration(), "",
                    [&refused](const absl::Status& why) { refused = why; });
  watch.OnEvent({.kind = EventKind::kDeclareFailed, .time = {}, .error = kRefusedDeclare});
  EXPECT_EQ(refused, absl::PermissionDeniedError(kRefusedDeclare));
  EXPECT_EQ(Run(), absl::OkStatus());
}

}  // namespace retryq::cli::broker_watch_test
