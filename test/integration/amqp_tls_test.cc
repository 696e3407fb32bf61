// A login by certificate on the broker at RETRYQ_TLS_URL.

#include <nlohmann/json.hpp>

#include "integration/amqp_fixture.h"
#include "support/management.h"
#include "support/test.h"
#include "support/test_vhost.h"

namespace retryq::amqp::amqp_tls_test {

// A user of the broker, who may log in. Gone with the object.
class TemporaryUser {
 public:
  explicit TemporaryUser(const std::string& name) : name_(name) {
    management_.Put("/users/" + name, {{"password", "not used"}, {"tags", ""}});
    management_.Put("/permissions/%2f/" + name, {{"configure", ""}, {"write", ""}, {"read", ""}});
  }
  ~TemporaryUser() { management_.Delete("/users/" + name_); }
  TemporaryUser(const TemporaryUser&) = delete;
  TemporaryUser& operator=(const TemporaryUser&) = delete;

 private:
  const testing::Management management_{testing::ManagementUrl()};
  const std::string name_;
};

class AmqpTls : public AmqpTest {
 protected:
  void SetUp() override {
    const char* url = std::getenv("RETRYQ_TLS_URL");
    if (url == nullptr || *url == '\0')
      GTEST_SKIP() << "RETRYQ_TLS_URL names no broker that speaks TLS";
    AmqpTest::SetUp();
    const auto parsed = ParseUri(url);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    options_ = *parsed;
    options_.connection_name = TestName();
  }

  // Ok if a connection is opened, otherwise the error.
  absl::Status Open() {
    ConnectionLog log;
    Connection connection(loop_, options_, &log);
    RunUntil(loop_, [&] { return !log.lost.empty() || log.opened > 0; });
    return log.lost.empty() ? absl::OkStatus() : log.lost[0];
  }
};

TEST_F(AmqpTls, LogsInWithItsCertificateAfterItsUserIsAdded) {
  const char* directory = std::getenv("RETRYQ_TLS_CERTIFICATES");
  ASSERT_NE(directory, nullptr);
  options_.tls->cert_file = absl::StrCat(directory, "/client.pem");
  options_.tls->key_file = absl::StrCat(directory, "/client.key");
  options_.auth_mechanism = AuthMechanism::kExternal;
  options_.user = "nobody";
  const absl::Status status = Open();
  EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the user of the client certificate"));

  const TemporaryUser user("retryq-client");
  EXPECT_EQ(Open(), absl::OkStatus());
}

}  // namespace retryq::amqp::amqp_tls_test
