// Consumers that send each other messages: several queues bound to one exchange, and dead-letter
// exchanges that return messages, in a simulated RabbitMQ. In every combination the messages end.

#include <random>

#include "support/simulated_world.h"
#include "support/test.h"

namespace retryq::feeding_consumers_test {

class FeedingConsumers : private testing::SimulatedWorld {
 public:
  using SimulatedWorld::rabbit_;
  using SimulatedWorld::time_;
  explicit FeedingConsumers(std::uint64_t seed = 1) : SimulatedWorld(seed) {
    rabbit_.DeclareExchange("shop", "topic");
  }

  // A queue behind the exchange. Rejected messages go to the queue `rejected_to`, if there is one.
  void DeclareQueue(const std::string& queue, const std::string& rejected_to = "",
                    const char* type = "classic") {
    amqp::Table arguments = {{"x-queue-type", type}};
    if (!rejected_to.empty()) {
      arguments.Set("x-dead-letter-exchange", "");
      arguments.Set("x-dead-letter-routing-key", rejected_to);
    }
    rabbit_.DeclareQueue(queue, arguments);
    rabbit_.Bind("shop", queue, "order.*");
    time_.Advance(absl::Seconds(10));
  }

  ~FeedingConsumers() { processes_.clear(); }

  void Connect(const DelayQueueOptions& options = {}) {
    Start({.client = {.delay_queues = options}, .observer = &events_});
  }

  // On the client that connected last. All calls fail.
  void Consume(ConsumerOptions options,
               const absl::Status& error = absl::UnavailableError("down")) {
    processes_.back()->Consume(std::move(options),
                               [this, error](const Delivery& delivery) -> Outcome {
                                 ++calls_[std::string(delivery.queue())];
                                 return error;
                               });
  }

  void Live() {
    rabbit_.Publish("shop", "order.made", {.message_id = "one"}, "1");
    time_.Advance(absl::Hours(1));
    for (const std::string& queue : rabbit_.queues()) {
      if (queue.ends_with(".parked")) continue;
      EXPECT_EQ(rabbit_.Count(queue), 0U) << queue;
    }
  }

