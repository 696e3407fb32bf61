#include <memory>
#include <optional>
#include <string>

#include "integration/amqp_fixture.h"

namespace retryq::amqp {
namespace amqp_channel_test {

using ::testing::HasSubstr;

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

  // Puts `count` messages into the queue, numbered.
  void Fill(const std::string& queue, int count) {
    ChannelLog log;
    const auto channel = admin_->OpenChannel(&log);
    channel->ConfirmSelect([](const absl::Status&) {});
    int open = count;
    for (int i = 0; i < count; ++i) {
      channel->Publish({.exchange = "", .routing_key = queue, .body = absl::StrCat(i)},
                       [&](const PublishResult& result) {
                         EXPECT_EQ(result.outcome, PublishOutcome::kConfirmed);
                         --open;
                       });
    }
    RunUntil(loop_, [&] { return open == 0; });
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

TEST_F(AmqpChannel, ARefusalDoesNotAffectOtherChannels) {
  ChannelLog other_log;
  const auto other = admin_->OpenChannel(&other_log);
  std::vector<absl::Status> answers;
  channel_->DeclareQueue({.name = "no such queue", .passive = true},
                         [&](const auto& ok) { answers.push_back(ok.status()); });
  channel_->CheckExchange("amq.topic", [&](absl::Status status) { answers.push_back(status); });
  RunUntil(loop_, [&] { return log_.closed.size() == 1; });
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_TRUE(absl::IsNotFound(answers[0])) << answers[0];
  EXPECT_THAT(std::string(answers[0].message()),
              HasSubstr("looking for queue 'no such queue': 404"));
  EXPECT_EQ(log_.closed[0].code, 404);
  EXPECT_EQ(log_.closed[0].class_id, 50);
  EXPECT_EQ(log_.closed[0].method_id, 10);
  EXPECT_FALSE(channel_->is_open());

  bool checked = false;
  other->CheckExchange("amq.topic", [&](const absl::Status& status) {
    EXPECT_TRUE(status.ok()) << status;
    checked = true;
  });
  RunUntil(loop_, [&] { return checked; });

  absl::Status late;
  channel_->CheckExchange("amq.topic", [&](absl::Status status) { late = status; });
  EXPECT_TRUE(late.ok());
  RunUntil(loop_, [&] { return !late.ok(); });
  EXPECT_TRUE(absl::IsUnavailable(late)) << late;
  EXPECT_EQ(log_.closed.size(), 1U);
}

TEST_F(AmqpChannel, DeliversAcksAndRejects) {
  const std::string queue = NewQueue();
  Fill(queue, 10);
  std::string tag;
  channel_->Qos(0, [](const absl::Status&) {});
  channel_->Consume({.queue = queue}, [&](absl::StatusOr<std::string> answer) { tag = *answer; });
  RunUntil(loop_, [&] { return log_.deliveries.size() == 10; });
  EXPECT_FALSE(tag.empty());
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(log_.deliveries[i]->body, absl::StrCat(i));
    EXPECT_EQ(log_.deliveries[i]->delivery_tag,
              (DeliveryTag{.generation = channel_->generation(), .tag = i + 1}));
  }
  for (const std::uint64_t acked : {1U, 2U, 3U, 5U, 9U}) channel_->Ack(acked);
  channel_->Ack(5);   // twice is once
  channel_->Ack(77);  // never delivered
  channel_->Reject(4, false);
  channel_->Reject(6, true);
  RunUntil(loop_, [&] { return log_.deliveries.size() == 11; });
  EXPECT_EQ(log_.deliveries[10]->body, "5");
  EXPECT_TRUE(log_.deliveries[10]->redelivered);
  channel_.reset();  // 7, 8, 10 and the one delivered again are requeued
  WaitForMessages(queue, 4);
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

}  // namespace amqp_channel_test
}  // namespace retryq::amqp
