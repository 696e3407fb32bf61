// Properties of work queues, parked queues and their consumers that are refused, or that lose
// messages.

#include <fstream>
#include <nlohmann/json.hpp>

#include "facts/facts_test.h"
#include "facts/private_broker_facts_test.h"
#include "retryq/amqp/connection.h"
#include "retryq/amqp/connection_options.h"
#include "support/test.h"

namespace retryq::testing::kept_queue_test {

class KeptQueueFacts : public Facts {
 protected:
  // To "work", after a moment, through a classic queue.
  void DeclareDelay(const std::string& queue) {
    peer_->DeclareQueue(queue, Arguments("classic", {{"x-message-ttl", std::int64_t{1000}},
                                                     {"x-dead-letter-exchange", ""},
                                                     {"x-dead-letter-routing-key", "work"}}));
  }
  bool DeclaresWork(const amqp::Table& arguments) {
    return asker_.DeclareQueue({.name = "work", .arguments = arguments}).ok();
  }
  // The error of declaring "work" with other properties.
  std::string WhyNot(const amqp::Table& arguments) {
    return std::string(
        asker_.DeclareQueue({.name = "work", .arguments = arguments}).status().message());
  }

  // The error that ends the first connection of a client.
  absl::Status WhyLost(const std::string& url) {
    struct Listener final : amqp::ConnectionListener {
      void OnOpen() override {}
      void OnLost(const absl::Status& status) override { why.push_back(status); }
      void OnBlocked(bool /*blocked*/, std::string_view /*reason*/) override {}
      std::vector<absl::Status> why;
    } listener;
    const amqp::Connection connection(loop_, amqp::ParseUri(url).value(), &listener);
    EXPECT_TRUE(Eventually([&] { return !listener.why.empty(); }));
    return listener.why.empty() ? absl::OkStatus() : listener.why.front();
  }

