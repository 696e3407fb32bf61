// Credentials that change: a password, and OAuth 2 tokens that expire.

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <fstream>

#include "absl/strings/escaping.h"
#include "support/consume.h"
#include "support/own_broker.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_credentials_test {

class RetryCredentials : public OnOwnBroker<OrdersTest> {
 protected:
  void SetUp() override {
    OnOwnBroker::SetUp();
    if (IsSkipped()) return;
    options_ = Options();
  }

  // Sends messages and runs until the handler has been called this number of times.
  void ExpectCalls(std::size_t more) {
    Peer peer(vhost_.Url());  // the fixture's user loses its connection too
    const std::size_t end = calls_.size() + more;
    while (calls_.size() < end) {
      peer.Publish("", "orders", "one");
      const std::size_t handled = events_.Count(EventKind::kHandled) + 1;
      ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) >= handled; }));
    }
  }

  ClientOptions options_;
};

TEST_F(RetryCredentials, AChangedPasswordIsUsedByTheNextConnection) {
  const BrokerNode& node = broker().node();
  node.Control({"add_user", "worker", "old"});
  node.Control({"set_permissions", "-p", vhost_.name(), "worker", ".*", ".*", ".*"});
  std::string password = "old";
  options_.credentials = [&] { return Credentials{.user = "worker", .password = password}; };
  Client client(loop_, options_);
  const Consumer consumer = Consume(
      client, {.queue = "orders", .retry = Every(absl::Milliseconds(100))}, calls_.FailTimes(1));
  ExpectCalls(2);

  node.Control({"change_password", "worker", "new"});
  password = "new";
  node.Control({"close_all_user_connections", "worker", "rotated"});
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kConsuming) == 2; }));
  ExpectCalls(2);
}

// A symmetric key, so that the test can sign tokens.
class RetryTokens : public RetryCredentials {
 protected:
  static constexpr char kKey[] = "a key of tests, which nobody else has";

  void SetUp() override {
    RetryCredentials::SetUp();
    if (IsSkipped()) return;
    const BrokerNode& node = broker().node();
    std::ofstream(node.directory() + "/enabled_plugins")
        << "[rabbitmq_management,rabbitmq_auth_backend_oauth2].";
    node.Restart();
    node.Control(
        {"eval",
         absl::StrCat(
             "application:set_env(rabbitmq_auth_backend_oauth2, resource_server_id, "
             "<<\"rabbitmq\">>), application:set_env(rabbitmq_auth_backend_oauth2, key_config, "
             "[{default_key, <<\"k\">>}, {signing_keys, #{<<\"k\">> => {map, #{<<\"kty\">> => "
             "<<\"MAC\">>, <<\"alg\">> => <<\"HS256\">>, <<\"value\">> => <<\"",
             kKey,
             "\">>}}}}]), application:set_env(rabbit, auth_backends, "
             "[rabbit_auth_backend_internal, "
             "rabbit_auth_backend_oauth2]).")});
  }

  // A JSON Web Token with all rights, RFC 7519.
  static std::string Token(absl::Time expires) {
    const std::string text =
        absl::StrCat(absl::WebSafeBase64Escape(R"({"alg":"HS256","typ":"JWT","kid":"k"})"), ".",
                     absl::WebSafeBase64Escape(absl::StrCat(
                         R"({"sub":"worker","aud":["rabbitmq"],"scope":["rabbitmq.configure:*/*",)",
                         R"("rabbitmq.write:*/*","rabbitmq.read:*/*"],"exp":)",
                         absl::ToUnixSeconds(expires), "}")));
    unsigned char signature[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    HMAC(EVP_sha256(), kKey, sizeof(kKey) - 1, reinterpret_cast<const unsigned char*>(text.data()),
         text.size(), signature, &size);
    return absl::StrCat(text, ".",
                        absl::WebSafeBase64Escape(std::string(
                            reinterpret_cast<const char*>(signature), std::size_t{size})));
  }
};

TEST_F(RetryTokens, AreRenewedOnOpenConnections) {
  std::size_t asked = 0;
  options_.url = vhost_.Url("initial_frame_max=8192");
  options_.credentials = [&] {
    ++asked;
    const absl::Time expires = absl::Now() + absl::Seconds(10);
    return Credentials{.user = "worker", .password = Token(expires), .expires = expires};
  };
  Client client(loop_, options_);
  const Consumer consumer = Consume(
      client, {.queue = "orders", .retry = Every(absl::Milliseconds(100))}, calls_.FailTimes(1));
  ExpectCalls(2);
  const std::size_t at_first = asked;
  // Both connections have got a new token twice: by then the first token has expired.
  const absl::Time end = absl::Now() + absl::Minutes(1);
  while (asked < at_first + 4 && absl::Now() < end) ExpectCalls(2);
  ASSERT_GE(asked, at_first + 4);
  ExpectCalls(2);
  EXPECT_EQ(events_.Count(EventKind::kDisconnected), 0U);
  EXPECT_EQ(events_.Count(EventKind::kInterrupted), 0U);
  EXPECT_EQ(events_.Count(EventKind::kConsuming), 1U);
}

}  // namespace retryq::testing::retry_credentials_test
