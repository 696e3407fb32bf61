// The x-death that RabbitMQ writes, which messages of other retry systems have.

#include "facts/facts_test.h"
#include "retry/delivery/delivery_facts.h"
#include "support/read_facts.h"
#include "support/test.h"

namespace retryq::testing::deaths_test {

// "work rejected 2"
std::vector<std::string> InWords(const std::vector<Death>& deaths) {
  std::vector<std::string> words;
  for (const Death& death : deaths) {
    words.push_back(death.queue + " " + death.reason + " " + std::to_string(death.count));
  }
  return words;
}

// Whether the newest entry has this field.
bool NewestDeathHas(const amqp::Message& message, const std::string& name) {
  const auto headers = message.properties.headers->Decode();
  const amqp::Value* deaths = headers->Find("x-death");
  const auto& newest = std::get<amqp::Array>(deaths->variant).front();
  return std::get<std::shared_ptr<const amqp::Table>>(newest.variant)->Find(name) != nullptr;
}

class DeathFacts : public Facts {
 protected:
  // A work queue that rejects into a delay queue, from which its messages return.
  void SetUp() override {
    peer_->DeclareQueue("work", Arguments("classic", {{"x-dead-letter-exchange", ""},
                                                      {"x-dead-letter-routing-key", "delay"}}));
    DeclareDelay("delay", {{"x-message-ttl", std::int64_t{50}}});
  }
  void DeclareDelay(const std::string& name, amqp::Table more) {
    more.Set("x-dead-letter-exchange", "");
    more.Set("x-dead-letter-routing-key", "work");
    peer_->DeclareQueue(name, Arguments("classic", std::move(more)));
  }

  std::uint64_t Failures(const amqp::Message& message) {
    return ReadFactsOf(message, {.queue = "work", .retry = {.earlier_counts = {"x-death"}}})
        .history.failures;
  }

  // Takes the message from the work queue, like a program that publishes a copy of it.
  amqp::MessagePtr Take() { return asker_.Take("work", 1)[0]; }
};

TEST_F(DeathFacts, RejectedMessagesCarryARoundCountOnAllVersions) {
  peer_->Publish("", "work", "body");
  asker_.Consume("work", 1);
  for (std::size_t round = 1; round <= 3; ++round) {
    asker_.RejectForGood(*asker_.deliveries().back());
    ASSERT_TRUE(Eventually([&] { return asker_.deliveries().size() == round + 1; }));
    const amqp::Message& message = *asker_.deliveries().back();
    const std::string count = std::to_string(round);
    EXPECT_THAT(InWords(ReadDeaths(message)),
                UnorderedElementsAre("work rejected " + count, "delay expired " + count));
    EXPECT_EQ(ReadDeaths(message)[0].queue, "delay");  // the newest first
    EXPECT_EQ(Failures(message), round);
  }
}

// A program that republishes its messages with all headers, including x-death, and each time to the
// same delay queue: 3.x continues to count, and from 4.0 on each copy begins at one again.
TEST_F(DeathFacts, RepublishedCopiesKeepCountingOnlyBefore4) {
  peer_->Publish("", "delay", "body");
  for (std::uint64_t round = 1; round <= 3; ++round) {
    const amqp::MessagePtr message = Take();
    EXPECT_EQ(Failures(*message), asker_.IsAtLeast(4) ? 1U : round);
    if (round < 3) peer_->Publish("", "delay", "body", message->properties);
  }
}

TEST_F(DeathFacts, APerMessageTtlIsKeptAsOriginalExpirationAndCounted) {
  DeclareDelay("mixed", {});
  peer_->Publish("", "mixed", "body", {.expiration = "50"});
  const amqp::MessagePtr message = Take();
  EXPECT_THAT(InWords(ReadDeaths(*message)), UnorderedElementsAre("mixed expired 1"));
  EXPECT_TRUE(NewestDeathHas(*message, "original-expiration"));
  EXPECT_FALSE(message->properties.expiration.has_value());
  EXPECT_EQ(Failures(*message), 1U);
}

// A ladder of delay queues: an entry for each.
TEST_F(DeathFacts, EachDelayQueueHasAnEntryBefore4) {
  DeclareDelay("delay.2", {{"x-message-ttl", std::int64_t{50}}});
  peer_->Publish("", "delay", "body");
  const amqp::MessagePtr first = Take();
  peer_->Publish("", "delay.2", "body", first->properties);
  const amqp::MessagePtr second = Take();
  if (asker_.IsAtLeast(4)) {
    EXPECT_THAT(InWords(ReadDeaths(*second)), UnorderedElementsAre("delay.2 expired 1"));
  } else {
    EXPECT_THAT(InWords(ReadDeaths(*second)),
                UnorderedElementsAre("delay.2 expired 1", "delay expired 1"));
  }
}

}  // namespace retryq::testing::deaths_test
