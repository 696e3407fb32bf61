// Random policies, delays and numbers of queues, on the simulated broker. Each seed produces one
// history.

#include <charconv>
#include <cmath>

#include "retryq/broker/delay_grid.h"
#include "retryq/retryq.h"
#include "support/simulated_world.h"
#include "support/test.h"

namespace retryq::every_delay_test {

using testing::RecordedEvents;

const absl::Status kDown = absl::UnavailableError("down");

// The TTL in the name of a delay queue.
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

  // Whether a message that leaves its delay queue now had to wait, for up to a second, until the
  // queue could be used.
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

class EveryDelay : public ::testing::TestWithParam<std::uint64_t>,
                   protected testing::SimulatedWorld {
 protected:
  EveryDelay() : SimulatedWorld(GetParam()) { rabbit_.DeclareQueue("work"); }
  ~EveryDelay() override { processes_.clear(); }

  NewQueues queues_;
};

TEST_P(EveryDelay, IsExactToTheMillisecondWithFewHopsAndFewQueues) {
  // From the shortest to the longest delay, each order of magnitude equally often. The longest
  // delays use quorum queues, whose leases need no renewal every few minutes for a month.
  const double orders = static_cast<double>(random_.Below(1000)) / 1000;
  const absl::Duration max = absl::Milliseconds(1) * std::pow(2'592'000'000.0, orders);
  const bool quorum = max > absl::Hours(24) || random_.OneIn(2);
  ClientOptions options;
  options.delay_queues.max_delay_queues = 16 + random_.Below(random_.OneIn(2) ? 40 : 180);
  options.delay_queues.queue_type = quorum ? QueueType::kQuorum : QueueType::kClassic;
  time_.Advance(absl::Minutes(1));

  constexpr std::uint64_t kAttempts = 4;
  constexpr int kMessages = 12;
  int handled = 0;
  std::map<std::string, absl::Time, std::less<>> failed_at;
  Start({.client = options, .observer = &queues_})
      .Consume({.queue = "work",
                .retry = {.backoff = RandomBackoff(random_, max),
                          .max_retry_after = absl::Hours(24 * 30)},
                .prefetch = 1000},  // as acks wait for new quorum queues
               [&](const Delivery& delivery) -> Outcome {
                 const std::string id(delivery.body());
                 if (delivery.attempt() > 0) {
                   const absl::Duration delay = delivery.history().delay.value();
                   const absl::Duration late = time_.Now() - delivery.history().not_before.value();
                   EXPECT_GE(time_.Now() - failed_at.at(id), delay);
                   const bool held_up = quorum && queues_.HeldUp(time_.Now());
                   EXPECT_LE(late, absl::Milliseconds(held_up ? 1020 : 20))
                       << "of a delay of " << delay;
                 }
                 failed_at[id] = time_.Now();
                 if (delivery.attempt() + 1 == kAttempts) {
                   ++handled;
                   return Outcome::Ok();
                 }
                 if (!random_.OneIn(3)) return kDown;
                 return Outcome::RetryAfter(random_.Between(absl::Milliseconds(1), max), kDown);
               });
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_TRUE(rabbit_.Publish("", "work", {.message_id = std::to_string(i)}, std::to_string(i)));
  }
  while (handled < kMessages) ASSERT_TRUE(time_.AdvanceToNextTimer());
  time_.Advance(absl::Seconds(10));

  EXPECT_EQ(rabbit_.Count("work"), 0U);
  EXPECT_THAT(rabbit_.let_go(), IsEmpty());
  std::set<std::int64_t> ttls;
  std::map<std::string, int> hops;
  const std::size_t grid = DelayGrid(options.delay_queues.max_delay_queues).steps().size();
  const int most = grid >= 64 ? 15 : grid >= 32 ? 24 : 40;
  for (const RecordedEvents::Entry& entry : queues_.log.entries) {
    if (entry.kind == EventKind::kDeclared) ttls.insert(TtlOf(entry.delay_queue));
    if (entry.kind == EventKind::kRetried) hops[entry.id] = 1;
    if (entry.kind == EventKind::kForwarded) {
      EXPECT_LE(++hops[entry.id], most);
    }
    EXPECT_NE(entry.kind, EventKind::kOverridden) << entry.error;
    EXPECT_NE(entry.kind, EventKind::kHeld) << entry.error;
  }
  EXPECT_LE(ttls.size(), options.delay_queues.max_delay_queues);
  for (const std::string& queue : rabbit_.queues()) {
    EXPECT_TRUE(!queue.starts_with("retry.") || ttls.contains(TtlOf(queue))) << queue;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, EveryDelay, ::testing::Range<std::uint64_t>(0, 200));

// Clients with different policies on one vhost: the delays that have queues.
class DelaysOfSeveralClients : private testing::SimulatedWorld {
 public:
  DelaysOfSeveralClients(std::uint64_t seed, bool exact_queues) : SimulatedWorld(seed) {
    options_.delay_queues.exact_queues = exact_queues;
    options_.delay_queues.max_delay_queues = 16 + random_.Below(100);
  }

  std::size_t limit() const { return options_.delay_queues.max_delay_queues; }

  // Each client fails its message this number of times, with its own policy.
  void Run(int clients, std::uint64_t attempts, absl::Duration max) {
    int handled = 0;
    for (int i = 0; i < clients; ++i) {
      const std::string queue = "work." + std::to_string(i);
      rabbit_.DeclareQueue(queue);
      Start({.client = options_})
          .Consume({.queue = queue, .retry = {.backoff = Policy(max), .max_attempts = attempts}},
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
  // In half of the cases a policy whose delays are all distinct and known in advance.
  BackoffOptions Policy(absl::Duration max) {
    if (random_.OneIn(2)) return RandomBackoff(random_, max);
    BackoffOptions backoff;
    for (int i = 0; i < 20; ++i) {
      backoff.delays.push_back(random_.Between(absl::Milliseconds(1), max));
    }
    return backoff;
  }

  ClientOptions options_;
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

}  // namespace retryq::every_delay_test
