// Delays that are not steps of the grid, on the simulated broker. every_delay_test.cc tests random
// policies.

#include "base/header_names.h"
#include "retryq/broker/delay_grid.h"
#include "retryq/delayed_publisher.h"
#include "retryq/retryq.h"
#include "support/make_message.h"
#include "support/simulated_world.h"
#include "support/test.h"

namespace retryq::any_delay_test {

using testing::SimulatedProcess;

constexpr absl::Duration kOdd = absl::Milliseconds(98'765);
const absl::Status kDown = absl::UnavailableError("down");

class AnyDelay : public ::testing::Test, protected testing::SimulatedWorld {
 protected:
  struct Call {
    absl::Time at;
    std::string body;
    std::uint64_t attempt;
    absl::Duration delay;
  };

  AnyDelay() { rabbit_.DeclareQueue("work"); }

  // A process that consumes "work", with a policy that adds nothing to the grid.
  SimulatedProcess& Consume(Handler handler, const SimulatedProcess::Options& options = {},
                            std::uint16_t prefetch = 64) {
    SimulatedProcess& process = Start(options);
    process.Consume({.queue = "work", .retry = {.backoff = {.factor = 1.0}}, .prefetch = prefetch},
                    std::move(handler));
    return process;
  }

  // Fails the first call for a message, so that it returns after `delay`, and then handles it.
  Handler RetriesAfter(absl::Duration delay) {
    return [this, delay](const Delivery& delivery) -> Outcome {
      Note(delivery);
      if (delivery.attempt() > 0) return Outcome::Ok();
      return Outcome::RetryAfter(delay, kDown);
    };
  }
  Handler Handles() {
    return [this](const Delivery& delivery) {
      Note(delivery);
      return Outcome::Ok();
    };
  }
  void Note(const Delivery& delivery) {
    calls_.push_back({time_.Now(), std::string(delivery.body()), delivery.attempt(),
                      delivery.history().delay.value_or(absl::ZeroDuration())});
  }

  // "work" and "mail" get messages that are published to "shop" with the key "order".
  void BindBoth() {
    rabbit_.DeclareExchange("shop");
    rabbit_.DeclareQueue("mail");
    for (const char* queue : {"work", "mail"}) rabbit_.Bind("shop", queue, "order");
  }

  std::vector<Call> calls_;
};

TEST_F(AnyDelay, HidesItsHopsFromTheHandler) {
  bool seen = false;
  Consume([&](const Delivery& delivery) -> Outcome {
    if (delivery.attempt() == 0) return Outcome::RetryAfter(kOdd, kDown);
    seen = true;
    EXPECT_EQ(delivery.exchange(), "");
    EXPECT_EQ(delivery.routing_key(), "work");
    EXPECT_EQ(delivery.last_error(), "UNAVAILABLE: down");
    EXPECT_TRUE(delivery.headers().IsHidden(kRetryRemainingHeader));
    EXPECT_FALSE(delivery.headers().Find(kRetryRemainingHeader).has_value());
    return Outcome::Ok();
  });
  Send("work", "one");
  time_.Advance(absl::Minutes(2));
  EXPECT_TRUE(seen);
}

TEST_F(AnyDelay, IsNotHoursLongerAfterABacklog) {
  SimulatedProcess& first = Consume(RetriesAfter(absl::Hours(1) + kOdd));
  Send("work", "one");
  time_.Advance(absl::Seconds(1));
  Kill(first);
  time_.Advance(absl::Hours(7));
  SimulatedProcess& second = Consume(Handles());
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(calls_, SizeIs(2));
  EXPECT_EQ(second.events.Count(EventKind::kForwarded), 0U);
}

TEST_F(AnyDelay, ReportsThatClocksDifferByMinutes) {
  SimulatedProcess& ahead =
      Consume(RetriesAfter(absl::Seconds(90) + absl::Milliseconds(1)), {.skew = absl::Minutes(10)});
  Send("work", "one");
  time_.Advance(absl::Seconds(1));
  ahead.consumers.clear();
  SimulatedProcess& behind = Consume(Handles());
  time_.Advance(absl::Minutes(2));
  EXPECT_THAT(calls_, SizeIs(2)) << "it does not go round for ten minutes";
  ASSERT_EQ(behind.events.Count(EventKind::kOverridden), 1U);
  EXPECT_THAT(behind.events.Last(EventKind::kOverridden)->error, HasSubstr("clocks agree"));
}

// A message that arrived shortly before it was due.
class LastMilliseconds : public AnyDelay {
 protected:
  void SendAlmostDue(absl::Duration left, std::string_view body = "one") {
    const amqp::Table headers =
        testing::Copied({{std::string(kRetryQueueHeader), "work"},
                         {std::string(kRetryCountHeader), std::int64_t{1}},
                         {std::string(kRetryRemainingHeader), absl::ToInt64Milliseconds(left)}});
    Send("work", body, headers);
  }
};

TEST_F(LastMilliseconds, DoNotBlockConsumption) {
  SimulatedProcess& process = Start();
  process.Consume({.queue = "work", .prefetch = 4}, Handles());
  for (int i = 0; i < 100; ++i) SendAlmostDue(absl::Milliseconds(19), std::to_string(i));
  time_.Advance(absl::Seconds(2));
  EXPECT_THAT(calls_, SizeIs(100));
  ExpectNothingLeft();
}

TEST_F(LastMilliseconds, AreRequeuedWithTheirConsumer) {
  SimulatedProcess& process = Consume(Handles());
  time_.Advance(absl::Seconds(1));
  SendAlmostDue(absl::Milliseconds(19));
  time_.Advance(absl::Milliseconds(5));
  ASSERT_THAT(calls_, IsEmpty());
  process.consumers.clear();
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(calls_, IsEmpty());
  EXPECT_EQ(rabbit_.Count("work"), 1U);
}

TEST_F(LastMilliseconds, AreAwaitedWhenItDrains) {
  SimulatedProcess& process = Consume(Handles());
  time_.Advance(absl::Seconds(1));
  SendAlmostDue(absl::Milliseconds(19));
  time_.Advance(absl::Milliseconds(5));
  bool drained = false;
  process.consumers.back()->Drain(absl::Seconds(10), [&](bool complete) { drained = complete; });
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(drained);
  EXPECT_THAT(calls_, SizeIs(1));
  ExpectNothingLeft();
}

// A message that a policy releases from its delay queue before its delay is over.
class TooSoon : public AnyDelay {
 protected:
  void SendEarly(absl::Duration left, absl::Duration delay = absl::Seconds(10)) {
    const std::int64_t millis = absl::ToInt64Milliseconds(delay);
    const std::string queue = "retry." + std::to_string(millis);
    const amqp::Table death = {{"queue", queue}, {"exchange", queue}, {"reason", "expired"}};
    const amqp::Table headers = testing::Copied(
        {{std::string(kRetryQueueHeader), "work"},
         {std::string(kRetryCountHeader), std::int64_t{1}},
         {std::string(kRetryDelayHeader), millis},
         {std::string(kRetryNotBeforeHeader), absl::ToUnixMillis(time_.Now() + left)},
         {"x-death", amqp::Array{amqp::Value(death)}}});
    Send("work", "one", headers);
  }
};

TEST_F(TooSoon, IsHandledWhenItsDelayIsOver) {
  SimulatedProcess& process = Consume(Handles());
  time_.Advance(absl::Seconds(1));
  SendEarly(absl::Seconds(8));
  time_.Advance(absl::Milliseconds(7990));
  EXPECT_THAT(calls_, IsEmpty());
  time_.Advance(absl::Seconds(1));
  ASSERT_THAT(calls_, SizeIs(1));
  EXPECT_EQ(calls_[0].attempt, 1U);
  EXPECT_GE(process.events.Count(EventKind::kForwarded), 1U);
  EXPECT_EQ(process.events.Count(EventKind::kOverridden), 1U);
  ExpectNothingLeft();
}

TEST_F(TooSoon, IsForwardedAtMostOncePerSecond) {
  SimulatedProcess& process = Consume(Handles());
  time_.Advance(absl::Seconds(1));
  SendEarly(absl::Milliseconds(9'990));  // it has stayed for 10 ms
  time_.Advance(absl::Milliseconds(980));
  EXPECT_EQ(process.events.Count(EventKind::kForwarded), 0U);
  time_.Advance(absl::Milliseconds(50));
  EXPECT_EQ(process.events.Count(EventKind::kForwarded), 1U);
  time_.Advance(absl::Seconds(9));
  EXPECT_THAT(calls_, SizeIs(1));
}

TEST_F(TooSoon, WaitsForAShortRestWithoutForwarding) {
  SimulatedProcess& process = Consume(Handles());
  time_.Advance(absl::Seconds(1));
  SendEarly(absl::Milliseconds(700));
  time_.Advance(absl::Milliseconds(690));
  EXPECT_THAT(calls_, IsEmpty());
  time_.Advance(absl::Milliseconds(20));
  EXPECT_THAT(calls_, SizeIs(1));
  EXPECT_EQ(process.events.Count(EventKind::kForwarded), 0U);
}

TEST_F(TooSoon, StaysUnsettledUntilItIsForwarded) {
  SimulatedProcess& process = Consume(Handles());
  time_.Advance(absl::Seconds(1));
  SendEarly(absl::Milliseconds(9'990));
  time_.Advance(absl::Milliseconds(500));
  process.consumers.clear();
  time_.Advance(absl::Seconds(5));
  EXPECT_EQ(rabbit_.Count("work"), 1U);
}

class Published : public AnyDelay {
 protected:
  std::function<void(absl::Status)> Answer() {
    return [this](absl::Status status) { answers_.push_back(std::move(status)); };
  }
  OutgoingMessage ToWork() { return {.routing_key = "work", .body = "one"}; }

  std::vector<absl::Status> answers_;
};

TEST_F(Published, ExactlyIsHandledAtItsDueTime) {
  SimulatedProcess& process = Consume(Handles());
  DelayedPublisher publisher(*process.client);
  const absl::Time begun = time_.Now();
  publisher.PublishAfter(ToWork(), kOdd, Answer());
  time_.Advance(absl::Minutes(2));
  EXPECT_THAT(answers_, ElementsAre(absl::OkStatus()));
  ASSERT_THAT(calls_, SizeIs(1));
  EXPECT_EQ(calls_[0].attempt, 0U);
  EXPECT_GE(calls_[0].at - begun, kOdd);
  EXPECT_LE(calls_[0].at - begun, kOdd + absl::Milliseconds(40));
  EXPECT_GT(process.events.Count(EventKind::kForwarded), 1U);
  ExpectNothingLeft();
}

TEST_F(Published, AtATimeIsHandledThenRegardlessOfTheTimeToConnect) {
  SimulatedProcess& process = Consume(Handles());
  rabbit_.ShutDown();
  time_.Advance(absl::Seconds(1));
  const absl::Time due = time_.Now() + kOdd;
  DelayedPublisher(*process.client, {.deadline = absl::Minutes(5)})
      .PublishAt(ToWork(), due, Answer());
  time_.Advance(absl::Seconds(25));
  rabbit_.Start();
  time_.Advance(absl::Minutes(2));
  ASSERT_THAT(calls_, SizeIs(1));
  EXPECT_GE(calls_[0].at, due);
  EXPECT_LE(calls_[0].at, due + absl::Milliseconds(20));
}

TEST_F(Published, AtAPastTimeArrivesAtOnce) {
  SimulatedProcess& process = Start();
  DelayedPublisher publisher(*process.client);
  publisher.PublishAt(ToWork(), time_.Now() - absl::Hours(1), Answer());
  publisher.PublishAfter(ToWork(), -absl::Hours(1), Answer());
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(answers_, ElementsAre(absl::OkStatus(), absl::OkStatus()));
  EXPECT_EQ(rabbit_.Count("work"), 2U);
}

TEST_F(Published, RoundedUpIsNeverEarlyForAnyConsumer) {
  SimulatedProcess& process = Start();
  DelayedPublisher(*process.client, {.round_up = true}).PublishAfter(ToWork(), kOdd, Answer());
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(rabbit_.Count("retry.120000"), 1U);
  const amqp::MessagePtr message = rabbit_.Messages("retry.120000").front();
  EXPECT_FALSE(message->properties.headers &&
               message->properties.headers->Find(kRetryRemainingHeader))
      << "nothing for others to trip over";
  time_.Advance(absl::Seconds(118));
  EXPECT_EQ(rabbit_.Count("work"), 0U);
  time_.Advance(absl::Seconds(2));
  EXPECT_EQ(rabbit_.Count("work"), 1U);
}

TEST_F(Published, ExactlyThroughAnExchangeIsExactInEachQueue) {
  BindBoth();
  SimulatedProcess& process = Start();
  std::vector<std::string> called;
  for (const char* queue : {"work", "mail"}) {
    process.Consume({.queue = queue}, [&, queue](const Delivery& delivery) {
      called.emplace_back(queue);
      EXPECT_EQ(delivery.exchange(), "shop");
      EXPECT_EQ(delivery.routing_key(), "order");
      EXPECT_EQ(delivery.attempt(), 0U);
      Note(delivery);
      return Outcome::Ok();
    });
  }
  const absl::Time begun = time_.Now();
  DelayedPublisher(*process.client)
      .PublishAfter({.exchange = "shop", .routing_key = "order", .body = "one"}, kOdd, Answer());
  time_.Advance(absl::Minutes(3));
  EXPECT_THAT(called, ::testing::UnorderedElementsAre("work", "mail"));
  for (const Call& call : calls_) {
    EXPECT_GE(call.at - begun, kOdd);
    EXPECT_LE(call.at - begun, kOdd + absl::Milliseconds(40));
  }
  ExpectNothingLeft();
}

TEST_F(Published, ForTooLongIsRefusedWithTheRemedy) {
  SimulatedProcess& process = Start();
  const absl::Duration long_time = DelayGrid::kLongest + absl::Seconds(1);
  DelayedPublisher(*process.client, {.round_up = true}).PublishAfter(ToWork(), long_time, Answer());
  DelayedPublisher(*process.client).PublishAfter(ToWork(), long_time, Answer());
  process.client->Publish(ToWork(), {.delay = absl::Seconds(1), .at = time_.Now()}, Answer());
  time_.Advance(absl::Seconds(1));
  ASSERT_THAT(answers_, SizeIs(3));
  const auto refusals = std::count_if(answers_.begin(), answers_.end(), absl::IsInvalidArgument);
  EXPECT_EQ(refusals, 2);
  EXPECT_THAT(std::string(answers_[0].message()), HasSubstr("delay must be at most 720h"));
  EXPECT_THAT(std::string(answers_[0].message()), HasSubstr("rounded up"));
}

}  // namespace retryq::any_delay_test
