// How messages leave a queue when their TTL is over, and where they are dead-lettered.

#include <nlohmann/json.hpp>

#include "facts/facts_test.h"
#include "support/test.h"

namespace retryq::testing::way_back_test {

constexpr std::int64_t kTtlMs = 300;
constexpr absl::Duration kTtl = absl::Milliseconds(kTtlMs);

class WayBackFacts : public Facts {
 protected:
  static amqp::Table Delaying(std::string_view type, std::string_view exchange,
                              amqp::Table more = {}) {
    more.Set("x-message-ttl", kTtlMs);
    more.Set("x-dead-letter-exchange", exchange);
    return Arguments(type, more);
  }
  static amqp::Table Reliable(amqp::Table arguments) {
    arguments.Set("x-dead-letter-strategy", "at-least-once");
    arguments.Set("x-overflow", "reject-publish");
    return arguments;
  }

  // All messages of a queue, including dead letters that have not left yet.
  int Depth(const std::string& queue) {
    return vhost_.Queue(queue).value_or(Json::object()).value("messages", -1);
  }
};

TEST_F(WayBackFacts, F10OnlyTheHeadOfTheQueueIsCheckedForExpiry) {
  peer_->DeclareQueue("dead");
  peer_->DeclareQueue("waiting", Arguments("classic", {{"x-dead-letter-exchange", ""},
                                                       {"x-dead-letter-routing-key", "dead"}}));
  const absl::Time begun = absl::Now();
  peer_->Publish("", "waiting", "long", {.expiration = "2000"});
  peer_->Publish("", "waiting", "short", {.expiration = "100"});
  const auto dead = asker_.Take("dead", 2);
  EXPECT_GE(absl::Now() - begun, absl::Milliseconds(1990));
  EXPECT_EQ(dead[0]->body, "long");
  EXPECT_EQ(dead[1]->body, "short");
}

TEST_F(WayBackFacts, F10ExpiryIsPromptAndNeverEarly) {
  peer_->DeclareQueue("work");
  for (const std::string type : {"classic", "quorum"}) {
    std::vector<absl::Duration> lateness;
    peer_->DeclareQueue(type, Delaying(type, "", {{"x-dead-letter-routing-key", "work"}}));
    for (int i = 0; i < 15; ++i) {
      const absl::Time begun = absl::Now();
      ASSERT_EQ(asker_.Publish({.routing_key = type}).outcome, PublishOutcome::kConfirmed);
      asker_.Take("work", 1);
      lateness.push_back(absl::Now() - begun - kTtl);
    }
    std::sort(lateness.begin(), lateness.end());
    EXPECT_GE(lateness.front(), absl::Milliseconds(-1)) << type;
    // On an idle machine this would be 1 to 2 ms plus the round trip; this machine is not idle.
    EXPECT_LE(lateness[lateness.size() / 2], absl::Milliseconds(500)) << type;
  }
}

// This number is all that `retryq queues` knows about overdue messages.
TEST_F(WayBackFacts, F38TheManagementApiShowsOverdueMessagesOnlyAsDeadLetters) {
  const amqp::Table nowhere = {{"x-dead-letter-routing-key", "nobody"}};
  peer_->DeclareQueue("classic", Delaying("classic", "", nowhere));
  peer_->DeclareQueue("quorum", Reliable(Delaying("quorum", "", nowhere)));
  for (const char* queue : {"classic", "quorum"}) ASSERT_TRUE(asker_.PublishMany(queue, 40));
  Json quorum;
  ASSERT_TRUE(Eventually([&] {
    quorum = vhost_.Queue("quorum").value_or(Json::object());
    return quorum.value("messages_dlx", 0) == 40 && quorum.value("messages", 0) == 40;
  })) << quorum;
  EXPECT_EQ(quorum.at("messages_ready"), 0);
  EXPECT_EQ(quorum.at("messages_unacknowledged"), 0);
  EXPECT_FALSE(quorum.contains("idle_since"));
  Json classic;
  ASSERT_TRUE(Eventually([&] {
    classic = vhost_.Queue("classic").value_or(Json::object());
    return classic.contains("idle_since") && classic.value("messages", -1) == 0;
  })) << classic;
  EXPECT_FALSE(classic.contains("messages_dlx"));
  for (const Json& queue : {quorum, classic}) {
    EXPECT_TRUE(queue.value("head_message_timestamp", Json()).is_null()) << queue;
  }
}

TEST_F(WayBackFacts, F11AClassicQueueDropsMessagesItCannotDeadLetter) {
  peer_->DeclareQueue("waiting",
                      Delaying("classic", "", {{"x-dead-letter-routing-key", "nobody"}}));
  ASSERT_TRUE(asker_.PublishMany("waiting", 1));
  ASSERT_TRUE(Eventually([&] { return peer_->Count("waiting") == 0; }));
  peer_->DeclareQueue("nobody");
  EXPECT_TRUE(Throughout(absl::Seconds(2), [&] { return peer_->Count("nobody") == 0; }));
}

TEST_F(WayBackFacts, F11AnAtLeastOnceQuorumQueueKeepsMessagesItCannotDeadLetter) {
  const amqp::Table atMostOnce = Delaying("quorum", "", {{"x-dead-letter-routing-key", "nobody"}});
  peer_->DeclareQueue("at most once", atMostOnce);
  peer_->DeclareQueue("at least once", Reliable(atMostOnce));
  ASSERT_TRUE(asker_.PublishMany("at most once", 1));
  ASSERT_TRUE(asker_.PublishMany("at least once", 1));
  // The broker counts every five seconds.
  ASSERT_TRUE(Eventually([&] { return Depth("at least once") == 1; }));
  ASSERT_TRUE(Eventually([&] { return Depth("at most once") == 0; }));
  EXPECT_TRUE(Throughout(absl::Seconds(11), [&] { return Depth("at least once") == 1; }));
}

TEST_F(WayBackFacts, F11FailedDeadLetteringIsRetriedAfterThreeMinutes) {
  if (!HasTimeForSlowFacts()) GTEST_SKIP() << "takes three minutes; set RETRYQ_SLOW_FACTS";
  peer_->DeclareQueue("waiting",
                      Reliable(Delaying("quorum", "", {{"x-dead-letter-routing-key", "late"}})));
  const absl::Time published = absl::Now();
  ASSERT_TRUE(asker_.PublishMany("waiting", 1));
  Wait(absl::Seconds(5));
  peer_->DeclareQueue("late");
  ASSERT_TRUE(Eventually([&] { return peer_->Count("late") == 1; }, absl::Minutes(4)));
  EXPECT_GT(absl::Now() - published, absl::Seconds(170));
}

TEST_F(WayBackFacts, F11AClassicQueueRefusesADeadLetterStrategy) {
  const amqp::Table arguments = Arguments(
      "classic", {{"x-dead-letter-exchange", ""}, {"x-dead-letter-strategy", "at-least-once"}});
  EXPECT_TRUE(absl::IsFailedPrecondition(
      asker_.DeclareQueue({.name = "waiting", .arguments = arguments}).status()));
}

TEST_F(WayBackFacts, F37ThirtyTwoUndeliverableDeadLettersBlockAllMessagesBehindThem) {
  peer_->DeclareQueue("work");
  for (const int undeliverable : {31, 32}) {
    const std::string name = "waiting " + std::to_string(undeliverable);
    peer_->DeclareExchange(name, "fanout");
    peer_->DeclareQueue(name,
                        Reliable(Delaying("quorum", "", {{"x-expires", std::int64_t{15'000}}})));
    peer_->Bind(name, name);
    // A queue that was just declared can keep its messages forever (F52).
    Wait(absl::Seconds(1));
    for (int i = 0; i < undeliverable; ++i) peer_->Send(name, "nobody", "undeliverable");
    peer_->AwaitConfirms();
    peer_->Publish(name, "work", "unaffected");
  }
  EXPECT_EQ(asker_.Take("work", 1)[0]->routing_key, "work");
  // The other exchange is deleted with its queue.
  ASSERT_TRUE(Eventually([&] { return !Exists("waiting 32"); }, absl::Minutes(1)));
  EXPECT_TRUE(Throughout(absl::Seconds(3), [&] { return peer_->Count("work") == 0; }));
}

TEST_F(WayBackFacts, F12ADeadLetterKeepsTheRoutingKeyOfTheCopy) {
  peer_->DeclareExchange("delay", "fanout");
  peer_->DeclareExchange("dead letters", "topic");
  peer_->DeclareQueue("dead");
  peer_->Bind("dead", "dead letters", "#");
  peer_->DeclareQueue("waiting", Delaying("classic", "dead letters"));
  peer_->Bind("waiting", "delay");

  peer_->Publish("", "waiting", "through the default exchange");
  EXPECT_EQ(asker_.Take("dead", 1)[0]->routing_key, "waiting");
  peer_->Publish("delay", "order.placed", "through one of its own");
  EXPECT_EQ(asker_.Take("dead", 1)[0]->routing_key, "order.placed");
}

TEST_F(WayBackFacts, F13TheDefaultExchangeReturnsToOneQueueAndANamedOneToAllBoundQueues) {
  peer_->DeclareExchange("delay", "fanout");
  peer_->DeclareExchange("shop", "topic");
  for (const std::string queue : {"billing", "shipping"}) {
    peer_->DeclareQueue(queue);
    peer_->Bind(queue, "shop", "billing");
  }
  peer_->DeclareQueue("by the default exchange", Delaying("classic", ""));
  peer_->Bind("by the default exchange", "delay");
  peer_->Publish("delay", "billing", "one");
  asker_.Take("billing", 1);
  EXPECT_TRUE(Throughout(absl::Seconds(1), [&] { return peer_->Count("shipping") == 0; }));

  peer_->DeclareExchange("delay by name", "fanout");
  peer_->DeclareQueue("by a named exchange", Delaying("classic", "shop"));
  peer_->Bind("by a named exchange", "delay by name");
  peer_->Publish("delay by name", "billing", "two");
  asker_.Take("billing", 1);
  asker_.Take("shipping", 1);
}

// A client's copy of a header that the broker has written.
amqp::Table Deaths(std::string_view queue, std::int64_t count) {
  const amqp::Table death = {{"count", count},
                             {"reason", "expired"},
                             {"queue", queue},
                             {"exchange", ""},
                             {"time", amqp::Timestamp{1'700'000'000}},
                             {"routing-keys", amqp::Array{amqp::Value(queue)}}};
  return {{"x-death", amqp::Array{amqp::Value(death)}}};
}

TEST_F(WayBackFacts, F14AnOldDeathInTheWorkQueueMakesVersion3DropTheMessage) {
  peer_->DeclareQueue("work");
  peer_->DeclareQueue("waiting", Delaying("classic", "", {{"x-dead-letter-routing-key", "work"}}));
  const std::string headers = Deaths("work", 1).Encode().value();
  peer_->Publish("", "waiting", "dies", {.headers = amqp::TableView(headers)});
  peer_->Publish("", "waiting", "lives");
  if (asker_.IsAtLeast(4)) {
    EXPECT_EQ(asker_.Take("work", 2)[0]->body, "dies");
  } else {
    EXPECT_EQ(asker_.Take("work", 1)[0]->body, "lives");
  }
}

TEST_F(WayBackFacts, F14DeathsThatAClientWroteDoNotIncreaseFrom4) {
  peer_->DeclareQueue("work");
  peer_->DeclareQueue("waiting", Delaying("classic", "", {{"x-dead-letter-routing-key", "work"}}));
  const std::string headers = Deaths("waiting", 5).Encode().value();
  peer_->Publish("", "waiting", "", {.headers = amqp::TableView(headers)});
  const amqp::MessagePtr message = asker_.Take("work", 1)[0];
  const auto table = message->properties.headers->Decode();
  ASSERT_TRUE(table.ok()) << table.status();
  const auto& deaths = std::get<amqp::Array>(table->Find("x-death")->variant);
  const auto& newest = *std::get<std::shared_ptr<const amqp::Table>>(deaths.at(0).variant);
  EXPECT_EQ(std::get<std::int64_t>(newest.Find("count")->variant), asker_.IsAtLeast(4) ? 1 : 6);
}

TEST_F(WayBackFacts, F23AnUnroutableDeadLetterIsDroppedSilently) {
  peer_->DeclareExchange("shop", "topic");
  peer_->DeclareQueue("work");
  peer_->Bind("work", "shop", "order.placed");
  peer_->DeclareExchange("delay", "fanout");
  peer_->DeclareQueue("waiting", Delaying("classic", "shop"));
  peer_->Bind("waiting", "delay");
  peer_->Publish("delay", "order.lost", "nowhere");
  peer_->Publish("delay", "order.placed", "back");
  EXPECT_EQ(asker_.Take("work", 1)[0]->body, "back");
  EXPECT_EQ(peer_->Count("work"), 0U);
  EXPECT_EQ(peer_->Count("waiting"), 0U);
}

TEST_F(WayBackFacts, F29APolicyAddsADeadLetterRoutingKeyButDoesNotChangeTheExchange) {
  peer_->DeclareQueue("work");
  peer_->DeclareQueue("elsewhere");
  peer_->DeclareExchange("policys", "fanout");
  peer_->DeclareQueue("of the policy");
  peer_->Bind("of the policy", "policys");
  for (const std::string type : {"classic", "quorum"}) {
    for (const bool with_key : {false, true}) {
      const std::string queue = type + (with_key ? "-with-key" : "-without-key");
      Json definition = {{"dead-letter-exchange", "policys"}};
      if (with_key) definition["dead-letter-routing-key"] = "elsewhere";
      vhost_.management().Put(
          "/policies/" + vhost_.name() + "/" + queue,
          {{"pattern", "^" + queue + "$"}, {"apply-to", "queues"}, {"definition", definition}});
      peer_->DeclareExchange("to " + queue, "fanout");
      amqp::Table arguments = Delaying(type, "");
      peer_->DeclareQueue(queue, type == "quorum" ? Reliable(arguments) : arguments);
      peer_->Bind(queue, "to " + queue);
      peer_->Publish("to " + queue, "work", queue);
      // The dead-letter exchange of the queue, the default exchange, stays; the queue sets no
      // routing key.
      EXPECT_EQ(asker_.Take(with_key ? "elsewhere" : "work", 1)[0]->body, queue);
    }
    // A routing key that the queue sets also stays.
    const std::string queue = type + "-keeps-its-key";
    vhost_.management().Put("/policies/" + vhost_.name() + "/" + queue,
                            {{"pattern", "^" + queue + "$"},
                             {"apply-to", "queues"},
                             {"definition", {{"dead-letter-routing-key", "elsewhere"}}}});
    peer_->DeclareQueue(queue, Delaying(type, "", {{"x-dead-letter-routing-key", "work"}}));
    peer_->Publish("", queue, queue);
    EXPECT_EQ(asker_.Take("work", 1)[0]->body, queue);
  }
  EXPECT_EQ(peer_->Count("of the policy"), 0U);
}

TEST_F(WayBackFacts, F29AnOperatorPolicyCannotSetDeadLettering) {
  for (const char* key : {"dead-letter-exchange", "dead-letter-routing-key"}) {
    EXPECT_THROW(
        vhost_.management().Put(
            "/operator-policies/" + vhost_.name() + "/dead",
            {{"pattern", ".*"}, {"apply-to", "queues"}, {"definition", {{key, "elsewhere"}}}}),
        std::runtime_error)
        << key;
  }
}

}  // namespace retryq::testing::way_back_test
