#include <optional>
#include <string>

#include "integration/amqp_fixture.h"
#include "integration/temporary_user.h"
#include "support/proxy.h"

namespace retryq::amqp {
namespace amqp_connection_test {

using retryq::testing::Proxy;
using ::testing::HasSubstr;

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

TEST_F(AmqpConnection, ReportsAMissingPermissionForAVhost) {
  const TemporaryUser user("stranger", "secret", std::nullopt);
  options_.user = "stranger";
  options_.password = "secret";
  const absl::Status status = FailToConnect(options_);
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("user 'stranger'"));
}

TEST_F(AmqpConnection, ReportsAnUnknownHost) {
  options_.endpoints = {{.host = "no-such-host.invalid", .port = 5672}};
  const absl::Status status = FailToConnect(options_);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("no-such-host.invalid"));
}

TEST_F(AmqpConnection, GivesUpOnAPeerThatNeverAnswers) {
  Proxy proxy(loop_, options_.endpoints[0].port);
  options_.endpoints[0].port = proxy.port();
  options_.handshake_timeout = absl::Milliseconds(100);
  ConnectionLog log;
  Connection connection(loop_, options_, &log);
  RunUntil(loop_, [&] {
    proxy.Freeze();
    return !log.lost.empty();
  });
  EXPECT_THAT(std::string(log.lost[0].message()), HasSubstr("does not reply"));
}

TEST_F(AmqpConnection, TriesTheNextEndpoint) {
  Proxy proxy(loop_, 1);  // nobody is behind it
  options_.shuffle_endpoints = false;
  options_.endpoints = {{.host = "127.0.0.1", .port = proxy.port()},
                        {.host = "localhost", .port = options_.endpoints[0].port}};
  Connection connection(loop_, options_, &log_);
  RunUntil(loop_, [&] { return log_.opened == 1; });
  EXPECT_EQ(proxy.accepted(), 1);
  EXPECT_TRUE(log_.lost.empty());
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

TEST_F(AmqpConnection, ReconnectsAfterALostConnection) {
  Proxy proxy(loop_, options_.endpoints[0].port);
  options_.endpoints[0].port = proxy.port();
  Connection connection(loop_, options_, &log_);
  RunUntil(loop_, [&] { return log_.opened == 1; });
  ChannelLog channel_log;
  const auto channel = connection.OpenChannel(&channel_log);

  proxy.Cut();
  RunUntil(loop_, [&] { return !log_.lost.empty(); });
  EXPECT_TRUE(absl::IsUnavailable(log_.lost[0])) << log_.lost[0];
  EXPECT_EQ(channel_log.closed.size(), 1U);
  EXPECT_FALSE(channel->is_open());
  EXPECT_FALSE(connection.is_open());
  RunUntil(loop_, [&] { return log_.opened == 2; });
}

TEST_F(AmqpConnection, TreatsASilentPeerAsDead) {
  Proxy proxy(loop_, options_.endpoints[0].port);
  options_.endpoints[0].port = proxy.port();
  options_.heartbeat = absl::Seconds(1);
  Connection connection(loop_, options_, &log_);
  RunUntil(loop_, [&] { return log_.opened == 1; });
  proxy.Freeze();
  RunUntil(loop_, [&] { return !log_.lost.empty(); });
  EXPECT_THAT(std::string(log_.lost[0].message()), HasSubstr("not a sign of life for 2s"));
}

TEST_F(AmqpConnection, ClosesCleanly) {
  Connection connection(loop_, options_, &log_);
  RunUntil(loop_, [&] { return log_.opened == 1; });
  const std::string queue = NewQueue();
  ChannelLog channel_log;
  const auto channel = connection.OpenChannel(&channel_log);
  channel->ConfirmSelect([](const absl::Status&) {});
  int confirmed = 0;
  channel->Publish({.exchange = "", .routing_key = queue, .body = "last words"},
                   [&](const PublishResult& result) {
                     confirmed += result.outcome == PublishOutcome::kConfirmed ? 1 : 0;
                   });
  bool closed = false;
  connection.Close(absl::Seconds(10), [&] { closed = true; });
  RunUntil(loop_, [&] { return closed; });
  EXPECT_EQ(log_.lost.size(), 0U);
  WaitForMessages(queue, 1);
}

TEST_F(AmqpConnection, ClosesWithinItsDeadlineWhenTheBrokerIsSilent) {
  Proxy proxy(loop_, options_.endpoints[0].port);
  options_.endpoints[0].port = proxy.port();
  Connection connection(loop_, options_, &log_);
  RunUntil(loop_, [&] { return log_.opened == 1; });
  proxy.Freeze();
  bool closed = false;
  connection.Close(absl::Milliseconds(50), [&] { closed = true; });
  RunUntil(loop_, [&] { return closed; });
}

// The broker's own users have no secret that expires, but it answers nevertheless.
TEST_F(AmqpConnection, SendsANewSecretAndLogsInWithIt) {
  const testing::Json rights = {{"configure", ""}, {"write", ""}, {"read", ""}};
  const std::string name = absl::StrCat("renewer-", absl::Hex(loop_.random().Next()));
  const TemporaryUser user(name, "first", rights);
  Proxy proxy(loop_, options_.endpoints[0].port);
  options_.endpoints[0].port = proxy.port();
  options_.user = name;
  options_.password = "first";
  Connection connection(loop_, options_, &log_);
  RunUntil(loop_, [&] { return log_.opened == 1; });

  user.SetPassword("second");
  std::optional<absl::Status> answer;
  connection.UpdateSecret("second", [&](const absl::Status& status) { answer = status; });
  RunUntil(loop_, [&] { return answer.has_value(); });
  EXPECT_TRUE(answer->ok()) << *answer;
  EXPECT_TRUE(connection.is_open());

  proxy.Cut();
  RunUntil(loop_, [&] { return log_.opened == 2; });
  EXPECT_EQ(log_.lost.size(), 1U);
}

}  // namespace amqp_connection_test
}  // namespace retryq::amqp
