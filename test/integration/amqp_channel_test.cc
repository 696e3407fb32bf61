#include "integration/amqp_fixture.h"
#include "support/test.h"

namespace retryq::amqp::amqp_channel_test {

class AmqpChannel : public AmqpTest {
 protected:
  void SetUp() override {
    AmqpTest::SetUp();
    channel_ = admin_->OpenChannel(&log_);
  }
  void TearDown() override {
    channel_.reset();
    AmqpTest::TearDown();
  }

  ChannelLog log_;
  std::unique_ptr<Channel> channel_;
};

TEST_F(AmqpChannel, DeclaresBindsPurgesAndDeletes) {
  const std::string queue = NewQueueName();
  const std::string exchange = NewExchangeName();
  std::vector<std::string> answers;
  const auto note = [&](const char* what) {
    return [&answers, what](const absl::Status& status) {
      EXPECT_TRUE(status.ok()) << status;
      answers.emplace_back(what);
    };
  };
  channel_->DeclareQueue({.name = queue, .arguments = Table{{"x-queue-type", "classic"}}},
                         [&](const absl::StatusOr<DeclareOk>& ok) {
                           EXPECT_TRUE(ok.ok()) << ok.status();
                           answers.emplace_back("queue");
                         });
  channel_->DeclareExchange({.name = exchange, .type = "topic"}, note("exchange"));
  channel_->CheckExchange(exchange, note("check"));
  channel_->BindQueue(queue, exchange, "a.*", Table(), note("bind"));
  channel_->ConfirmSelect(note("confirm"));
  channel_->Publish({.exchange = exchange, .routing_key = "a.b", .body = "x"},
                    [&](const PublishResult& result) {
                      EXPECT_EQ(result.outcome, PublishOutcome::kConfirmed);
                      channel_->PurgeQueue(queue, [&](const absl::StatusOr<std::uint32_t>& count) {
                        EXPECT_EQ(count.value(), 1U);
                        answers.emplace_back("purge");
                      });
                      channel_->DeleteQueue(queue, [&](const absl::StatusOr<std::uint32_t>& count) {
                        EXPECT_EQ(count.value(), 0U);
                        answers.emplace_back("delete");
                      });
                    });
  RunUntil(loop_, [&] { return answers.size() == 7; });
  EXPECT_THAT(answers, ::testing::ElementsAre("queue", "exchange", "check", "bind", "confirm",
                                              "purge", "delete"));
}

TEST_F(AmqpChannel, SurvivesExhaustedChannelNumbers) {
  options_.channel_max = 2;
  ConnectionLog log;
  Connection connection(loop_, options_, &log);
  RunUntil(loop_, [&] { return connection.is_open(); });
  ChannelLog first_log;
  ChannelLog second_log;
  ChannelLog third_log;
  auto first = connection.OpenChannel(&first_log);
  const auto second = connection.OpenChannel(&second_log);
  const auto third = connection.OpenChannel(&third_log);
  EXPECT_TRUE(second->is_open());
  RunUntil(loop_, [&] { return third_log.closed.size() == 1; });
  EXPECT_THAT(std::string(third_log.closed[0].status.message()), HasSubstr("channel_max"));
  bool closed = false;
  first->Close([&] { closed = true; });
  RunUntil(loop_, [&] { return closed; });
  EXPECT_TRUE(connection.OpenChannel(&first_log)->is_open());
}

}  // namespace retryq::amqp::amqp_channel_test
