// Delays that are no step of anything, on the simulated broker.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/header_names.h"
#include "retryq/broker/delay_grid.h"
#include "retryq/delayed_publisher.h"
#include "retryq/retryq.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_broker.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "retryq/testing/simulated_time.h"
#include "support/make_message.h"
#include "support/recorded_events.h"

namespace retryq {
namespace any_delay_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RecordedEvents;
using ::testing::SizeIs;

constexpr absl::Duration kOdd = absl::Milliseconds(98'765);
const absl::Status kDown = absl::UnavailableError("down");

// One process: a client on its way to the broker, with a clock of its own, and its consumers.
class Process {
 public:
  struct Options {
    ClientOptions client = {};
    absl::Duration skew = absl::ZeroDuration();
    Observer* observer = nullptr;  // else `events`
  };

  Process(testing::SimulatedTime& time, testing::SeededRandom& random,
          testing::SimulatedRabbitMq& rabbit, Options options)
      : clock_(time, options.skew), broker_(rabbit) {
    Environment environment = testing::EnvironmentOf(
        time, random, options.observer != nullptr ? options.observer : &events);
    environment.clock = &clock_;
    client_.emplace(environment, broker_, options.client,
                    [](const absl::Status& fatal) { ADD_FAILURE() << fatal; });
  }

  void Consume(ConsumerOptions options, Handler handler) {
    absl::StatusOr<Consumer> consumer = client_->Consume(std::move(options), std::move(handler));
    ASSERT_TRUE(consumer.ok()) << consumer.status();
    consumers_.push_back(*std::move(consumer));
  }

  Client& client() { return *client_; }
  Consumer& consumer() { return consumers_.back(); }
  void StopConsuming() { consumers_.clear(); }

  RecordedEvents events;

 private:
  const testing::SkewedClock clock_;
  testing::SimulatedBroker broker_;
  std::optional<Client> client_;
  std::vector<Consumer> consumers_;
};

class AnyDelay : public ::testing::Test {
 protected:
  struct Call {
    absl::Time at;
    std::string body;
    std::uint64_t attempt;
    absl::Duration delay;
  };

  AnyDelay() { rabbit_.DeclareQueue("work"); }

  Process& Start(const Process::Options& options = {}) {
    processes_.push_back(std::make_unique<Process>(time_, random_, rabbit_, options));
    return *processes_.back();
  }
  // As a killed process does.
  void Kill(Process& process) {
    std::erase_if(processes_, [&](const auto& owned) { return owned.get() == &process; });
  }

  // A policy that adds nothing to the grid.
  static RetryOptions EverySecond() { return {.backoff = {.factor = 1.0}}; }

  // Fails a message's first call, so that it comes back after `delay`, and handles it then.
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

  void Send(std::string_view body = "one") { ASSERT_TRUE(rabbit_.Publish("", "work", {}, body)); }

  // Nothing is anywhere any more.
  void ExpectNothingLeft() {
    for (const std::string& queue : rabbit_.queues()) EXPECT_EQ(rabbit_.Count(queue), 0U) << queue;
    EXPECT_THAT(rabbit_.let_go(), IsEmpty());
  }

  testing::SimulatedTime time_;
  testing::SeededRandom random_{1};
  testing::SimulatedRabbitMq rabbit_{time_, random_};
  std::vector<Call> calls_;
  std::vector<std::unique_ptr<Process>> processes_;
};

// --- the property
// ----------------------------------------------------------------------------------

// The time to live in the name of a delay queue.
std::int64_t TtlOf(const std::string& queue) {
  std::int64_t ttl = 0;
  const char* const begin = queue.data() + std::string_view("retry.").size();
  std::from_chars(begin, queue.data() + queue.size(), ttl);
  return ttl;
}

BackoffOptions RandomBackoff(testing::SeededRandom& random, absl::Duration max) {
  BackoffOptions backoff{.base = random.Between(absl::Milliseconds(1), max), .max = max};
  switch (random.Below(5)) {
    case 0:
      backoff.jitter = 1.0;
      break;
    case 1:
      backoff.jitter_kind = JitterKind::kDecorrelated;
      break;
    case 2:
      backoff.jitter = static_cast<double>(random.Below(100)) / 100;
      backoff.growth = Growth::kLinear;
      backoff.step = random.Between(absl::Milliseconds(1), absl::Seconds(1));
      break;
    case 3:
      backoff.function = [&random, max](const Failure&) {
        return random.Between(absl::Milliseconds(1), max);
      };
      break;
    default:
      backoff.factor = 1.0 + static_cast<double>(random.Below(20)) / 10;
  }
  return backoff;
}

// When each delay queue was declared.
class NewQueues final : public Observer {
 public:
  void OnEvent(const Event& event) override {
    log.OnEvent(event);
    if (event.kind == EventKind::kDeclared) {
      declared_.emplace_back(TtlOf(std::string(event.delay_queue)), event.time);
    }
  }

  // Whether something that comes out of its delay queue now had to wait, for up to a second, until
  // that queue could be published to.
  bool HeldUp(absl::Time now) const {
    return std::any_of(declared_.begin(), declared_.end(), [now](const auto& queue) {
      const absl::Duration waited = now - queue.second - absl::Milliseconds(queue.first);
      return waited >= absl::ZeroDuration() && waited < absl::Milliseconds(1100);
    });
  }

  RecordedEvents log;

 private:
  std::vector<std::pair<std::int64_t, absl::Time>> declared_;
};

class EveryDelay : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(EveryDelay, IsExactToTheMillisecondWithFewHopsAndFewQueues) {
  testing::SeededRandom random(GetParam());
  testing::SimulatedTime time;
  testing::SimulatedRabbitMq rabbit(time, random);
  rabbit.DeclareQueue("work");
  // From the shortest to the longest, each order of magnitude as often as any other. Where the
  // longest are, quorum queues: their leases need no renewal, every few minutes of a month.
  const double orders = static_cast<double>(random.Below(1000)) / 1000;
  const absl::Duration max = absl::Milliseconds(1) * std::pow(2'592'000'000.0, orders);
  const bool quorum = max > absl::Hours(24) || random.OneIn(2);
  ClientOptions options;
  options.delay_queues.max_delay_queues = 16 + random.Below(random.OneIn(2) ? 40 : 180);
  options.delay_queues.queue_type = quorum ? QueueType::kQuorum : QueueType::kClassic;
  time.Advance(absl::Minutes(1));

  NewQueues queues;
  Process process(time, random, rabbit, {.client = options, .observer = &queues});
  constexpr std::uint64_t kAttempts = 4;
  constexpr int kMessages = 12;
  int handled = 0;
  std::map<std::string, absl::Time, std::less<>> failed_at;
  process.Consume(
      {.queue = "work",
       .retry = {.backoff = RandomBackoff(random, max), .max_retry_after = absl::Hours(24 * 30)},
       .prefetch = 1000},  // as acks wait for new quorum queues
      [&](const Delivery& delivery) -> Outcome {
        const std::string id(delivery.body());
        if (delivery.attempt() > 0) {
          const absl::Duration delay = delivery.history().delay.value();
          const absl::Duration late = time.Now() - delivery.history().not_before.value();
          EXPECT_GE(time.Now() - failed_at.at(id), delay);
          const bool held_up = quorum && queues.HeldUp(time.Now());
          EXPECT_LE(late, absl::Milliseconds(held_up ? 1020 : 20)) << "of a delay of " << delay;
        }
        failed_at[id] = time.Now();
        if (delivery.attempt() + 1 == kAttempts) {
          ++handled;
          return Outcome::Ok();
        }
        if (!random.OneIn(3)) return kDown;
        return Outcome::RetryAfter(random.Between(absl::Milliseconds(1), max), kDown);
      });
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_TRUE(rabbit.Publish("", "work", {.message_id = std::to_string(i)}, std::to_string(i)));
  }
  while (handled < kMessages) ASSERT_TRUE(time.AdvanceToNextTimer());
  time.Advance(absl::Seconds(10));

  EXPECT_EQ(rabbit.Count("work"), 0U);
  EXPECT_THAT(rabbit.let_go(), IsEmpty());
  std::set<std::int64_t> ttls;
  std::map<std::string, int> hops;
  const std::size_t grid = DelayGrid(options.delay_queues.max_delay_queues).steps().size();
  const int most = grid >= 64 ? 15 : grid >= 32 ? 24 : 40;
  for (const RecordedEvents::Entry& entry : queues.log.entries) {
    if (entry.kind == EventKind::kDeclared) ttls.insert(TtlOf(entry.delay_queue));
    if (entry.kind == EventKind::kRetried) hops[entry.id] = 1;
    if (entry.kind == EventKind::kForwarded) {
      EXPECT_LE(++hops[entry.id], most);
    }
    EXPECT_NE(entry.kind, EventKind::kOverridden) << entry.error;
    EXPECT_NE(entry.kind, EventKind::kHeld) << entry.error;
  }
  EXPECT_LE(ttls.size(), options.delay_queues.max_delay_queues);
  for (const std::string& queue : rabbit.queues()) {
    EXPECT_TRUE(!queue.starts_with("retry.") || ttls.contains(TtlOf(queue))) << queue;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, EveryDelay, ::testing::Range<std::uint64_t>(0, 200));

// --- several clients
// -------------------------------------------------------------------------------

// Clients with policies of their own on one vhost: the delays that have queues.
class DelaysOfSeveralClients {
 public:
  DelaysOfSeveralClients(std::uint64_t seed, bool exact_queues) : random_(seed) {
    options_.delay_queues.exact_queues = exact_queues;
    options_.delay_queues.max_delay_queues = 16 + random_.Below(100);
  }

  std::size_t limit() const { return options_.delay_queues.max_delay_queues; }

  // Each fails its message so often, by a policy of its own.
  void Run(int clients, std::uint64_t attempts, absl::Duration max) {
    int handled = 0;
    for (int i = 0; i < clients; ++i) {
      const std::string queue = "work." + std::to_string(i);
      rabbit_.DeclareQueue(queue);
      processes_.push_back(
          std::make_unique<Process>(time_, random_, rabbit_, Process::Options{.client = options_}));
      processes_.back()->Consume(
          {.queue = queue, .retry = {.backoff = Policy(max), .max_attempts = attempts}},
          [this, &handled, attempts](const Delivery& delivery) -> Outcome {
            if (const auto not_before = delivery.history().not_before) {
              EXPECT_GE(time_.Now(), *not_before);
              EXPECT_LE(time_.Now() - *not_before, absl::Milliseconds(20));
            }
            if (delivery.attempt() + 1 < attempts) return kDown;
            ++handled;
            return Outcome::Ok();
          });
      ASSERT_TRUE(rabbit_.Publish("", queue, {.message_id = queue}, queue));
    }
    while (handled < clients) ASSERT_TRUE(time_.AdvanceToNextTimer());
    EXPECT_THAT(rabbit_.let_go(), IsEmpty());
    for (const auto& process : processes_) {
      for (const RecordedEvents::Entry& entry : process->events.entries) {
        if (entry.kind == EventKind::kDeclared) ttls_.insert(TtlOf(entry.delay_queue));
      }
    }
  }

  // All that were declared.
  const std::set<std::int64_t>& ttls() const { return ttls_; }

 private:
  // As often as not one whose delays are all its own and known beforehand.
  BackoffOptions Policy(absl::Duration max) {
    if (random_.OneIn(2)) return RandomBackoff(random_, max);
    BackoffOptions backoff;
    for (int i = 0; i < 20; ++i) {
      backoff.delays.push_back(random_.Between(absl::Milliseconds(1), max));
    }
    return backoff;
  }

  testing::SeededRandom random_;
  testing::SimulatedTime time_;
  testing::SimulatedRabbitMq rabbit_{time_, random_};
  ClientOptions options_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::set<std::int64_t> ttls_;
};

class SeveralClients : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(SeveralClients, HaveNoMoreDelaysTogetherThanOneWithoutExactQueues) {
  DelaysOfSeveralClients delays(GetParam(), /*exact_queues=*/false);
  delays.Run(8, /*attempts=*/12, absl::Hours(2));
  EXPECT_LE(delays.ttls().size(), delays.limit());
}

INSTANTIATE_TEST_SUITE_P(Seeds, SeveralClients, ::testing::Range<std::uint64_t>(0, 50));

TEST(SeveralClients, AddTheirQueuesWithExactQueues) {
  DelaysOfSeveralClients delays(1, /*exact_queues=*/true);
  delays.Run(20, /*attempts=*/12, absl::Hours(2));
  EXPECT_GT(delays.ttls().size(), delays.limit());
}

// --- one by one
// ------------------------------------------------------------------------------------

TEST_F(AnyDelay, NeedsOneHopIfItIsAStep) {
  Process& process = Start();
  process.Consume({.queue = "work"}, RetriesAfter(absl::Minutes(5)));
  Send();
  time_.Advance(absl::Minutes(6));
  ASSERT_THAT(calls_, SizeIs(2));
  EXPECT_EQ(process.events.Count(EventKind::kForwarded), 0U);
  EXPECT_TRUE(rabbit_.HasQueue("retry.300000"));
}

TEST_F(AnyDelay, UsesEverShorterQueuesWithoutCallingTheHandler) {
  Process& process = Start();
  process.Consume({.queue = "work", .retry = EverySecond()}, RetriesAfter(kOdd));
  Send();
  time_.Advance(absl::Minutes(2));
  ASSERT_THAT(calls_, SizeIs(2));
  EXPECT_EQ(calls_[1].attempt, 1U);
  EXPECT_EQ(calls_[1].delay, kOdd);
  EXPECT_GE(calls_[1].at - calls_[0].at, kOdd);
  EXPECT_LE(calls_[1].at - calls_[0].at, kOdd + absl::Milliseconds(20));
  std::vector<std::string> way;
  for (const RecordedEvents::Entry& entry : process.events.entries) {
    if (entry.kind == EventKind::kRetried || entry.kind == EventKind::kForwarded) {
      way.push_back(entry.delay_queue);
    }
  }
  EXPECT_THAT(way, ElementsAre("retry.60000", "retry.30000", "retry.5000", "retry.3000",
                               "retry.500", "retry.200", "retry.20"));
  EXPECT_EQ(process.events.Last(EventKind::kRetried)->delay, kOdd);
  EXPECT_LT(process.events.Last(EventKind::kForwarded)->delay, absl::Milliseconds(100));
}

TEST_F(AnyDelay, HidesItsHopsFromTheHandler) {
  Process& process = Start();
  bool seen = false;
  process.Consume({.queue = "work"}, Handler([&](const Delivery& delivery) -> Outcome {
                    if (delivery.attempt() == 0) return Outcome::RetryAfter(kOdd, kDown);
                    seen = true;
                    EXPECT_EQ(delivery.exchange(), "");
                    EXPECT_EQ(delivery.routing_key(), "work");
                    EXPECT_EQ(delivery.last_error(), "UNAVAILABLE: down");
                    EXPECT_TRUE(delivery.headers().IsHidden(kRetryRemainingHeader));
                    EXPECT_FALSE(delivery.headers().Find(kRetryRemainingHeader).has_value());
                    return Outcome::Ok();
                  }));
  Send();
  time_.Advance(absl::Minutes(2));
  EXPECT_TRUE(seen);
}

TEST_F(AnyDelay, IsNotHoursLongerAfterABacklog) {
  Process& first = Start();
  first.Consume({.queue = "work"}, RetriesAfter(absl::Hours(1) + kOdd));
  Send();
  time_.Advance(absl::Seconds(1));
  Kill(first);
  time_.Advance(absl::Hours(7));
  Process& second = Start();
  second.Consume({.queue = "work"}, Handles());
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(calls_, SizeIs(2));
  EXPECT_EQ(second.events.Count(EventKind::kForwarded), 0U);
}

TEST_F(AnyDelay, LosesNothingIfWorkersAreKilledMeanwhile) {
  for (int i = 0; i < 20; ++i) Send(std::to_string(i));
  Process* worker = nullptr;
  std::set<std::string> done;
  for (int life = 0; life < 400 && done.size() < 20; ++life) {
    worker = &Start();
    worker->Consume({.queue = "work"}, Handler([&](const Delivery& delivery) -> Outcome {
                      if (delivery.attempt() == 0) return Outcome::RetryAfter(kOdd, kDown);
                      done.insert(std::string(delivery.body()));
                      return Outcome::Ok();
                    }));
    time_.Advance(random_.Between(absl::Milliseconds(5), absl::Seconds(2)));
    Kill(*worker);
  }
  EXPECT_THAT(done, SizeIs(20));
  EXPECT_THAT(rabbit_.let_go(), IsEmpty());
}

TEST_F(AnyDelay, IsShortByAtMostTheClockDifferenceOfWorkers) {
  const absl::Duration apart = absl::Seconds(4);
  for (const absl::Duration skew : {-apart / 2, apart / 2}) {
    Start({.skew = skew}).Consume({.queue = "work", .prefetch = 1}, RetriesAfter(kOdd));
  }
  for (int i = 0; i < 40; ++i) Send(std::to_string(i));
  time_.Advance(absl::Minutes(5));
  std::map<std::string, std::vector<absl::Time>> times;
  for (const Call& call : calls_) times[call.body].push_back(call.at);
  EXPECT_THAT(times, SizeIs(40));
  for (const auto& [body, at] : times) {
    ASSERT_THAT(at, SizeIs(2)) << body;
    EXPECT_GE(at[1] - at[0], kOdd - apart) << body;
    EXPECT_LE(at[1] - at[0], kOdd + absl::Seconds(1)) << body;
  }
  for (const auto& process : processes_) {
    EXPECT_EQ(process->events.Count(EventKind::kOverridden), 0U);
  }
}

TEST_F(AnyDelay, ReportsThatClocksDifferByMinutes) {
  Process& ahead = Start({.skew = absl::Minutes(10)});
  ahead.Consume({.queue = "work"}, RetriesAfter(absl::Seconds(90) + absl::Milliseconds(1)));
  Send();
  time_.Advance(absl::Seconds(1));
  ahead.StopConsuming();
  Process& behind = Start();
  behind.Consume({.queue = "work"}, Handles());
  time_.Advance(absl::Minutes(2));
  EXPECT_THAT(calls_, SizeIs(2)) << "it does not go round for ten minutes";
  ASSERT_EQ(behind.events.Count(EventKind::kOverridden), 1U);
  EXPECT_THAT(behind.events.Last(EventKind::kOverridden)->error, HasSubstr("clocks agree"));
}

TEST_F(AnyDelay, ReturnsOnlyToItsOwnQueueThroughANamedExchange) {
  rabbit_.DeclareExchange("shop");
  rabbit_.DeclareQueue("mail");
  for (const char* queue : {"work", "mail"}) rabbit_.Bind("shop", queue, "order");
  Process& process = Start();
  process.Consume({.queue = "work", .work_exchange = "shop", .retry = EverySecond()},
                  RetriesAfter(kOdd));
  ASSERT_TRUE(rabbit_.Publish("shop", "order", {}, "one"));
  time_.Advance(absl::Minutes(2));
  EXPECT_THAT(calls_, SizeIs(2));
  EXPECT_EQ(rabbit_.Count("mail"), 1U);
  EXPECT_TRUE(rabbit_.HasQueue("retry.60000.direct"));
  EXPECT_FALSE(rabbit_.HasQueue("retry.60000"));
}

// --- the last milliseconds
// -------------------------------------------------------------------------

TEST_F(AnyDelay, WaitsForTheLastMillisecondsWithoutAQueue) {
  Process& process = Start();
  process.Consume({.queue = "work"}, RetriesAfter(absl::Milliseconds(19)));
  Send();
  time_.Advance(absl::Seconds(1));
  ASSERT_THAT(calls_, SizeIs(2));
  EXPECT_EQ(process.events.Count(EventKind::kForwarded), 0U);
  EXPECT_TRUE(rabbit_.HasQueue("retry.1"));
}

// A message that was due in a moment when it came.
class LastMilliseconds : public AnyDelay {
 protected:
  void SendAlmostDue(absl::Duration left, std::string_view body = "one") {
    const amqp::Table headers =
        testing::Copied({{std::string(kRetryQueueHeader), "work"},
                         {std::string(kRetryCountHeader), std::int64_t{1}},
                         {std::string(kRetryRemainingHeader), absl::ToInt64Milliseconds(left)}});
    const std::string bytes = headers.Encode().value();
    ASSERT_TRUE(rabbit_.Publish("", "work", {.headers = amqp::TableView(bytes)}, body));
  }
};

TEST_F(LastMilliseconds, DoNotBlockConsumption) {
  Process& process = Start();
  process.Consume({.queue = "work", .prefetch = 4}, Handles());
  for (int i = 0; i < 100; ++i) SendAlmostDue(absl::Milliseconds(19), std::to_string(i));
  time_.Advance(absl::Seconds(2));
  EXPECT_THAT(calls_, SizeIs(100));
  ExpectNothingLeft();
}

TEST_F(LastMilliseconds, AreRequeuedWithTheirConsumer) {
  Process& process = Start();
  process.Consume({.queue = "work"}, Handles());
  time_.Advance(absl::Seconds(1));
  SendAlmostDue(absl::Milliseconds(19));
  time_.Advance(absl::Milliseconds(5));
  ASSERT_THAT(calls_, IsEmpty());
  process.StopConsuming();
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(calls_, IsEmpty());
  EXPECT_EQ(rabbit_.Count("work"), 1U);
}

TEST_F(LastMilliseconds, AreAwaitedWhenItDrains) {
  Process& process = Start();
  process.Consume({.queue = "work"}, Handles());
  time_.Advance(absl::Seconds(1));
  SendAlmostDue(absl::Milliseconds(19));
  time_.Advance(absl::Milliseconds(5));
  bool drained = false;
  process.consumer().Drain(absl::Seconds(10), [&](bool complete) { drained = complete; });
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(drained);
  EXPECT_THAT(calls_, SizeIs(1));
  ExpectNothingLeft();
}

TEST_F(LastMilliseconds, MayBeFollowedByAHandlerThatDestroysItsConsumer) {
  Process& process = Start();
  process.Consume({.queue = "work"}, Handler([&](const Delivery&) {
                    process.StopConsuming();
                    return Outcome::Ok();
                  }));
  SendAlmostDue(absl::Milliseconds(19));
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(rabbit_.Count("work"), 1U) << "unsettled: it went back";
}

// --- too soon
// -------------------------------------------------------------------------------------

// A message that a policy lets out of its delay queue before its delay is over.
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
    const std::string bytes = headers.Encode().value();
    ASSERT_TRUE(rabbit_.Publish("", "work", {.headers = amqp::TableView(bytes)}, "one"));
  }
};

TEST_F(TooSoon, IsHandledWhenItsDelayIsOver) {
  Process& process = Start();
  process.Consume({.queue = "work"}, Handles());
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
  Process& process = Start();
  process.Consume({.queue = "work"}, Handles());
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
  Process& process = Start();
  process.Consume({.queue = "work"}, Handles());
  time_.Advance(absl::Seconds(1));
  SendEarly(absl::Milliseconds(700));
  time_.Advance(absl::Milliseconds(690));
  EXPECT_THAT(calls_, IsEmpty());
  time_.Advance(absl::Milliseconds(20));
  EXPECT_THAT(calls_, SizeIs(1));
  EXPECT_EQ(process.events.Count(EventKind::kForwarded), 0U);
}

TEST_F(TooSoon, StaysUnsettledUntilItIsForwarded) {
  Process& process = Start();
  process.Consume({.queue = "work"}, Handles());
  time_.Advance(absl::Seconds(1));
  SendEarly(absl::Milliseconds(9'990));
  time_.Advance(absl::Milliseconds(500));
  process.StopConsuming();
  time_.Advance(absl::Seconds(5));
  EXPECT_EQ(rabbit_.Count("work"), 1U);
}

// --- published with a delay
// ------------------------------------------------------------------------

class Published : public AnyDelay {
 protected:
  std::function<void(absl::Status)> Answer() {
    return [this](absl::Status status) { answers_.push_back(std::move(status)); };
  }
  OutgoingMessage ToWork() { return {.routing_key = "work", .body = "one"}; }

  std::vector<absl::Status> answers_;
};

TEST_F(Published, ExactlyIsHandledAtItsDueTime) {
  Process& process = Start();
  process.Consume({.queue = "work"}, Handles());
  DelayedPublisher publisher(process.client());
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
  Process& process = Start();
  process.Consume({.queue = "work"}, Handles());
  rabbit_.ShutDown();
  time_.Advance(absl::Seconds(1));
  const absl::Time due = time_.Now() + kOdd;
  DelayedPublisher(process.client(), {.deadline = absl::Minutes(5)})
      .PublishAt(ToWork(), due, Answer());
  time_.Advance(absl::Seconds(25));
  rabbit_.Start();
  time_.Advance(absl::Minutes(2));
  ASSERT_THAT(calls_, SizeIs(1));
  EXPECT_GE(calls_[0].at, due);
  EXPECT_LE(calls_[0].at, due + absl::Milliseconds(20));
}

TEST_F(Published, AtAPastTimeArrivesAtOnce) {
  Process& process = Start();
  DelayedPublisher publisher(process.client());
  publisher.PublishAt(ToWork(), time_.Now() - absl::Hours(1), Answer());
  publisher.PublishAfter(ToWork(), -absl::Hours(1), Answer());
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(answers_, ElementsAre(absl::OkStatus(), absl::OkStatus()));
  EXPECT_EQ(rabbit_.Count("work"), 2U);
}

TEST_F(Published, RoundedUpIsNeverEarlyForAnyConsumer) {
  Process& process = Start();
  DelayedPublisher(process.client(), {.round_up = true}).PublishAfter(ToWork(), kOdd, Answer());
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
  rabbit_.DeclareExchange("shop");
  rabbit_.DeclareQueue("mail");
  for (const char* queue : {"work", "mail"}) rabbit_.Bind("shop", queue, "order");
  Process& process = Start();
  std::vector<std::string> called;
  for (const char* queue : {"work", "mail"}) {
    process.Consume({.queue = queue}, Handler([&, queue](const Delivery& delivery) {
                      called.emplace_back(queue);
                      EXPECT_EQ(delivery.exchange(), "shop");
                      EXPECT_EQ(delivery.routing_key(), "order");
                      EXPECT_EQ(delivery.attempt(), 0U);
                      Note(delivery);
                      return Outcome::Ok();
                    }));
  }
  const absl::Time begun = time_.Now();
  DelayedPublisher(process.client())
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
  Process& process = Start();
  const absl::Duration long_time = DelayGrid::kLongest + absl::Seconds(1);
  DelayedPublisher(process.client(), {.round_up = true})
      .PublishAfter(ToWork(), long_time, Answer());
  DelayedPublisher(process.client()).PublishAfter(ToWork(), long_time, Answer());
  process.client().Publish(ToWork(), {.delay = absl::Seconds(1), .at = time_.Now()}, Answer());
  time_.Advance(absl::Seconds(1));
  ASSERT_THAT(answers_, SizeIs(3));
  const auto refusals = std::count_if(answers_.begin(), answers_.end(), absl::IsInvalidArgument);
  EXPECT_EQ(refusals, 2);
  EXPECT_THAT(std::string(answers_[0].message()), HasSubstr("delay must be at most 720h"));
  EXPECT_THAT(std::string(answers_[0].message()), HasSubstr("rounded up"));
}

TEST_F(Published, KeepsItsIdThroughAllHopsAndRetries) {
  Process& process = Start();
  std::vector<std::string> ids;
  process.Consume({.queue = "work", .retry = {.backoff = {.jitter = 0.5}}},
                  Handler([&](const Delivery& delivery) -> Outcome {
                    ids.emplace_back(delivery.id());
                    return delivery.attempt() < 2 ? kDown : absl::OkStatus();
                  }));
  DelayedPublisher(process.client()).PublishAfter(ToWork(), kOdd, Answer());
  time_.Advance(absl::Minutes(5));
  ASSERT_THAT(ids, SizeIs(3));
  EXPECT_EQ(ids[0].size(), 32U);
  EXPECT_THAT(ids, ::testing::Each(ids[0]));
}

}  // namespace any_delay_test
}  // namespace retryq
