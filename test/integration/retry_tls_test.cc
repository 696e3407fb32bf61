// The whole path of a message over TLS, with the library and with the command.

#include <nlohmann/json.hpp>

#include "integration/command_run.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_tls_test {

constexpr const char* kSkipped = "RETRYQ_TLS_URL names no broker that speaks TLS";

class RetryTls : public RetryTest {
 protected:
  void SetUp() override {
    if (!HasTlsUrl()) GTEST_SKIP() << kSkipped;
    peer_.DeclareQueue("orders");
  }
};

TEST_F(RetryTls, ReturnsAMessageAndReconnectsAfterACut) {
  ClientOptions options = Options();
  options.url = vhost_.TlsUrl();
  Client client(loop_, options);
  const auto consumer = client.Consume({.queue = "orders", .retry = Every(absl::Milliseconds(50))},
                                       calls_.FailTimes(1));
  ASSERT_TRUE(consumer.ok()) << consumer.status();

  peer_.Publish("", "orders", "one");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == 1; }));
  EXPECT_EQ(calls_.size(), 2U);

  ASSERT_TRUE(CloseConnectionsUntil([&] { return events_.Count(EventKind::kDisconnected) >= 1; }));
  peer_.Publish("", "orders", "two");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == 2; }));
  EXPECT_EQ(calls_.size(), 4U);
  EXPECT_EQ(calls_.back().body(), "two");
}

class CommandTls : public CommandTest {
 protected:
  void SetUp() override {
    if (!HasTlsUrl()) GTEST_SKIP() << kSkipped;
    CommandTest::SetUp();
  }
};

TEST_F(CommandTls, SendsAndWorks) {
  CommandRun send({"send", "--queue", "orders", "--url", vhost_.TlsUrl(), "an order"}, "");
  ASSERT_EQ(send.Wait(), 0) << send.err();
  CommandRun work({"work", "--json", "--queue", "orders", "--base", "50ms", "--url",
                   vhost_.TlsUrl(), "--", "sh", "-c", "test $RETRYQ_ATTEMPT = 1"},
                  "");
  ASSERT_TRUE(work.Says("acked"));
  ASSERT_TRUE(work.Stop());
  EXPECT_EQ(work.events("retried").size(), 1U);
}

}  // namespace retryq::testing::retry_tls_test
