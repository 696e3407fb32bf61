#ifndef RETRYQ_TEST_INTEGRATION_AMQP_FIXTURE_H_
#define RETRYQ_TEST_INTEGRATION_AMQP_FIXTURE_H_

#include "retryq/amqp/connection.h"
#include "retryq/amqp/make_broker.h"
#include "retryq/event_loop.h"
#include "support/test.h"

namespace retryq::amqp {

// Runs `loop` until `condition` holds, which is checked repeatedly. Ends the test, by an exception,
// if it does not hold within `deadline`.
inline void RunUntil(EventLoop& loop, const std::function<bool()>& condition,
                     absl::Duration deadline = absl::Seconds(20)) {
  const absl::Duration end = loop.clock().SinceBoot() + deadline;
  std::unique_ptr<Timer> timer;
  const std::function<void()> look = [&] {
    if (condition() || loop.clock().SinceBoot() > end) return loop.Stop();
    timer = loop.After(absl::Milliseconds(1), look);
  };
  timer = loop.After(absl::ZeroDuration(), look);
  EXPECT_EQ(loop.Run(), absl::OkStatus());
  if (!condition()) throw std::runtime_error("not within " + absl::FormatDuration(deadline));
}

// Runs the loop for a while, to check that nothing happens.
inline void RunFor(EventLoop& loop, absl::Duration duration) {
  const auto timer = loop.After(duration, [&] { loop.Stop(); });
  EXPECT_EQ(loop.Run(), absl::OkStatus());
}

// Records the events of a connection and its channels.
class ConnectionLog final : public ConnectionListener {
 public:
  void OnOpen() override { ++opened; }
  void OnLost(const absl::Status& why) override { lost.push_back(why); }
  void OnBlocked(bool is_blocked, std::string_view) override { blocked = is_blocked; }

  int opened = 0;
  std::vector<absl::Status> lost;
  bool blocked = false;
};

class ChannelLog final : public ChannelListener {
 public:
  void OnDelivery(std::string_view, MessagePtr message) override {
    deliveries.push_back(std::move(message));
  }
  void OnConsumerCancelled(std::string_view tag) override { cancelled.emplace_back(tag); }
  void OnChannelClosed(const ChannelError& why) override { closed.push_back(why); }

  std::vector<MessagePtr> deliveries;
  std::vector<std::string> cancelled;
  std::vector<ChannelError> closed;
};

class BrokerLog final : public BrokerListener {
 public:
  void OnReady() override { ++ready; }
  void OnLost(const absl::Status& why) override { lost.push_back(why); }
  void OnBlocked(bool is_blocked, std::string_view) override { blocked = is_blocked; }

  int ready = 0;
  std::vector<absl::Status> lost;
  bool blocked = false;
};

class SubscriptionLog final : public SubscriptionListener {
 public:
  void OnSubscribed() override { ++subscribed; }
  void OnDelivery(MessagePtr message) override { deliveries.push_back(std::move(message)); }
  void OnInterrupted(const absl::Status& why) override { interrupted.push_back(why); }

  int subscribed = 0;
  std::vector<MessagePtr> deliveries;
  std::vector<absl::Status> interrupted;
};

// A test on the broker at RETRYQ_URL, with a loop, unique names, and a connection for the setup.
// Named objects are deleted at the end.
class AmqpTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* url = std::getenv("RETRYQ_URL");
    ASSERT_NE(url, nullptr) << "set RETRYQ_URL to a RabbitMQ made for tests, as "
                               "eval \"export $(third_party/rabbitmq/broker start)\" does";
    const auto parsed = ParseUri(url);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    options_ = *parsed;
    options_.connection_name = TestName();
    admin_ = std::make_unique<Connection>(loop_, options_, &admin_log_);
    RunUntil(loop_, [&] { return admin_->is_open(); });
  }

  void TearDown() override {
    if (admin_ == nullptr) return;
    RunUntil(loop_, [&] { return admin_->is_open(); });
    ChannelLog log;
    const auto channel = admin_->OpenChannel(&log);
    int open = 0;
    const auto done = [&](const auto&) { --open; };
    for (const std::string& queue : queues_) channel->DeleteQueue(queue, (++open, done));
    for (const std::string& exchange : exchanges_)
      channel->DeleteExchange(exchange, (++open, done));
    RunUntil(loop_, [&] { return open == 0; });
  }

  static std::string TestName() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    return absl::StrCat(test->test_suite_name(), ".", test->name());
  }

  // Unique names, whose objects are deleted with the test.
  std::string NewQueueName() { return queues_.emplace_back(NewName()); }
  std::string NewExchangeName() { return exchanges_.emplace_back(NewName()); }
  std::string NewName() { return absl::StrCat(TestName(), ".", absl::Hex(loop_.random().Next())); }

  // A declared, empty classic queue.
  std::string NewQueue() {
    std::string name = NewQueueName();
    ChannelLog log;
    const auto channel = admin_->OpenChannel(&log);
    bool declared = false;
    channel->DeclareQueue({.name = name}, [&](const auto& ok) {
      EXPECT_TRUE(ok.ok()) << ok.status();
      declared = true;
    });
    RunUntil(loop_, [&] { return declared; });
    return name;
  }

  // Messages that are ready in a queue.
  std::uint32_t CountMessages(const std::string& queue) {
    ChannelLog log;
    const auto channel = admin_->OpenChannel(&log);
    absl::StatusOr<DeclareOk> answer = absl::UnknownError("");
    channel->DeclareQueue({.name = queue, .passive = true},
                          [&](const absl::StatusOr<DeclareOk>& ok) { answer = ok; });
    RunUntil(loop_, [&] { return !absl::IsUnknown(answer.status()); });
    return answer.ok() ? answer->message_count : 0;
  }

  // The broker counts requeued messages, and messages that were published without confirms, a
  // little later.
  void WaitForMessages(const std::string& queue, std::uint32_t count) {
    const absl::Duration end = loop_.clock().SinceBoot() + absl::Seconds(10);
    while (CountMessages(queue) != count && loop_.clock().SinceBoot() < end) {
      RunFor(loop_, absl::Milliseconds(5));
    }
    EXPECT_EQ(CountMessages(queue), count);
  }

  EventLoop loop_;
  ConnectionOptions options_;
  ConnectionLog admin_log_;
  std::unique_ptr<Connection> admin_;
  std::vector<std::string> queues_;
  std::vector<std::string> exchanges_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_TEST_INTEGRATION_AMQP_FIXTURE_H_
