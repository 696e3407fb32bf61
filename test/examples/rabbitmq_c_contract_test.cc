// The example's Broker on rabbitmq-c: what retryq/broker.h promises of one.

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "examples/rabbitmq_c_test.h"

namespace retryq::testing {
namespace rabbitmq_c_contract_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class Listener final : public BrokerListener {
 public:
  void OnReady() override { ready = true; }
  void OnLost(const absl::Status& why) override {
    ready = false;
    lost.push_back(why);
  }
  void OnBlocked(bool /*blocked*/, std::string_view /*reason*/) override {}

  bool ready = false;
  std::vector<absl::Status> lost;
};

// Keeps what comes.
class Inbox final : public SubscriptionListener {
 public:
  void OnSubscribed() override { ++subscribed; }
  void OnDelivery(amqp::MessagePtr message) override { messages.push_back(std::move(message)); }
  void OnInterrupted(const absl::Status& why) override { interruptions.push_back(why); }

  int subscribed = 0;
  std::vector<amqp::MessagePtr> messages;
  std::vector<absl::Status> interruptions;
};

struct Answer {
  PublishOutcome outcome;
  std::uint16_t code;
  friend bool operator==(const Answer&, const Answer&) = default;
};

class RetryOnRabbitmqCContract : public RabbitmqCTest {
 protected:
  void SetUp() override {
    RabbitmqCTest::SetUp();
    broker_->SetListener(&listener_);
    ASSERT_TRUE(RunUntil([&] { return listener_.ready; }));
  }
  void TearDown() override { broker_->SetListener(nullptr); }

  void Publish(const PublishParams& params) {
    const std::size_t index = answers_.size();
    answers_.emplace_back();
    broker_->Publish(params, [this, index](const PublishResult& result) {
      EXPECT_FALSE(answers_[index].has_value()) << "answered twice";
      answers_[index] = Answer{result.outcome, result.code};
    });
    EXPECT_FALSE(answers_[index].has_value()) << "answered before Publish returned";
  }
  bool AllAnswered() const {
    return std::all_of(answers_.begin(), answers_.end(),
                       [](const auto& a) { return a.has_value(); });
  }

  absl::StatusOr<DeclareOk> Declare(const DeclareParams& params) {
    std::optional<absl::StatusOr<DeclareOk>> answer;
    broker_->Declare(params, [&answer](absl::StatusOr<DeclareOk> ok) { answer = std::move(ok); });
    EXPECT_FALSE(answer.has_value());
    EXPECT_TRUE(RunUntil([&] { return answer.has_value(); }));
    return answer.value();
  }

  Listener listener_;
  std::vector<std::optional<Answer>> answers_;
};

constexpr Answer kConfirmed = {PublishOutcome::kConfirmed, 0};
constexpr Answer kReturned = {PublishOutcome::kReturned, 312};
constexpr Answer kNacked = {PublishOutcome::kNacked, 0};

TEST_F(RetryOnRabbitmqCContract, TellsReturnedPublishesFromConfirmedOnesOfTheSameContent) {
  constexpr int kEach = 100;
  for (int i = 0; i < kEach; ++i) {
    Publish({.routing_key = "orders", .body = "the same"});
    Publish({.routing_key = "nowhere", .body = "the same"});
  }
  ASSERT_TRUE(RunUntil([&] { return AllAnswered(); }));
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    EXPECT_EQ(answers_[i], i % 2 == 0 ? kConfirmed : kReturned) << i;
  }
  EXPECT_EQ(peer_.Count("orders"), kEach);
  EXPECT_EQ(broker_->unsent_bytes(), 0U);
}

TEST_F(RetryOnRabbitmqCContract, SaysWhichPublishesAFullQueueRefused) {
  peer_.DeclareQueue("full", {{"x-max-length", 0}, {"x-overflow", "reject-publish"}});
  Publish({.routing_key = "full", .body = "one"});
  Publish({.routing_key = "orders", .body = "two"});
  Publish({.routing_key = "full", .body = "three"});
  ASSERT_TRUE(RunUntil([&] { return AllAnswered(); }));
  EXPECT_THAT(answers_, ElementsAre(kNacked, kConfirmed, kNacked));
}

