#include "integration/amqp_fixture.h"
#include "support/proxy.h"
#include "support/test.h"

namespace retryq::amqp::amqp_broker_test {

using retryq::testing::Proxy;

class AmqpBroker : public AmqpTest {
 protected:
  void SetUp() override {
    AmqpTest::SetUp();
    broker_ = MakeBroker(loop_, options_);
    broker_->SetListener(&log_);
    RunUntil(loop_, [&] { return log_.ready == 1; });
  }
  void TearDown() override {
    broker_.reset();
    AmqpTest::TearDown();
  }

  absl::StatusOr<DeclareOk> Declare(const DeclareParams& params) {
    absl::StatusOr<DeclareOk> answer = absl::UnknownError("");
    broker_->Declare(params, [&](absl::StatusOr<DeclareOk> ok) { answer = std::move(ok); });
    RunUntil(loop_, [&] { return !absl::IsUnknown(answer.status()); });
    return answer;
  }

  PublishResult Publish(const PublishParams& params) {
    std::optional<PublishResult> answer;
    broker_->Publish(params, [&](const PublishResult& result) {
      answer = result;
      answer->text = {};
    });
    EXPECT_FALSE(answer);
    RunUntil(loop_, [&] { return answer.has_value(); });
    return *answer;
  }

  BrokerLog log_;
  std::unique_ptr<Broker> broker_;
};

TEST_F(AmqpBroker, AnswersConcurrentDeclaresIndependently) {
  int good = 0;
  int bad = 0;
  for (int i = 0; i < 50; ++i) {
    const bool exists = i % 2 == 0;
    broker_->Declare(
        {.queue = {.name = exists ? NewQueueName() : "no such queue", .passive = !exists}},
        [&, exists](absl::StatusOr<DeclareOk> ok) {
          EXPECT_EQ(ok.ok(), exists) << ok.status();
          ++(exists ? good : bad);
        });
  }
  RunUntil(loop_, [&] { return good == 25 && bad == 25; });
}

// Properties with every kind of field.
class AllKinds {
 public:
  explicit AllKinds(int number) {
    const Table table = {
        {"number", std::int64_t{number}},
        {"bool", true},
        {"int8", Value(std::int8_t{-3})},
        {"uint8", Value(std::uint8_t{3})},
        {"int16", Value(std::int16_t{-300})},
        {"uint16", Value(std::uint16_t{300})},
        {"int32", Value(std::int32_t{-70000})},
        {"uint32", Value(std::uint32_t{70000})},
        {"float", Value(1.5F)},
        {"double", Value(2.25)},
        {"decimal", Value(Decimal{.scale = 2, .unscaled = 314})},
        {"timestamp", Value(Timestamp{.seconds = 1700000000})},
        {"text", "zebra"},
        {"bytes", Value(Bytes{.data = std::string("\0\1\2", 3)})},
        {"void", Value()},
        {"array", Value(Array{Value("b"), Value("a"), Value(std::int64_t{1})})},
        {"z", Table{{"b", "2"}, {"a", "1"}}},
        {"CC", Value(Array{Value("nowhere.cc")})},
        {"BCC", Value(Array{Value("nowhere.bcc")})},
        {"a", "last"},
    };
    headers_ = table.Encode().value();
    properties = {.content_type = "text/plain",
                  .content_encoding = "identity",
                  .headers = TableView(headers_),
                  .delivery_mode = 2,
                  .priority = 3,
                  .correlation_id = "correlation",
                  .reply_to = "reply",
                  .expiration = "60000",
                  .message_id = "id",
                  .timestamp = 1700000000,
                  .type = "type",
                  .user_id = "guest",
                  .app_id = "app",
                  .cluster_id = "cluster"};
  }
  AllKinds(const AllKinds&) = delete;
  AllKinds& operator=(const AllKinds&) = delete;

  Properties properties;

