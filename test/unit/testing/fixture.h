#ifndef RETRYQ_TEST_UNIT_TESTING_FIXTURE_H_
#define RETRYQ_TEST_UNIT_TESTING_FIXTURE_H_

#include "retryq/amqp/table.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_broker.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "retryq/testing/simulated_time.h"
#include "support/test.h"

namespace retryq::testing {

// A consumer that keeps its deliveries.
class Inbox final : public SubscriptionListener {
 public:
  void OnSubscribed() override { ++subscribed; }
  void OnDelivery(amqp::MessagePtr message) override { messages.push_back(std::move(message)); }
  void OnInterrupted(const absl::Status& why) override { interruptions.push_back(why); }

  std::vector<std::string> Bodies() const {
    std::vector<std::string> bodies;
    for (const amqp::MessagePtr& message : messages) bodies.emplace_back(message->body);
    return bodies;
  }

  int subscribed = 0;
  std::vector<amqp::MessagePtr> messages;
  std::vector<absl::Status> interruptions;
};

class SimulatedRabbitMqTest : public ::testing::Test {
 protected:
  // The declaration of a delay queue that dead-letters to the default exchange.
  static amqp::Table DelayArguments(std::int64_t ttl, std::int64_t expires,
                                    std::string_view type = "classic") {
    return {{"x-queue-type", type},
            {"x-message-ttl", ttl},
            {"x-expires", expires},
            {"x-dead-letter-exchange", ""},
            {"x-dead-letter-routing-key", "work"}};
  }
  static amqp::Table AtLeastOnce(std::int64_t ttl, std::int64_t expires) {
    amqp::Table arguments = DelayArguments(ttl, expires, "quorum");
    arguments.Set("x-dead-letter-strategy", "at-least-once");
    arguments.Set("x-overflow", "reject-publish");
    return arguments;
  }

  // The broker's reply to it, a moment later.
  PublishResult Publish(std::string_view exchange, std::string_view routing_key,
                        std::string_view body = "body") {
    PublishResult answer;
    bool answered = false;
    broker_.Publish({.exchange = exchange,
                     .routing_key = routing_key,
                     .properties = {.delivery_mode = 2, .message_id = body},
                     .body = body},
                    [&](const PublishResult& result) {
                      answer = result;
                      answered = true;
                    });
    time_.Advance(absl::Milliseconds(100));
    EXPECT_TRUE(answered);
    answer.text = {};
    return answer;
  }

  absl::StatusOr<DeclareOk> Declare(const DeclareParams& params) {
    absl::StatusOr<DeclareOk> answer = absl::UnknownError("no answer");
    broker_.Declare(params, [&](const absl::StatusOr<DeclareOk>& given) { answer = given; });
    time_.Advance(absl::Milliseconds(10));
    return answer;
  }

  std::vector<LetGo::Cause> Causes() const {
    std::vector<LetGo::Cause> causes;
    for (const LetGo& gone : rabbit_.let_go()) causes.push_back(gone.cause);
    return causes;
  }

  SimulatedTime time_;
  SeededRandom random_;
  SimulatedRabbitMq rabbit_{time_, random_};
  SimulatedBroker broker_{rabbit_};
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_UNIT_TESTING_FIXTURE_H_