TEST_F(RetryOnRabbitmqCContract, PublishesOnAfterAChannelThatWasClosed) {
  Publish({.exchange = "missing", .routing_key = "a", .body = "a"});
  Publish({.routing_key = "orders", .body = "b"});
  ASSERT_TRUE(RunUntil([&] { return AllAnswered(); }));
  EXPECT_EQ(answers_[0], (Answer{PublishOutcome::kUnknown, 404}));
  // It may have been on its way on the same channel, and is then not known to have arrived.
  EXPECT_TRUE(answers_[1] == kConfirmed || answers_[1] == (Answer{PublishOutcome::kUnknown, 404}));

  Publish({.routing_key = "orders", .body = "c"});
  ASSERT_TRUE(RunUntil([&] { return AllAnswered(); }));
  EXPECT_EQ(answers_[2], kConfirmed);
  EXPECT_TRUE(listener_.lost.empty());
}

TEST_F(RetryOnRabbitmqCContract, AnswersWhatIsOpenAfterItHasToldOfTheLoss) {
  std::vector<std::string> order;
  for (int i = 0; i < 10; ++i) {
    broker_->Publish({.routing_key = "orders", .body = "x"}, [&](const PublishResult& result) {
      if (result.outcome == PublishOutcome::kUnknown) {
        EXPECT_THAT(listener_.lost, SizeIs(1));
        EXPECT_EQ(result.code, 0);
      }
      order.emplace_back("publish");
    });
  }
  broker_->Reconnect(absl::UnavailableError("tried"));
  broker_->Declare({.queue = {.name = "later"}}, [&](const absl::StatusOr<DeclareOk>& ok) {
    EXPECT_TRUE(absl::IsUnavailable(ok.status())) << ok.status();
    EXPECT_THAT(listener_.lost, SizeIs(1));
    order.emplace_back("declare");
  });
  ASSERT_TRUE(RunUntil([&] { return order.size() == 11 && listener_.ready; }));
  EXPECT_THAT(listener_.lost, ElementsAre(absl::UnavailableError("tried")));
  Publish({.routing_key = "orders", .body = "y"});
  ASSERT_TRUE(RunUntil([&] { return AllAnswered(); }));
  EXPECT_EQ(answers_[0], kConfirmed);
}

TEST_F(RetryOnRabbitmqCContract, ForgetsCallbacksWithTheListener) {
  const auto called = std::make_shared<int>(0);
  broker_->Publish({.routing_key = "orders", .body = "x"}, [called](const auto&) { ++*called; });
  broker_->Declare({.queue = {.name = "orders", .passive = true}},
                   [called](const auto&) { ++*called; });
  broker_->SetListener(nullptr);
  EXPECT_EQ(called.use_count(), 1);
  ASSERT_TRUE(RunUntil([&] { return peer_.Count("orders") == 1; }));  // it was sent nonetheless
  EXPECT_EQ(*called, 0);
}

TEST_F(RetryOnRabbitmqCContract, SaysWhyADeclareIsRefusedAndDeclaresOn) {
  EXPECT_TRUE(absl::IsNotFound(Declare({.queue = {.name = "q", .passive = true}}).status()));
  EXPECT_TRUE(Declare({.queue = {.name = "q", .arguments = {{"x-expires", 60000}}}}).ok());
  const absl::Status other = Declare({.queue = {.name = "q"}}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(other)) << other;
  EXPECT_THAT(std::string(other.message()), HasSubstr("declaring queue 'q': 406"));
  EXPECT_TRUE(
      absl::IsInvalidArgument(Declare({.queue = {.name = std::string(256, 'q')}}).status()));

  std::optional<absl::Status> exchange;
  broker_->CheckExchange("missing", [&](absl::Status status) { exchange = std::move(status); });
  ASSERT_TRUE(RunUntil([&] { return exchange.has_value(); }));
  EXPECT_TRUE(absl::IsNotFound(*exchange)) << *exchange;

  peer_.Publish("", "q", "x");
  const auto ok = Declare({.queue = {.name = "q", .passive = true},
                           .exchange = ExchangeDeclaration{.name = "e", .auto_delete = true}});
  ASSERT_TRUE(ok.ok()) << ok.status();
  EXPECT_EQ(ok->message_count, 1U);
  EXPECT_THAT(vhost_.Bindings("e", "q"), SizeIs(1));
  EXPECT_TRUE(listener_.lost.empty());
}