  testing::RecordedEvents events_;
  std::map<std::string, std::uint64_t> calls_;
};

ConsumerOptions Options(const std::string& queue, std::uint64_t max_attempts) {
  return {.queue = queue, .work_exchange = "shop", .retry = {.max_attempts = max_attempts}};
}

TEST(FeedingConsumers, SkipRetriesOfOtherQueues) {
  for (const bool two_prefixes : {false, true}) {
    FeedingConsumers world;
    world.DeclareQueue("billing");
    world.DeclareQueue("mail");
    world.Connect();
    world.Consume(Options("billing", 3));
    if (two_prefixes) world.Connect({.prefix = "later", .queue_type = QueueType::kQuorum});
    world.Consume(Options("mail", 3));
    world.Live();
    EXPECT_EQ(world.calls_["billing"], 3U);
    EXPECT_EQ(world.calls_["mail"], 3U);
    EXPECT_EQ(world.events_.Count(EventKind::kSkipped), 4U);
  }
}

TEST(FeedingConsumers, ThatShareRetriesCountAttemptsTogether) {
  FeedingConsumers world;
  world.Connect();
  for (const std::string queue : {"billing", "mail"}) {
    world.DeclareQueue(queue);
    ConsumerOptions options = Options(queue, 3);
    options.share_retries = true;
    world.Consume(options);
  }
  world.Live();
  EXPECT_EQ(world.calls_["billing"] + world.calls_["mail"], 2U + 4 + 8);
}

TEST(FeedingConsumers, ParkRejectedMessagesThatReturn) {
  for (const absl::Status& error :
       {absl::UnavailableError("down"), absl::InvalidArgumentError("poison")}) {
    FeedingConsumers world;
    world.DeclareQueue("billing", "billing");
    world.Connect();
    ConsumerOptions options = Options("billing", 3);
    options.retry.on_limit = OnLimit::kReject;
    options.retry.on_permanent = OnLimit::kReject;
    world.Consume(options, error);
    world.Live();
    EXPECT_EQ(world.calls_["billing"], 3U) << error;
    EXPECT_EQ(world.rabbit_.Count("billing.parked"), 1U);
    EXPECT_THAT(world.events_.Last(EventKind::kParked)->error, HasSubstr("gave up after 3"));
  }
}

TEST(FeedingConsumers, KeepAttemptsOfMessagesReturnedByAnotherQueue) {
  FeedingConsumers world;
  world.DeclareQueue("billing", "mail");
  world.rabbit_.DeclareQueue(
      "mail", {{"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", "billing"}});
  world.Connect();
  for (const std::string queue : {"billing", "mail"}) {
    ConsumerOptions options = Options(queue, 3);
    options.retry.on_limit = OnLimit::kReject;
    world.Consume(options);
  }
  world.Live();
  EXPECT_EQ(world.calls_["billing"], 3U);
  EXPECT_EQ(world.calls_["mail"], 3U);
  EXPECT_EQ(world.rabbit_.Count("billing.parked"), 1U);
}

// Each parks into the other's work queue, which is a mistake. The message stays, and only few
// copies are published.
TEST(FeedingConsumers, ParkOncePerSecondIfTheParkedQueueDeadLettersToTheWorkQueue) {
  FeedingConsumers world;
  world.DeclareQueue("billing");
  world.DeclareQueue("mail");
  world.Connect();
  for (const std::string queue : {"billing", "mail"}) {
    ConsumerOptions options = Options(queue, 3);
    options.work_exchange.clear();
    options.retry.max_attempts = 3;
    options.parked_queue = queue == "mail" ? "billing" : "mail";
    world.Consume(options);
  }
  world.rabbit_.Publish("", "billing", {.message_id = "one"}, "1");
  world.time_.Advance(absl::Minutes(10));
  EXPECT_EQ(world.calls_["billing"], 3U);
  EXPECT_EQ(world.calls_["mail"], 3U);
  const std::size_t before = world.events_.Count(EventKind::kParked);
  world.time_.Advance(absl::Minutes(1));
  EXPECT_LE(world.events_.Count(EventKind::kParked) - before, 60U);
  EXPECT_GE(world.events_.Count(EventKind::kParked) - before, 50U);
}

// Random sets of three queues and two clients, with random policies.
TEST(FeedingConsumers, EndInEveryRandomCombination) {
  constexpr std::uint64_t kQueues = 3;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937_64 random(seed);
    const auto below = [&random](std::uint64_t limit) { return random() % limit; };
    const bool share = below(4) == 0;
    FeedingConsumers world(seed);
    std::uint64_t most_attempts = 0;
    std::map<std::string, std::uint64_t> limits;
    for (std::uint64_t i = 0; i < kQueues; ++i) {
      const std::string other = below(2) == 0 ? "" : absl::StrCat("q", below(kQueues));
      world.DeclareQueue(absl::StrCat("q", i), share ? "" : other,
                         below(2) == 0 ? "classic" : "quorum");
    }
    for (std::uint64_t i = 0; i < kQueues; ++i) {
      if (i == 0 || below(2) == 0) {
        world.Connect({.prefix = below(2) == 0 ? "retry" : "later",
                       .queue_type = below(2) == 0 ? QueueType::kClassic : QueueType::kQuorum});
      }
      ConsumerOptions options = Options(absl::StrCat("q", i), 1 + below(3));
      options.share_retries = share;
      options.work_exchange = below(3) == 0 ? "" : "shop";
      options.retry.backoff.base = absl::Milliseconds(100 + 900 * static_cast<int>(below(3)));
      options.retry.backoff.jitter = below(2) == 0 ? 0 : 0.5;
      options.retry.on_limit = static_cast<OnLimit>(below(3));
      options.retry.on_permanent = static_cast<OnLimit>(below(3));
      limits[options.queue] = options.retry.max_attempts;
      most_attempts = std::max(most_attempts, options.retry.max_attempts);
      world.Consume(std::move(options), below(4) == 0 ? absl::InvalidArgumentError("poison")
                                                      : absl::UnavailableError("down"));
    }
    world.Live();
    std::uint64_t calls = 0;
    for (const auto& [queue, times] : world.calls_) {
      calls += times;
      if (!share) {
        EXPECT_LE(times, kQueues * limits[queue]) << queue;
      }
    }
    std::uint64_t bound = 0;
    for (std::uint64_t copies = kQueues; most_attempts-- > 0; copies *= kQueues) bound += copies;
    EXPECT_LE(calls, bound);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace retryq::feeding_consumers_test
