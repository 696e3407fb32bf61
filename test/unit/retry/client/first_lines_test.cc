#include <chrono>
#include <future>
#include <ratio>
#include <span>

#include "absl/strings/string_view.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/retryq.h"
#include "support/simulated_world.h"
#include "support/test.h"

// The lines that a new user writes first compile. Lines that must not compile are in
// test/lints/refused.txt.

namespace retryq::first_lines_test {

class FirstLines : public testing::SimulatedTest {
 protected:
  FirstLines() {
    rabbit_.DeclareQueue("in");
    rabbit_.DeclareQueue("out");
  }
};

TEST_F(FirstLines, SettlesWhenThePublishIsConfirmed) {
  const auto consumer =
      client_->Consume({.queue = "in"}, [this](Delivery delivery, Settlement settlement) {
        client_->Publish({.routing_key = "out", .body = delivery.body()},
                         [settlement = std::move(settlement)](absl::Status status) mutable {
                           std::move(settlement).Settle(status);
                         });
      });
  ASSERT_TRUE(consumer.ok());
  rabbit_.Publish("", "in", {}, "42");
  time_.Advance(absl::Seconds(2));
  EXPECT_EQ(rabbit_.Count("in"), 0u);
  ASSERT_EQ(rabbit_.Count("out"), 1u);
  EXPECT_EQ(rabbit_.Messages("out")[0]->body, "42");
}

TEST_F(FirstLines, PublishesWithoutOptionsAndWithoutACallback) {
  client_->Publish({.routing_key = "out", .body = "1"});
  std::optional<absl::Status> published;
  client_->Publish({.routing_key = "out", .body = "2"},
                   [&](absl::Status status) { published = std::move(status); });
  client_->Declare({.name = "declared"});
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(rabbit_.Count("out"), 2u);
  EXPECT_EQ(published, absl::OkStatus());
}

TEST_F(FirstLines, PublishesBytesOfEveryType) {
  const std::vector<std::byte> bytes = {std::byte{'a'}, std::byte{0}};
  const std::string text("a\0", 2);
  client_->Publish({.routing_key = "out", .body = bytes});
  client_->Publish({.routing_key = "out", .body = std::as_bytes(std::span(text))});
  client_->Publish({.routing_key = "out", .body = text});
  client_->Publish({.routing_key = "out", .body = std::string_view(text)});
  client_->Publish({.routing_key = "out", .body = absl::string_view(text)});
  time_.Advance(absl::Seconds(1));
  ASSERT_EQ(rabbit_.Count("out"), 5u);
  for (const amqp::MessagePtr& message : rabbit_.Messages("out")) EXPECT_EQ(message->body, text);
}

TEST_F(FirstLines, TakesDurationsOfChrono) {
  using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
  std::vector<absl::Time> calls;
  const auto consumer = client_->Consume(
      {.queue = "in",
       .retry = {.backoff = {.jitter = 0, .delays = {1500ms, 2min}}, .max_attempts = 3}},
      [&](const Delivery& delivery) -> Outcome {
        calls.push_back(time_.Now());
        if (delivery.attempt() < 2) return absl::AbortedError("again");
        return Outcome::Snooze(1h, "later");
      });
  ASSERT_TRUE(consumer.ok());
  client_->Publish({.routing_key = "in", .body = "1"}, {.delay = 1.5min});
  const absl::Time start = time_.Now();
  time_.Advance(1h);
  ASSERT_EQ(calls.size(), 3u);
  const absl::Duration near = absl::Seconds(1);
  EXPECT_LT(absl::AbsDuration(calls[0] - start - absl::Seconds(90)), near);
  EXPECT_LT(absl::AbsDuration(calls[1] - calls[0] - absl::Milliseconds(1500)), near);
  EXPECT_LT(absl::AbsDuration(calls[2] - calls[1] - absl::Minutes(2)), near);
  bool fired = false;
  const auto timer = time_.After(40min, [&] { fired = true; });
  time_.Advance(40min);
  EXPECT_TRUE(fired);
  EXPECT_EQ(calls.size(), 4u);
  const amqp::ConnectionOptions connection = {.connection_timeout = 5s, .reconnect_max = 1min};
  EXPECT_EQ(connection.connection_timeout, absl::Seconds(5));
  const testing::SimulatedRabbitMq::Options simulated = {.consumer_timeout = 30min};
  EXPECT_EQ(simulated.consumer_timeout, absl::Minutes(30));
}

TEST(Duration, IsExactAndSaturates) {
  using std::chrono::duration;
  using std::chrono::hours;
  using std::chrono::nanoseconds;
  EXPECT_EQ(Duration(nanoseconds(1)), absl::Nanoseconds(1));
  EXPECT_EQ(Duration(nanoseconds::max()), absl::Nanoseconds(nanoseconds::max().count()));
  EXPECT_EQ(Duration(nanoseconds::min()), absl::Nanoseconds(nanoseconds::min().count()));
  EXPECT_EQ(Duration(duration<int, std::ratio<1, 3>>(2)), absl::Seconds(2) / 3);
  EXPECT_EQ(Duration(duration<float>(0.25F)), absl::Milliseconds(250));
  EXPECT_EQ(Duration(hours::max()), absl::InfiniteDuration());
  EXPECT_EQ(Duration(duration<double>(-1e300)), -absl::InfiniteDuration());
}

TEST_F(FirstLines, KeepsMoveOnlyObjectsInHandlersWorkAndTimers) {
  int calls = 0;
  const auto consumer = client_->Consume(
      {.queue = "in"}, [&, own = std::make_unique<int>(7)](const Delivery&) mutable {
        calls += (*own)++;
        return absl::OkStatus();
      });
  ASSERT_TRUE(consumer.ok());
  rabbit_.Publish("", "in", {}, "a");
  rabbit_.Publish("", "in", {}, "b");
  time_.executor()->Post([&, own = std::make_unique<int>(100)] { calls += *own; });
  const auto timer =
      time_.After(absl::Seconds(1), [&, own = std::make_unique<int>(1000)] { calls += *own; });
  time_.Advance(absl::Seconds(2));
  EXPECT_EQ(calls, 7 + 8 + 100 + 1000);
}

TEST_F(FirstLines, AcceptsHeadersOfEveryIntegerType) {
  const long long wide = -5;
  const unsigned long long natural = 6;
  client_->Publish({.routing_key = "out",
                    .headers = {{"wide", wide}, {"natural", natural}, {"int", 7}, {"long", 8L}}});
  time_.Advance(absl::Seconds(1));
  const auto message = rabbit_.Messages("out").at(0);
  EXPECT_EQ(message->properties.headers->FindInt64("wide"), -5);
  EXPECT_EQ(message->properties.headers->FindInt64("natural"), 6);
  EXPECT_EQ(message->properties.headers->FindInt64("int"), 7);
}

TEST_F(FirstLines, AcceptsABodyOfEveryKindOfText) {
  const std::string text = "order";
  const BodyView body(text);
  EXPECT_EQ(absl::InvalidArgumentError(body).message(), "order");
  EXPECT_EQ(absl::StrCat("bad ", body), "bad order");
  const std::string copied = body;
  const std::string_view viewed = body;
  EXPECT_EQ(copied, viewed);
  EXPECT_EQ(body, "order");
  EXPECT_TRUE(body.starts_with("ord"));
  EXPECT_EQ(::testing::PrintToString(body), "\"order\"");
}

struct Service {
  EventLoop loop;
  Client client{loop, {.url = "amqp://localhost", .name = "service"}};
  Consumer consumer;
};

Client Make(testing::SimulatedTime& time, Random& random, Broker& broker) {
  Client client(testing::EnvironmentOf(time, random), broker, {}, [](const absl::Status&) {});
  return client;
}

TEST(ClientObject, IsMovableAndAnEmptyConsumerDoesNothing) {
  testing::SimulatedTime time;
  testing::SeededRandom random;
  testing::SimulatedRabbitMq rabbit(time, random);
  testing::SimulatedBroker broker(rabbit);
  rabbit.DeclareQueue("out");
  Client client = Make(time, random, broker);
  client.Publish({.routing_key = "out"});
  time.Advance(absl::Seconds(1));
  EXPECT_EQ(rabbit.Count("out"), 1u);

  Consumer consumer;
  consumer.Pause();
  consumer.Resume();
  std::optional<bool> drained;
  consumer.Drain(absl::Seconds(1), [&](bool complete) { drained = complete; });
  EXPECT_EQ(drained, true);
}

}  // namespace retryq::first_lines_test