TEST_F(RetryOnRabbitmqCContract, DeliversEveryPropertyAndHeaderAsItCame) {
  const amqp::Table table = {{"text", "t"},
                             {"bytes", amqp::Bytes{"b"}},
                             {"int8", std::int8_t{-8}},
                             {"int32", std::int32_t{-32}},
                             {"int64", std::int64_t{-64}},
                             {"double", 0.5},
                             {"flag", true},
                             {"time", amqp::Timestamp{1}},
                             {"array", amqp::Array{1, "two"}},
                             {"table", amqp::Table{{"inner", amqp::Void()}}}};
  const std::string headers = table.Encode().value();
  const amqp::Properties properties = {.content_type = "text/plain",
                                       .content_encoding = "utf-8",
                                       .headers = amqp::TableView(headers),
                                       .delivery_mode = 2,
                                       .priority = 3,
                                       .correlation_id = "c",
                                       .reply_to = "r",
                                       .expiration = "60000",
                                       .message_id = "m",
                                       .timestamp = 4,
                                       .type = "t",
                                       .user_id = std::nullopt,
                                       .app_id = "a",
                                       .cluster_id = std::nullopt};
  const std::string body(300'000, 'b');  // several frames
  Publish({.routing_key = "orders", .properties = properties, .body = body});
  Publish({.routing_key = "orders"});  // none of all that

  Inbox inbox;
  const auto subscription = broker_->Consume({.queue = "orders"}, &inbox);
  ASSERT_TRUE(RunUntil([&] { return inbox.messages.size() == 2; }));
  const amqp::Message& first = *inbox.messages[0];
  EXPECT_EQ(first.body, body);
  EXPECT_EQ(first.routing_key, "orders");
  EXPECT_EQ(first.properties.content_type, "text/plain");
  EXPECT_EQ(first.properties.content_encoding, "utf-8");
  EXPECT_EQ(first.properties.delivery_mode, 2);
  EXPECT_EQ(first.properties.priority, 3);
  EXPECT_EQ(first.properties.correlation_id, "c");
  EXPECT_EQ(first.properties.reply_to, "r");
  EXPECT_EQ(first.properties.expiration, "60000");
  EXPECT_EQ(first.properties.message_id, "m");
  EXPECT_EQ(first.properties.timestamp, 4U);
  EXPECT_EQ(first.properties.type, "t");
  EXPECT_EQ(first.properties.app_id, "a");
  ASSERT_TRUE(first.properties.headers.has_value());
  const absl::StatusOr<amqp::Table> decoded = first.properties.headers->Decode();
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  for (const auto& [name, value] : table.fields()) {
    ASSERT_NE(decoded->Find(name), nullptr) << name;
    EXPECT_EQ(*decoded->Find(name), value) << name;
  }
  EXPECT_EQ(inbox.messages[1]->body, "");
  EXPECT_FALSE(inbox.messages[1]->properties.headers.has_value());
}

TEST_F(RetryOnRabbitmqCContract, CancelsAfterTheLastDeliveryAndResumesOnTheSameChannel) {
  Inbox inbox;
  const auto subscription = broker_->Consume({.queue = "orders", .prefetch = 0}, &inbox);
  constexpr std::size_t kMessages = 500;
  for (std::size_t i = 0; i < kMessages; ++i) peer_.Send("", "orders", "x");
  ASSERT_TRUE(RunUntil([&] { return !inbox.messages.empty(); }));
  std::optional<std::size_t> at_cancel;
  subscription->Cancel([&] { at_cancel = inbox.messages.size(); });
  peer_.AwaitConfirms();
  ASSERT_TRUE(RunUntil([&] { return at_cancel.has_value(); }));
  ASSERT_TRUE(RunUntil([&] { return peer_.Consumers("orders") == 0; }));
  EXPECT_EQ(inbox.messages.size(), *at_cancel);
  EXPECT_EQ(peer_.Count("orders") + *at_cancel, kMessages);

  subscription->Resume(/*prefetch=*/0);
  ASSERT_TRUE(RunUntil([&] { return inbox.messages.size() == kMessages; }))
      << inbox.messages.size() << " messages, " << *at_cancel << " of them before the cancel, "
      << ::testing::PrintToString(inbox.interruptions);
  for (const amqp::MessagePtr& message : inbox.messages) broker_->Ack(message->delivery_tag);
  bool closed = false;
  subscription->Close([&] { closed = true; });
  ASSERT_TRUE(RunUntil([&] { return closed; }));
  EXPECT_EQ(peer_.Count("orders"), 0U);  // each ack arrived before the end
  EXPECT_TRUE(inbox.interruptions.empty());
}

TEST_F(RetryOnRabbitmqCContract, RequeuesWhatIsRejectedAndWhatIsOpenAtTheEnd) {
  Inbox inbox;
  auto subscription = broker_->Consume({.queue = "orders"}, &inbox);
  peer_.Publish("", "orders", "x");
  ASSERT_TRUE(RunUntil([&] { return inbox.messages.size() == 1; }));
  broker_->Reject(inbox.messages[0]->delivery_tag, /*requeue=*/true);
  ASSERT_TRUE(RunUntil([&] { return inbox.messages.size() == 2; }));
  EXPECT_TRUE(inbox.messages[1]->redelivered);
  subscription.reset();
  ASSERT_TRUE(RunUntil([&] { return peer_.Count("orders") == 1; }));
}

TEST_F(RetryOnRabbitmqCContract, SaysWhenTheQueueGoesAndConsumesAgainWhenItIsBack) {
  Inbox inbox;
  const auto subscription = broker_->Consume({.queue = "orders"}, &inbox);
  ASSERT_TRUE(RunUntil([&] { return inbox.subscribed == 1; }));
  peer_.Delete("orders");
  ASSERT_TRUE(RunUntil([&] { return inbox.interruptions.size() >= 2; }));
  EXPECT_TRUE(absl::IsAborted(inbox.interruptions[0])) << inbox.interruptions[0];
  EXPECT_TRUE(absl::IsNotFound(inbox.interruptions[1])) << inbox.interruptions[1];
  peer_.DeclareQueue("orders");
  ASSERT_TRUE(RunUntil([&] { return inbox.subscribed == 2; }));
}

TEST_F(RetryOnRabbitmqCContract, SendsAllThatWaitsBeforeItCloses) {
  constexpr int kMessages = 1000;
  Inbox inbox;
  const auto subscription = broker_->Consume({.queue = "orders"}, &inbox);
  peer_.DeclareQueue("copies");
  peer_.Publish("", "orders", "x");
  ASSERT_TRUE(RunUntil([&] { return inbox.messages.size() == 1; }));
  for (int i = 0; i < kMessages; ++i) {
    broker_->Publish({.routing_key = "copies", .body = "x"}, [](const PublishResult&) {});
  }
  broker_->Ack(inbox.messages[0]->delivery_tag);
  bool closed = false;
  broker_->Close([&] { closed = true; });
  ASSERT_TRUE(RunUntil([&] { return closed; }));
  // A queue answers who asks for its count before it takes what was published ahead of that.
  ASSERT_TRUE(RunUntil([&] { return peer_.Count("copies") == kMessages; }));
  // What is unacked is ready again when its consumer goes.
  ASSERT_TRUE(RunUntil([&] { return peer_.Consumers("orders") == 0; }));
  EXPECT_EQ(peer_.Count("orders"), 0U);
}

TEST_F(RetryOnRabbitmqCContract, SaysWhyItCannotLogIn) {
  Listener listener;
  const auto broker = MakeBroker(vhost_.UrlAs("guest", "wrong"));
  broker->SetListener(&listener);
  ASSERT_TRUE(RunUntil([&] { return !listener.lost.empty(); }));
  EXPECT_TRUE(absl::IsUnauthenticated(listener.lost[0])) << listener.lost[0];
  broker->SetListener(nullptr);
}

TEST_F(RetryOnRabbitmqCContract, RefusesTls) {
  const auto broker = examples::MakeRabbitmqCBroker(loop_.executor(), "amqps://localhost");
  EXPECT_TRUE(absl::IsInvalidArgument(broker.status())) << broker.status();
}

}  // namespace rabbitmq_c_contract_test
}  // namespace retryq::testing
