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

TEST_F(AmqpChannel, RespectsThePrefetch) {
  const std::string queue = NewQueue();
  Fill(queue, 10);
  channel_->Qos(3, [](const absl::Status&) {});
  channel_->Consume({.queue = queue}, [](const auto&) {});
  RunUntil(loop_, [&] { return log_.deliveries.size() == 3; });
  EXPECT_EQ(CountMessages(queue), 7U);
  channel_->Ack(2);
  RunUntil(loop_, [&] { return log_.deliveries.size() == 4; });
}

TEST_F(AmqpChannel, AcksAfterACancel) {
  const std::string queue = NewQueue();
  Fill(queue, 2);
  channel_->Consume({.queue = queue, .consumer_tag = "mine"}, [](const auto&) {});
  RunUntil(loop_, [&] { return log_.deliveries.size() == 2; });
  bool cancelled = false;
  channel_->Cancel("mine", [&](const absl::Status& status) {
    EXPECT_TRUE(status.ok()) << status;
    cancelled = true;
  });
  RunUntil(loop_, [&] { return cancelled; });
  channel_->Ack(1);
  bool closed = false;
  channel_->Close([&] { closed = true; });
  RunUntil(loop_, [&] { return closed; });
  EXPECT_EQ(CountMessages(queue), 1U);
}

TEST_F(AmqpChannel, ReportsThatItsQueueIsDeleted) {
  const std::string queue = NewQueue();
  bool consuming = false;
  channel_->Consume({.queue = queue, .consumer_tag = "mine"},
                    [&](const auto& tag) { consuming = tag.ok(); });
  RunUntil(loop_, [&] { return consuming; });
  ChannelLog other_log;
  const auto other = admin_->OpenChannel(&other_log);
  other->DeleteQueue(queue, [](const auto&) {});
  RunUntil(loop_, [&] { return log_.cancelled.size() == 1; });
  EXPECT_EQ(log_.cancelled[0], "mine");
  EXPECT_TRUE(channel_->is_open());
}

TEST_F(AmqpChannel, DeliversHeadersNested900Deep) {
  std::string headers;
  TableWriter(&headers).SetString("innermost", "x");
  for (int depth = 0; depth < 900; ++depth) {
    std::string outer(
        "\1t"
        "F",
        3);
    for (int shift = 24; shift >= 0; shift -= 8) {
      outer.push_back(static_cast<char>(headers.size() >> shift & 0xff));
    }
    headers = outer + headers;
  }
  const std::string queue = NewQueue();
  Properties properties;
  properties.headers = TableView(headers);
  channel_->ConfirmSelect([](const absl::Status&) {});
  channel_->Publish({.exchange = "", .routing_key = queue, .properties = properties},
                    [](const PublishResult&) {});
  channel_->Consume({.queue = queue}, [](const auto&) {});
  RunUntil(loop_, [&] { return log_.deliveries.size() == 1; });
  EXPECT_EQ(log_.deliveries[0]->properties.headers->bytes(), headers);
}

TEST_F(AmqpChannel, AcceptsHeaderFramesAboveTheFrameSize) {
  options_.frame_max = 8192;
  ConnectionLog small_log;
  Connection small(loop_, options_, &small_log);
  RunUntil(loop_, [&] { return small.is_open(); });
  EXPECT_EQ(small.max_header_size(), 8192U - 8);
  const std::string queue = NewQueue();
  std::string headers;
  TableWriter(&headers).SetString("large", std::string(60000, 'h'));
  Properties properties;
  properties.headers = TableView(headers);
  channel_->ConfirmSelect([](const absl::Status&) {});
  const std::string body(30000, 'b');
  channel_->Publish({.exchange = "", .routing_key = queue, .properties = properties, .body = body},
                    [](const PublishResult&) {});
  ChannelLog log;
  const auto channel = small.OpenChannel(&log);
  channel->Consume({.queue = queue}, [](const auto&) {});
  RunUntil(loop_, [&] { return log.deliveries.size() == 1; });
  EXPECT_EQ(log.deliveries[0]->properties.headers->bytes(), headers);
  EXPECT_EQ(log.deliveries[0]->body, body);
}

TEST_F(AmqpChannel, IsClosedFromTheStartWithoutAConnection) {
  options_.endpoints = {{.host = "127.0.0.1", .port = 1}};
  ConnectionLog log;
  Connection connection(loop_, options_, &log);
  ChannelLog channel_log;
  const auto channel = connection.OpenChannel(&channel_log);
  EXPECT_FALSE(channel->is_open());
  std::optional<PublishResult> answer;
  channel->Publish({.exchange = "", .routing_key = "q"},
                   [&](const PublishResult& result) { answer = result; });
  EXPECT_FALSE(answer);
  RunUntil(loop_, [&] { return answer && channel_log.closed.size() == 1; });
  EXPECT_EQ(answer->outcome, PublishOutcome::kUnknown);
  EXPECT_EQ(answer->code, 0);
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
