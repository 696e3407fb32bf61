// A connection over TLS, to the broker at RETRYQ_TLS_URL.

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "integration/amqp_fixture.h"
#include "integration/temporary_user.h"
#include "support/proxy.h"

namespace retryq::amqp {
namespace amqp_tls_test {

using retryq::testing::Proxy;
using ::testing::HasSubstr;

class AmqpTls : public AmqpTest {
 protected:
  void SetUp() override {
    const char* url = std::getenv("RETRYQ_TLS_URL");
    if (url == nullptr || *url == '\0')
      GTEST_SKIP() << "RETRYQ_TLS_URL names no broker that speaks TLS";
    AmqpTest::SetUp();
    const auto parsed = ParseUri(url);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    plain_endpoints_ = options_.endpoints;
    options_ = *parsed;
    options_.connection_name = TestName();
  }

  // Of the ones that the broker's authority has signed.
  void UseClientCertificate() {
    const char* directory = std::getenv("RETRYQ_TLS_CERTIFICATES");
    ASSERT_NE(directory, nullptr);
    options_.tls->cert_file = absl::StrCat(directory, "/client.pem");
    options_.tls->key_file = absl::StrCat(directory, "/client.key");
  }

  void Open(Connection&) {
    RunUntil(loop_, [&] { return log_.opened > 0 || !log_.lost.empty(); });
    ASSERT_TRUE(log_.lost.empty()) << log_.lost[0];
  }

  absl::Status Failure() {
    ConnectionLog log;
    Connection connection(loop_, options_, &log);
    RunUntil(loop_, [&] { return !log.lost.empty() || log.opened > 0; });
    EXPECT_EQ(log.opened, 0);
    return log.lost.empty() ? absl::OkStatus() : log.lost[0];
  }

  void PublishAndConfirm(Connection& connection, const std::string& queue,
                         const std::string& body) {
    ChannelLog channel_log;
    const auto channel = connection.OpenChannel(&channel_log);
    channel->ConfirmSelect([](const absl::Status&) {});
    std::optional<PublishOutcome> outcome;
    channel->Publish({.exchange = "", .routing_key = queue, .body = body},
                     [&](const PublishResult& result) { outcome = result.outcome; });
    RunUntil(loop_, [&] { return outcome.has_value(); });
    EXPECT_EQ(outcome, PublishOutcome::kConfirmed);
  }

  std::vector<Endpoint> plain_endpoints_;
  ConnectionLog log_;
};

TEST_F(AmqpTls, LogsInByPassword) {
  Connection connection(loop_, options_, &log_);
  Open(connection);
  EXPECT_FALSE(connection.server_version().empty());
}

TEST_F(AmqpTls, ConnectsByHostName) {
  options_.endpoints[0].host = "localhost";
  Connection connection(loop_, options_, &log_);
  Open(connection);
}

TEST_F(AmqpTls, LogsInWithItsCertificateAfterItsUserIsAdded) {
  UseClientCertificate();
  options_.auth_mechanism = AuthMechanism::kExternal;
  options_.user = "nobody";
  const absl::Status status = Failure();
  EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the user of the client certificate"));

  const TemporaryUser user("retryq-client", "not used",
                           testing::Json{{"configure", ""}, {"write", ""}, {"read", ""}});
  Connection connection(loop_, options_, &log_);
  Open(connection);
}

TEST_F(AmqpTls, ReportsThatAPortIsForTls) {
  options_.tls.reset();
  EXPECT_THAT(std::string(Failure().message()), HasSubstr("amqps://"));
}

TEST_F(AmqpTls, ReconnectsAfterALostConnection) {
  const std::string queue = NewQueue();
  Proxy proxy(loop_, options_.endpoints[0].port);
  options_.endpoints[0].port = proxy.port();
  Connection connection(loop_, options_, &log_);
  Open(connection);
  PublishAndConfirm(connection, queue, "before");
  proxy.Cut();
  RunUntil(loop_, [&] { return log_.opened == 2; });
  PublishAndConfirm(connection, queue, std::string(std::size_t{1} << 20, 'a'));
  WaitForMessages(queue, 2);
}

TEST_F(AmqpTls, ClosesCleanly) {
  const std::string queue = NewQueue();
  Connection connection(loop_, options_, &log_);
  Open(connection);
  ChannelLog channel_log;
  const auto channel = connection.OpenChannel(&channel_log);
  channel->Publish({.exchange = "", .routing_key = queue, .body = "last words"},
                   [](const PublishResult&) {});
  bool closed = false;
  connection.Close(absl::Seconds(10), [&] { closed = true; });
  RunUntil(loop_, [&] { return closed; });
  WaitForMessages(queue, 1);
}

}  // namespace amqp_tls_test
}  // namespace retryq::amqp
