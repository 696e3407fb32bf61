#include "integration/amqp_fixture.h"
#include "support/proxy.h"
#include "support/test.h"

namespace retryq::amqp::amqp_connection_test {

using retryq::testing::Proxy;

class AmqpConnection : public AmqpTest {
 protected:
  // The error of a connection that cannot be made.
  absl::Status FailToConnect(const ConnectionOptions& options) {
    ConnectionLog log;
    Connection connection(loop_, options, &log);
    RunUntil(loop_, [&] { return !log.lost.empty(); });
    EXPECT_EQ(log.opened, 0);
    EXPECT_EQ(log.lost.size(), 1U);
    return log.lost[0];
  }

  ConnectionLog log_;
};

TEST_F(AmqpConnection, ReportsTheBrokersVersionAndFrameSize) {
  EXPECT_THAT(admin_->server_version(), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+.*"));
  EXPECT_EQ(admin_->max_header_size(), 131072U - 8);
}

TEST_F(AmqpConnection, WaitsTheMaximumPauseAfterARefusedLogin) {
  Proxy proxy(loop_, options_.endpoints[0].port);
  options_.endpoints[0].port = proxy.port();
  options_.password = "wrong";
  options_.reconnect_initial = absl::Milliseconds(1);
  options_.reconnect_max = absl::Seconds(600);
  Connection connection(loop_, options_, &log_);
  RunUntil(loop_, [&] { return log_.lost.size() == 1; });
  RunFor(loop_, absl::Milliseconds(200));
  EXPECT_EQ(proxy.accepted(), 1);
}

TEST_F(AmqpConnection, ReportsAnUnknownHost) {
  options_.endpoints = {{.host = "no-such-host.invalid", .port = 5672}};
  const absl::Status status = FailToConnect(options_);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("no-such-host.invalid"));
}

TEST_F(AmqpConnection, ReconnectsOnRequest) {
  Connection connection(loop_, options_, &log_);
  connection.Reconnect(absl::UnavailableError("too early"));
  RunUntil(loop_, [&] { return log_.opened == 1; });
  connection.Reconnect(absl::UnavailableError("enough"));
  EXPECT_THAT(log_.lost, ::testing::IsEmpty());
  RunUntil(loop_, [&] { return log_.opened == 2; });
  ASSERT_EQ(log_.lost.size(), 1U);
  EXPECT_EQ(log_.lost[0].message(), "enough");
}

TEST_F(AmqpConnection, TreatsASilentPeerAsDead) {
  Proxy proxy(loop_, options_.endpoints[0].port);
  options_.endpoints[0].port = proxy.port();
  options_.heartbeat = absl::Seconds(1);
  Connection connection(loop_, options_, &log_);
  RunUntil(loop_, [&] { return log_.opened == 1; });
  proxy.Freeze();
  RunUntil(loop_, [&] { return !log_.lost.empty(); });
  EXPECT_THAT(std::string(log_.lost[0].message()), HasSubstr("nothing received for 2s"));
}

}  // namespace retryq::amqp::amqp_connection_test