  // A header table of one field, given as its type and its value.
  static std::string Header(char type, const std::string& value) {
    return "\x01h" + (type + value);
  }
  // Whether the broker accepts it; a refusal closes the connection.
  bool Takes(const std::string& queue, const std::string& headers) {
    try {
      Peer(vhost_.Url()).Publish("", queue, "", {.headers = amqp::TableView(headers)});
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  }
};

TEST_F(KeptQueueFacts, F39AFullClassicWorkQueueWithRejectPublishLosesDueMessages) {
  for (const std::string type : {"classic", "quorum"}) {
    peer_->DeclareQueue("work", Arguments(type, {{"x-max-length", std::int64_t{10}},
                                                 {"x-overflow", "reject-publish"}}));
    DeclareDelay("delay");
    ASSERT_TRUE(asker_.PublishMany("work", 10)) << type;
    ASSERT_TRUE(asker_.PublishMany("delay", 10)) << type;
    ASSERT_TRUE(Eventually([&] { return peer_->Count("delay") == 0; })) << type;
    const std::uint32_t expected = type == "classic" ? 10 : 20;
    ASSERT_TRUE(Eventually([&] { return peer_->Count("work") == expected; })) << type;
    EXPECT_TRUE(Throughout(absl::Seconds(1), [&] { return peer_->Count("work") == expected; }));
    peer_->Delete("work");
  }
}

TEST_F(KeptQueueFacts, F40DeletingAnAutoDeleteQueueWithItsLastConsumerLosesDueMessages) {
  peer_->DeclareQueue("work", Arguments("classic"), {.auto_delete = true});
  DeclareDelay("delay");
  asker_.Consume("work", 0);
  ASSERT_TRUE(asker_.PublishMany("delay", 10));
  asker_.Drop();
  ASSERT_TRUE(Eventually([&] { return !Exists("work"); }));
  ASSERT_TRUE(Eventually([&] { return peer_->Count("delay") == 0; }));
  peer_->DeclareQueue("work", Arguments("classic"));
  EXPECT_TRUE(Throughout(absl::Seconds(1), [&] { return peer_->Count("work") == 0; }));
}

TEST_F(KeptQueueFacts, F43HeadersWithNonFiniteNumbersCloseTheConnection) {
  peer_->DeclareQueue("work");
  EXPECT_TRUE(Takes("work", Header('d', std::string("\x3f\xf0\0\0\0\0\0\0", 8))));
  EXPECT_FALSE(Takes("work", Header('d', std::string("\x7f\xf8\0\0\0\0\0\0", 8))));
  EXPECT_FALSE(Takes("work", Header('d', std::string("\x7f\xf0\0\0\0\0\0\0", 8))));
  EXPECT_FALSE(Takes("work", Header('f', std::string("\x7f\xc0\0\0", 4))));
}

TEST_F(KeptQueueFacts, F43AStreamRefusesADecimalHeader) {
  const std::string decimal = Header('D', std::string("\x02\0\0\0\x7d", 5));
  peer_->DeclareQueue("work", Arguments("classic"));
  peer_->DeclareQueue("stream", Arguments("stream"));
  EXPECT_TRUE(Takes("work", decimal));
  EXPECT_FALSE(Takes("stream", decimal));
}

TEST_F(KeptQueueFacts, F49AQuorumQueueOf43DelaysReturnedMessagesIfConfigured) {
  peer_->DeclareQueue("work", Arguments("quorum", {{"x-delayed-retry-type", "all"},
                                                   {"x-delayed-retry-min", std::int64_t{3000}}}));
  ASSERT_TRUE(asker_.PublishMany("work", 1));
  const amqp::MessagePtr message = asker_.Consume("work", 1)[0];
  const absl::Time returned = absl::Now();
  asker_.GiveBack(*message);
  ASSERT_TRUE(Eventually([&] { return asker_.deliveries().size() == 2; }));
  if (asker_.IsAtLeast(4, 3)) {
    EXPECT_GE(absl::Now() - returned, absl::Milliseconds(2900));
  } else {
    EXPECT_LT(absl::Now() - returned, absl::Milliseconds(2900));
  }
}

TEST_F(KeptQueueFacts, F50AWrongPasswordIsRefusedWith403) {
  const std::string user = vhost_.AddUser(TestVhost::Rights{});
  const absl::Status refusal = WhyLost(vhost_.UrlAs(user, "wrong"));
  EXPECT_TRUE(absl::IsUnauthenticated(refusal)) << refusal;
}

TEST_F(KeptQueueFacts, F51AUserLimitClosesTheConnectionRightAfterOpening) {
  const std::string user = vhost_.AddUser({{.configure = ".*", .write = ".*", .read = ".*"}});
  vhost_.management().Put("/user-limits/" + user + "/max-connections", {{"value", 0}});
  const absl::Status why = WhyLost(vhost_.UrlAs(user, user));
  EXPECT_NE(why.message().find("530"), absl::string_view::npos) << why;
}

TEST_F(KeptQueueFacts, F51AVhostLimitRefusesDeclaresWithTheCodeForDifferentArguments) {
  peer_->DeclareQueue("work");
  vhost_.management().Put("/vhost-limits/" + vhost_.name() + "/max-queues", {{"value", 1}});
  const absl::Status refusal = asker_.DeclareQueue({.name = "other"}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refusal)) << refusal;
  EXPECT_NE(std::string(refusal.message()).find("406"), std::string::npos) << refusal;
  EXPECT_TRUE(DeclaresWork({}));
}

TEST_F(KeptQueueFacts, F54OnlyStreamsRefuseAConsumerWithAPriority) {
  for (const std::string type : {"classic", "quorum", "stream"}) {
    peer_->DeclareQueue(type, Arguments(type));
    absl::Status answer = absl::UnknownError("none");
    asker_.channel().Qos(1, [](const absl::Status&) {});
    asker_.channel().Consume(
        {.queue = type, .arguments = {{"x-priority", std::int64_t{0}}}},
        [&](const absl::StatusOr<std::string>& tag) { answer = tag.status(); });
    ASSERT_TRUE(Eventually([&] { return !absl::IsUnknown(answer); })) << type;
    EXPECT_EQ(answer.ok(), type != "stream") << answer;
    if (!answer.ok()) {
      EXPECT_TRUE(absl::IsFailedPrecondition(answer)) << answer;
      EXPECT_NE(answer.message().find("rabbit_stream_queue"), absl::string_view::npos) << answer;
    }
  }
}

TEST_F(KeptQueueFacts, F55ARefusedDeclareNamesTheFirstDifference) {
  peer_->DeclareQueue("work", Arguments("classic"), {.auto_delete = true});
  EXPECT_NE(WhyNot(Arguments("classic")).find("'auto_delete'"), std::string::npos);
  peer_->Delete("work");
  peer_->DeclareQueue("work", Arguments("stream"));
  EXPECT_NE(WhyNot(Arguments("classic")).find("'x-queue-type'"), std::string::npos);
  EXPECT_NE(WhyNot(Arguments("classic")).find("'stream'"), std::string::npos);
  if (asker_.IsAtLeast(4, 3)) return;  // takes no transient queues
  peer_->Delete("work");
  peer_->DeclareQueue("work", Arguments("classic"), {.durable = false, .auto_delete = true});
  EXPECT_NE(WhyNot(Arguments("classic")).find("'durable'"), std::string::npos);
}

TEST_F(KeptQueueFacts, F55AnExclusiveQueueRefusesAPassiveDeclare) {
  peer_->DeclareQueue("work", Arguments("classic"), {.exclusive = true});
  const absl::Status look = asker_.DeclareQueue({.name = "work", .passive = true}).status();
  EXPECT_TRUE(absl::IsAborted(look)) << look;
}

TEST_F(KeptQueueFacts, F56ARejectPublishPolicyFirstDropsTheHeadOfAClassicQueue) {
  struct Case {
    const char* type;
    bool refuses;  // by argument
    bool keeps;
  };
  for (const auto& [type, refuses, keeps] :
       {Case{"classic", false, false}, Case{"classic", true, true}, Case{"quorum", false, true}}) {
    amqp::Table arguments = Arguments(type);
    if (refuses) arguments.Set("x-overflow", "reject-publish");
    peer_->DeclareQueue("work", arguments);
    ASSERT_TRUE(asker_.PublishMany("work", 10));
    const std::string policy = "/policies/" + vhost_.name() + "/full";
    vhost_.management().Put(policy,
                            {{"pattern", "^work$"},
                             {"apply-to", "queues"},
                             {"definition", {{"max-length", 3}, {"overflow", "reject-publish"}}}});
    ASSERT_TRUE(Eventually([&] {
      return asker_.Publish({.routing_key = "work"}).outcome == PublishOutcome::kNacked;
    }));
    EXPECT_EQ(peer_->Count("work") >= 10, keeps) << type << refuses << peer_->Count("work");
    vhost_.management().Delete(policy);
    peer_->Delete("work");
  }
}

class BrokerWideFacts : public PrivateBrokerFacts {};

TEST_F(BrokerWideFacts, F51ClusterQueueLimitsExistFrom4AndExchangeLimitsFrom41) {
  for (const char* limit : {"cluster_queue_limit", "cluster_exchange_limit"}) {
    broker_->node().Control(
        {"eval", std::string("application:set_env(rabbit, ") + limit + ", 1)."});
  }
  peer_->DeclareQueue("work");
  const absl::Status queue = asker_.DeclareQueue({.name = "other"}).status();
  EXPECT_EQ(absl::IsResourceExhausted(queue), asker_.IsAtLeast(4)) << queue;
  const absl::Status exchange = asker_.DeclareExchange({.name = "other"});
  EXPECT_EQ(absl::IsResourceExhausted(exchange), asker_.IsAtLeast(4, 1)) << exchange;
}

TEST_F(BrokerWideFacts, F44APolicyForAllExchangesFederatesDelayExchangesToo) {
  std::ofstream(broker_->node().directory() + "/enabled_plugins")
      << "[rabbitmq_management,rabbitmq_federation].\n";
  Restart();
  const TestVhost upstream;
  vhost_.management().Put("/parameters/federation-upstream/" + vhost_.name() + "/up",
                          {{"value", {{"uri", upstream.Url()}}}});
  vhost_.management().Put("/policies/" + vhost_.name() + "/all",
                          {{"pattern", "^(?!amq[.]).*"},
                           {"apply-to", "exchanges"},
                           {"definition", {{"federation-upstream-set", "all"}}}});
  peer_->DeclareExchange("retry.300", "fanout");
  Declare("retry.300", "classic");
  peer_->Bind("retry.300", "retry.300");
  // A message that fails upstream also waits downstream. It is returned until the link is bound.
  const auto is_taken = [&] {
    try {
      Peer(upstream.Url()).Publish("retry.300", "orders", "failed upstream");
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  };
  ASSERT_TRUE(Eventually([&] { return upstream.HasExchange("retry.300"); }, absl::Seconds(60)));
  ASSERT_TRUE(Eventually(is_taken, absl::Seconds(60)));
  EXPECT_TRUE(Eventually([&] { return peer_->Count("retry.300") == 1; }));
}

}  // namespace retryq::testing::kept_queue_test