 private:
  std::string headers_;
};

TEST_F(AmqpBroker, ConfirmsOrReturnsEachOfManyPublishes) {
  constexpr int kCount = 10000;
  const std::string queue = NewQueue();
  int confirmed = 0;
  int returned = 0;
  for (int i = 0; i < kCount; ++i) {
    const bool routable = i % 2 == 0;
    const AllKinds kinds(i % 100);
    const std::string body = absl::StrCat("body ", i % 1000);  // some are alike
    broker_->Publish({.exchange = "",
                      .routing_key = routable ? queue : "no such queue",
                      .properties = kinds.properties,
                      .body = body},
                     [&, routable](const PublishResult& result) {
                       EXPECT_EQ(result.outcome,
                                 routable ? PublishOutcome::kConfirmed : PublishOutcome::kReturned);
                       EXPECT_EQ(result.code, routable ? 0 : 312);
                       EXPECT_EQ(result.text, routable ? "" : "NO_ROUTE");
                       ++(routable ? confirmed : returned);
                     });
    if (i % 500 == 0) RunFor(loop_, absl::Milliseconds(1));
  }
  RunUntil(
      loop_, [&] { return confirmed + returned == kCount; }, absl::Seconds(60));
  EXPECT_EQ(CountMessages(queue), static_cast<std::uint32_t>(kCount / 2));
}

TEST_F(AmqpBroker, DoesNotReturnPublishesThatAreNotMandatory) {
  EXPECT_EQ(Publish({.exchange = "", .routing_key = "no such queue", .mandatory = false}).outcome,
            PublishOutcome::kConfirmed);
}

TEST_F(AmqpBroker, ContinuesAfterPublishesToAMissingExchange) {
  const std::string queue = NewQueue();
  int unknown = 0;
  int confirmed = 0;
  std::function<void(const PublishResult&)> again = [&](const PublishResult& result) {
    if (result.outcome == PublishOutcome::kConfirmed) {
      ++confirmed;
      return;
    }
    EXPECT_EQ(result.outcome, PublishOutcome::kUnknown);
    EXPECT_EQ(result.code, 404);
    ++unknown;
    broker_->Publish({.exchange = "", .routing_key = queue}, again);
  };
  for (int i = 0; i < 100; ++i) {
    broker_->Publish({.exchange = "no such exchange", .routing_key = queue}, again);
  }
  RunUntil(loop_, [&] { return confirmed == 100; });
  EXPECT_EQ(unknown, 100);
  EXPECT_TRUE(log_.lost.empty());
}

TEST_F(AmqpBroker, SubscribesAgainAfterItsQueueIsDeleted) {
  const std::string queue = NewQueue();
  SubscriptionLog log;
  const auto subscription = broker_->Consume({.queue = queue}, &log);
  RunUntil(loop_, [&] { return log.subscribed == 1; });
  ChannelLog channel_log;
  const auto channel = admin_->OpenChannel(&channel_log);
  channel->DeleteQueue(queue, [](const auto&) {});
  RunUntil(loop_, [&] { return !log.interrupted.empty(); });
  EXPECT_TRUE(absl::IsAborted(log.interrupted[0])) << log.interrupted[0];
  EXPECT_TRUE(Declare({.queue = {.name = queue}}).ok());
  RunUntil(loop_, [&] { return log.subscribed == 2; });
}

// RabbitMQ counts the prefetch by consumer tag: acks of earlier deliveries must not make room for
// more.
TEST_F(AmqpBroker, ResumesWithAPrefetchThatIgnoresEarlierDeliveries) {
  for (const char* const type : {"classic", "quorum"}) {
    SCOPED_TRACE(type);
    const std::string queue = NewQueueName();
    ASSERT_TRUE(
        Declare({.queue = {.name = queue, .arguments = Table{{"x-queue-type", type}}}}).ok());
    const auto publish = [&](int messages) {
      for (int i = 0; i < messages; ++i) {
        Publish({.exchange = "", .routing_key = queue, .body = "body"});
      }
    };
    publish(3);
    SubscriptionLog log;
    const auto subscription = broker_->Consume({.queue = queue}, &log);
    RunUntil(loop_, [&] { return log.deliveries.size() == 3; });
    // No declare waits for the reply to another.
    subscription->Cancel([] {});
    subscription->Resume(/*prefetch=*/1);
    subscription->Cancel([] {});
    subscription->Resume(/*prefetch=*/1);
    RunUntil(loop_, [&] { return log.subscribed == 2; });
    publish(5);
    RunUntil(loop_, [&] { return log.deliveries.size() == 4; });
    for (std::size_t i = 0; i < 3; ++i) broker_->Ack(log.deliveries[i]->delivery_tag);
    bool over = false;
    const auto timer = loop_.After(absl::Milliseconds(300), [&] { over = true; });
    RunUntil(loop_, [&] { return over; });
    EXPECT_EQ(log.deliveries.size(), 4U);
    broker_->Ack(log.deliveries[3]->delivery_tag);
    RunUntil(loop_, [&] { return log.deliveries.size() == 5; });

    subscription->Cancel([] {});
    subscription->Resume(/*prefetch=*/64);
    RunUntil(loop_, [&] { return log.deliveries.size() == 8; });
    EXPECT_TRUE(log.interrupted.empty());
  }
}

TEST_F(AmqpBroker, ClosesAfterItsLastAck) {
  const std::string queue = NewQueue();
  Publish({.exchange = "", .routing_key = queue, .body = "one"});
  SubscriptionLog log;
  const auto subscription = broker_->Consume({.queue = queue}, &log);
  RunUntil(loop_, [&] { return log.deliveries.size() == 1; });
  broker_->Ack(log.deliveries[0]->delivery_tag);
  bool closed = false;
  broker_->Close([&] { closed = true; });
  RunUntil(loop_, [&] { return closed; });
  EXPECT_EQ(CountMessages(queue), 0U);
  EXPECT_TRUE(log.interrupted.empty());
  EXPECT_TRUE(log_.lost.empty());
}

// Behind a proxy that can cut the connections.
class AmqpBrokerCutOff : public AmqpBroker {
 protected:
  void SetUp() override {
    AmqpTest::SetUp();
    proxy_.emplace(loop_, options_.endpoints[0].port);
    options_.endpoints = {{.host = "127.0.0.1", .port = proxy_->port()}};
    broker_ = MakeBroker(loop_, options_);
    broker_->SetListener(&log_);
    RunUntil(loop_, [&] { return log_.ready == 1; });
  }

