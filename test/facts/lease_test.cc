// The effect of x-expires on a queue, and the actions that renew it.

#include <nlohmann/json.hpp>

#include "facts/facts_test.h"
#include "facts/raw_connection.h"
#include "support/test.h"

namespace retryq::testing::lease_test {

constexpr std::int64_t kExpiresMs = 1500;
constexpr absl::Duration kExpires = absl::Milliseconds(kExpiresMs);
// Quorum queues check their leases every 5 s.
constexpr absl::Duration kTick = absl::Seconds(5);
// The additional time on a busy machine.
constexpr absl::Duration kSlack = absl::Seconds(5);

class LeaseFacts : public Facts {
 protected:
  static amqp::Table Expiring(std::string_view type) {
    return Arguments(type, {{"x-expires", kExpiresMs},
                            {"x-dead-letter-exchange", ""},
                            {"x-dead-letter-routing-key", "dead"}});
  }

  // Repeats the action for three leases, and returns whether the queue existed all the time. The
  // action may create the queue again: a message in it shows that it is still the same queue.
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

TEST_F(LeaseFacts, F1AnUnusedQueueIsDeletedAndDeadLettersNoMessages) {
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

TEST_F(LeaseFacts, F2PublishingDoesNotRenewTheLease) {
  peer_->DeclareQueue("leased", Expiring("classic"));
  EXPECT_FALSE(Renews([&] { asker_.Publish({.routing_key = "leased"}); }));
}

TEST_F(LeaseFacts, F3DeclaringAClassicQueueRenewsItsLease) {
  peer_->DeclareQueue("leased", Expiring("classic"));
  ASSERT_TRUE(asker_.PublishMany("leased", 1));
  EXPECT_TRUE(Renews([&] { peer_->DeclareQueue("leased", Expiring("classic")); }));
  EXPECT_EQ(peer_->Count("leased"), 1U);
  EXPECT_TRUE(Eventually([&] { return !Exists("leased"); }, kExpires + kSlack));
}

TEST_F(LeaseFacts, F3PassivelyDeclaringAClassicQueueRenewsItsLease) {
  peer_->DeclareQueue("leased", Expiring("classic"));
  EXPECT_TRUE(Renews([&] { peer_->Count("leased"); }));
}

TEST_F(LeaseFacts, F3GettingFromAClassicQueueRenewsItsLease) {
  peer_->DeclareQueue("leased", Expiring("classic"));
  EXPECT_TRUE(Renews([&] { peer_->Get("leased"); }));
}

TEST_F(LeaseFacts, F3ADeclareWithoutAReplyDoesNotRenewTheLease) {
  const amqp::Table arguments = Arguments("classic", {{"x-expires", kExpiresMs}});
  peer_->DeclareQueue("leased", arguments);
  ASSERT_TRUE(asker_.PublishMany("leased", 1));
  RawConnection raw(vhost_.Url());
  Renews([&] { ASSERT_EQ(raw.DeclareWithoutAnswer("leased", kExpiresMs), 0); });
  // Whether the queue is gone, or was created again.
  const auto left = asker_.DeclareQueue({.name = "leased", .passive = true});
  EXPECT_TRUE(!left.ok() || left->message_count == 0);
}

TEST_F(LeaseFacts, F4DeclaringAQuorumQueueNeverRenewsItsLease) {
  peer_->DeclareQueue("leased", Expiring("quorum"));
  ASSERT_TRUE(asker_.PublishMany("leased", 10));
  const absl::Time declared = absl::Now();
  // The declare itself may create the queue again: then its messages are gone.
  EXPECT_TRUE(Eventually(
      [&] {
        const auto found = asker_.DeclareQueue({.name = "leased", .arguments = Expiring("quorum")});
        return found.ok() && found->message_count == 0;
      },
      kExpires + kTick + kSlack));
  EXPECT_GE(absl::Now() - declared, kExpires);
}

TEST_F(LeaseFacts, F59TheEndOfAConsumerRenewsTheLease) {
  for (const std::string type : {"classic", "quorum"}) {
    peer_->DeclareQueue(type, Expiring(type));
    ASSERT_TRUE(asker_.PublishMany(type, 1));
  }
  const absl::Time end = absl::Now() + kExpires + 2 * kTick;
  while (absl::Now() < end) {
    for (const std::string type : {"classic", "quorum"}) {
      ASSERT_TRUE(Exists(type)) << type;
      Asker consumer(loop_, vhost_.Url());
      consumer.Consume(type, 1);
      consumer.Drop();
    }
    Wait(kExpires * 3 / 5);  // fewer than a default delivery limit allows
  }
  for (const std::string type : {"classic", "quorum"}) {
    EXPECT_TRUE(Eventually([&] { return !Exists(type); }, kExpires + kTick + kSlack)) << type;
  }
}

// Declared once at that moment, about one in a thousand is deleted nevertheless.
TEST_F(LeaseFacts, F31AQueueDeclaredTwiceAtTheEndOfItsLeaseStays) {
  constexpr int kQueues = 300;
  constexpr std::int64_t kLeaseMs = 15'000;
  struct Queue {
    std::string name;
    std::unique_ptr<Timer> timer;
    absl::Time renewing_at = absl::InfiniteFuture();  // the second declare is sent

    // If the machine is suspended for long, the new lease has really ended.
    bool IsLeased() const {
      return absl::Now() - renewing_at < absl::Milliseconds(kLeaseMs * 2 / 3);
    }
  };
  std::vector<Queue> queues(kQueues);
  const auto declare = [&](const Queue& queue, auto then) {
    const amqp::Table arguments = Arguments("classic", {{"x-expires", kLeaseMs}});
    asker_.channel().DeclareQueue({.name = queue.name, .arguments = arguments},
                                  [then](const auto& answer) {
                                    ASSERT_TRUE(answer.ok()) << answer.status();
                                    then(*answer);
                                  });
  };
  int done = 0;
  int in_time = 0;
  int kept = 0;
  const auto look = [&](Queue& queue) {
    declare(queue, [&](const DeclareOk& found) {
      ++done;
      if (!queue.IsLeased()) return;
      ++in_time;
      kept += static_cast<int>(found.message_count);
    });
  };
  const auto publish = [&](Queue& queue) {
    asker_.channel().Publish({.routing_key = queue.name, .properties = {.delivery_mode = 2}},
                             [&](const PublishResult& result) {
                               if (result.outcome == PublishOutcome::kConfirmed) {
                                 queue.timer = loop_.After(absl::Seconds(1), [&] { look(queue); });
                                 return;
                               }
                               ++done;
                               EXPECT_FALSE(queue.IsLeased()) << queue.name;
                             });
  };
  for (int i = 0; i < kQueues; ++i) {
    Queue& queue = queues[static_cast<std::size_t>(i)];
    queue.name = "edge." + std::to_string(i);
    // From 20 ms before the end of the lease to 20 ms after it.
    const absl::Duration edge = absl::Milliseconds(kLeaseMs - 20 + i % 41);
    declare(queue, [&, edge](const DeclareOk&) {
      queue.timer = loop_.After(edge, [&] {
        declare(queue, [&](const DeclareOk&) {
          queue.renewing_at = absl::Now();
          declare(queue, [&](const DeclareOk&) { publish(queue); });
        });
      });
    });
  }
  ASSERT_TRUE(Eventually([&] { return done == kQueues; }, absl::Minutes(2)));
  EXPECT_EQ(kept, in_time);
  EXPECT_GT(in_time, 0);
}

TEST_F(LeaseFacts, F8DeletingAQuorumQueueIfEmptyClosesTheConnection) {
  peer_->DeclareQueue("quorum", Arguments("quorum"));
  EXPECT_EQ(RawConnection(vhost_.Url()).DeleteIfEmpty("quorum"), 540);
  peer_->DeclareQueue("classic", Arguments("classic"));
  EXPECT_EQ(RawConnection(vhost_.Url()).DeleteIfEmpty("classic"), 0);
}

TEST_F(LeaseFacts, F9TheVhostsDefaultTypeAppliesToQueuesWithoutATypeFrom4) {
  const TestVhost vhost(Json{{"default_queue_type", "quorum"}});
  Asker asker(loop_, vhost.Url());
  ASSERT_TRUE(asker.DeclareQueue({.name = "unnamed"}).ok());
  ASSERT_TRUE(asker.DeclareQueue({.name = "classic", .arguments = Arguments("classic")}).ok());
  EXPECT_EQ(vhost.Queue("unnamed")->at("type"), asker_.IsAtLeast(4) ? "quorum" : "classic");
  EXPECT_EQ(vhost.Queue("classic")->at("type"), "classic");
}

TEST_F(LeaseFacts, F21AnAutoDeleteExchangeIsDeletedWithItsBoundQueue) {
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
  EXPECT_FALSE(vhost_.HasExchange("leased"));
  const Asker::Answer answer = asker_.Publish({.exchange = "leased"});
  EXPECT_EQ(answer.outcome, PublishOutcome::kUnknown);
  EXPECT_EQ(answer.code, 404);
}

TEST_F(LeaseFacts, F29APolicyOverridesALargerArgumentAndDeclaresStillSucceed) {
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
  EXPECT_TRUE(Throughout(absl::Seconds(10), [&] { return vhost_.HasExchange("unbound"); }));
}

}  // namespace retryq::testing::lease_test
