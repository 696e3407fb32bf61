// What x-expires does to a queue, and what renews it.

#include "facts/facts_test.h"
#include "facts/raw_connection.h"

namespace retryq::testing {
namespace {

constexpr std::int64_t kExpiresMs = 1500;
constexpr absl::Duration kExpires = absl::Milliseconds(kExpiresMs);
// Quorum queues look at their leases every 5 s.
constexpr absl::Duration kTick = absl::Seconds(5);
// What a loaded machine may add.
constexpr absl::Duration kSlack = absl::Seconds(5);

class LeaseFacts : public Facts {
 protected:
  static amqp::Table Expiring(std::string_view type) {
    return Arguments(type, {{"x-expires", kExpiresMs},
                            {"x-dead-letter-exchange", ""},
                            {"x-dead-letter-routing-key", "dead"}});
  }

  // Does it again and again, for three leases; whether the queue was there all the time. What is
  // done may make it anew: a message that is still in it tells.
  bool Renews(const std::function<void()>& use) {
    const absl::Time end = absl::Now() + 3 * kExpires;
    while (absl::Now() < end) {
      use();
      if (!Exists("leased")) return false;
      Wait(kExpires / 10);
    }
    return true;
  }
};

TEST_F(LeaseFacts, F1AnUnusedQueueGoesWithItsMessagesAndDeadLettersNone) {
  peer_->DeclareQueue("dead");
  for (const std::string type : {"classic", "quorum"}) {
    peer_->DeclareQueue(type, Expiring(type));
    ASSERT_TRUE(asker_.PublishMany(type, 10));
  }
  for (const std::string type : {"classic", "quorum"}) {
    EXPECT_TRUE(Eventually([&] { return !Exists(type); }, kExpires + kTick + kSlack)) << type;
  }
  EXPECT_TRUE(Throughout(absl::Seconds(1), [&] { return peer_->Count("dead") == 0; }));
}

TEST_F(LeaseFacts, F2PublishingIsNoUse) {
  peer_->DeclareQueue("leased", Expiring("classic"));
  EXPECT_FALSE(Renews([&] { asker_.Publish({.routing_key = "leased"}); }));
}

TEST_F(LeaseFacts, F3DeclaringAClassicQueueRenews) {
  peer_->DeclareQueue("leased", Expiring("classic"));
  ASSERT_TRUE(asker_.PublishMany("leased", 1));
  EXPECT_TRUE(Renews([&] { peer_->DeclareQueue("leased", Expiring("classic")); }));
  EXPECT_EQ(peer_->Count("leased"), 1U);
  EXPECT_TRUE(Eventually([&] { return !Exists("leased"); }, kExpires + kSlack));
}

TEST_F(LeaseFacts, F3LookingForAClassicQueueByAPassiveDeclareRenews) {
  peer_->DeclareQueue("leased", Expiring("classic"));
  EXPECT_TRUE(Renews([&] { peer_->Count("leased"); }));
}

TEST_F(LeaseFacts, F3GettingFromAClassicQueueRenews) {
  peer_->DeclareQueue("leased", Expiring("classic"));
  EXPECT_TRUE(Renews([&] { peer_->Get("leased"); }));
}

TEST_F(LeaseFacts, F3ADeclareThatAsksForNoAnswerDoesNotRenew) {
  const amqp::Table arguments = Arguments("classic", {{"x-expires", kExpiresMs}});
  peer_->DeclareQueue("leased", arguments);
  ASSERT_TRUE(asker_.PublishMany("leased", 1));
  RawConnection raw(vhost_.Url());
  Renews([&] { ASSERT_EQ(raw.DeclareWithoutAnswer("leased", kExpiresMs), 0); });
  // Gone, or made anew.
  const auto left = asker_.DeclareQueue({.name = "leased", .passive = true});
  EXPECT_TRUE(!left.ok() || left->message_count == 0);
}

TEST_F(LeaseFacts, F4DeclaringAQuorumQueueNeverRenews) {
  peer_->DeclareQueue("leased", Expiring("quorum"));
  ASSERT_TRUE(asker_.PublishMany("leased", 10));
  const absl::Time declared = absl::Now();
  EXPECT_TRUE(Eventually(
      [&] {
        const bool gone = !Exists("leased");
        if (!gone)
          asker_.DeclareQueue({.name = "leased", .arguments = Expiring("quorum")}).IgnoreError();
        return gone;
      },
      kExpires + kTick + kSlack));
  EXPECT_GE(absl::Now() - declared, kExpires);
}

TEST_F(LeaseFacts, F8DeletingAQuorumQueueIfEmptyClosesTheConnection) {
  peer_->DeclareQueue("quorum", Arguments("quorum"));
  EXPECT_EQ(RawConnection(vhost_.Url()).DeleteIfEmpty("quorum"), 540);
  peer_->DeclareQueue("classic", Arguments("classic"));
  EXPECT_EQ(RawConnection(vhost_.Url()).DeleteIfEmpty("classic"), 0);
}

TEST_F(LeaseFacts, F9AVhostsDefaultTypeTakesTheQueuesThatNameNoneFrom4) {
  const TestVhost vhost(Json{{"default_queue_type", "quorum"}});
  Asker asker(loop_, vhost.Url());
  ASSERT_TRUE(asker.DeclareQueue({.name = "unnamed"}).ok());
  ASSERT_TRUE(asker.DeclareQueue({.name = "classic", .arguments = Arguments("classic")}).ok());
  EXPECT_EQ(vhost.Queue("unnamed")->at("type"), asker_.IsAtLeast(4) ? "quorum" : "classic");
  EXPECT_EQ(vhost.Queue("classic")->at("type"), "classic");
}

TEST_F(LeaseFacts, F21AnAutoDeleteExchangeGoesWithTheQueueThatIsBoundToIt) {
  const ExchangeDeclaration exchange = {.name = "leased", .auto_delete = true};
  const auto declare = [&] {
    return asker_.DeclareQueue({.name = "leased", .arguments = Expiring("classic")}).ok() &&
           asker_.DeclareExchange(exchange).ok() && asker_.Bind("leased", "leased").ok();
  };
  ASSERT_TRUE(declare());
  EXPECT_EQ(asker_.Publish({.exchange = "leased"}).outcome, PublishOutcome::kConfirmed);
  EXPECT_TRUE(Renews([&] { ASSERT_TRUE(declare()); }));
  EXPECT_EQ(peer_->Count("leased"), 1U);

  ASSERT_TRUE(Eventually([&] { return !Exists("leased"); }, kExpires + kSlack));
  EXPECT_FALSE(vhost_.Exchange("leased").has_value());
  const Asker::Answer answer = asker_.Publish({.exchange = "leased"});
  EXPECT_EQ(answer.outcome, PublishOutcome::kUnknown);
  EXPECT_EQ(answer.code, 404);
}

TEST_F(LeaseFacts, F29APolicyWinsOverALargerArgumentAndDeclaresAreStillAnsweredOk) {
  vhost_.management().Put("/policies/" + vhost_.name() + "/short",
                          {{"pattern", "^leased$"},
                           {"apply-to", "queues"},
                           {"definition", {{"expires", kExpiresMs}, {"message-ttl", 300}}}});
  const amqp::Table arguments = Arguments("classic", {{"x-expires", std::int64_t{600'000}},
                                                      {"x-message-ttl", std::int64_t{300'000}},
                                                      {"x-dead-letter-exchange", ""},
                                                      {"x-dead-letter-routing-key", "dead"}});
  peer_->DeclareQueue("dead");
  ASSERT_TRUE(asker_.DeclareQueue({.name = "leased", .arguments = arguments}).ok());
  ASSERT_TRUE(asker_.PublishMany("leased", 1));
  EXPECT_TRUE(Eventually([&] { return peer_->Count("dead") == 1; }));
  EXPECT_TRUE(Eventually([&] { return !Exists("leased"); }, kExpires + kSlack));
  EXPECT_TRUE(asker_.DeclareQueue({.name = "leased", .arguments = arguments}).ok());
}

TEST_F(LeaseFacts, F36AnAutoDeleteExchangeThatWasNeverBoundStays) {
  ASSERT_TRUE(asker_.DeclareExchange({.name = "unbound", .auto_delete = true}).ok());
  EXPECT_TRUE(
      Throughout(absl::Seconds(10), [&] { return vhost_.Exchange("unbound").has_value(); }));
}

}  // namespace
}  // namespace retryq::testing