  std::optional<Proxy> proxy_;
};

TEST_F(AmqpBrokerCutOff, ReportsTheLossBeforeTheOpenPublishesAndDeclares) {
  proxy_->Freeze();
  std::vector<std::string> answers;
  broker_->Publish({.exchange = "amq.topic", .routing_key = "x"}, [&](const PublishResult& result) {
    EXPECT_EQ(result.outcome, PublishOutcome::kUnknown);
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(log_.lost.size(), 1U);
    answers.emplace_back("publish");
  });
  broker_->Declare({.queue = {.name = NewQueueName()}}, [&](absl::StatusOr<DeclareOk> ok) {
    EXPECT_TRUE(absl::IsUnavailable(ok.status())) << ok.status();
    EXPECT_EQ(log_.lost.size(), 1U);
    answers.emplace_back("declare");
  });
  RunFor(loop_, absl::Milliseconds(10));
  EXPECT_TRUE(answers.empty());
  proxy_->Cut();
  RunUntil(loop_, [&] { return answers.size() == 2; });
  RunUntil(loop_, [&] { return log_.ready == 2; });
  EXPECT_TRUE(Declare({.queue = {.name = NewQueueName()}}).ok());
  EXPECT_EQ(Publish({.exchange = "amq.topic", .routing_key = "x"}).outcome,
            PublishOutcome::kReturned);
}

}  // namespace retryq::amqp::amqp_broker_test
