// What a retry decides and writes, without the broker.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "retry/delay_queues/delay_queues.h"
#include "retry/delivery/delivery_facts.h"
#include "retry/delivery/timed_out.h"
#include "retry/policy/decide.h"
#include "retry/publisher/copy.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_time.h"
#include "support/make_message.h"
#include "support/read_facts.h"
#include "support/scripted_broker.h"

namespace retryq {
namespace {

amqp::MessagePtr RetriedMessage() {
  return testing::MakeMessage(
      {.properties = {.content_type = "application/json"},
       .headers = amqp::Table{{"trace", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
                              {"x-retry-count", std::int64_t{3}},
                              {"x-retry-first-failure", std::int64_t{1700000000000}},
                              {"x-retry-queue", "orders"},
                              {"x-retry-exchange", "shop"},
                              {"x-retry-routing-key", "order.placed"},
                              {"x-retry-id", "4bf92f3577b34da6a3ce929d0e0e473600"},
                              {"x-retry-delay", std::int64_t{4000}},
                              {"x-retry-not-before", std::int64_t{1700000060000}},
                              {"x-retry-error", "UNAVAILABLE: connection refused"},
                              {"x-death", amqp::Array{amqp::Table{{"count", std::int64_t{1}},
                                                                  {"queue", "retry.4000"},
                                                                  {"reason", "expired"}}}}}});
}

// How long to wait, and whether the lease of the queue for that is good.
void PolicyAndLease(benchmark::State& state) {
  testing::SimulatedTime time;
  testing::SeededRandom random;
  testing::ScriptedBroker broker(time);
  DelayQueues queues(broker, testing::EnvironmentOf(time, random, nullptr), DelayQueueOptions{});
  const auto message = RetriedMessage();
  const Delivery::History history = testing::ReadHistory(*message, "orders");
  const RetryPolicy policy({.backoff = {.max = absl::Minutes(10)}});
  const Outcome outcome = absl::UnavailableError("connection refused");
  Step step;
  policy.Decide(outcome, history, time.Now(), random, &step);
  queues.Acquire({.ttl = step.delay}, [](const absl::StatusOr<Lease>&) {});
  time.Advance(absl::Seconds(1));
  for (auto _ : state) {
    policy.Decide(outcome, history, time.Now(), random, &step);
    const Lease lease = queues.CurrentLease({.ttl = step.delay}, time.SinceBoot());
    if (lease.name == nullptr) state.SkipWithError("no lease");
    benchmark::DoNotOptimize(queues.Covers(lease));
  }
}
BENCHMARK(PolicyAndLease);

void ReadFactsOf(benchmark::State& state, const amqp::MessagePtr& message) {
  const testing::SimulatedTime time;
  const RetrierOptions options{.queue = "orders"};
  TimedOut timed_out;
  for (auto _ : state) {
    benchmark::DoNotOptimize(ReadFacts(*message, options, time, timed_out));
  }
}
void ReadFactsOfNew(benchmark::State& state) { ReadFactsOf(state, testing::MakeMessage()); }
void ReadFactsOfRetry(benchmark::State& state) { ReadFactsOf(state, RetriedMessage()); }
BENCHMARK(ReadFactsOfNew);
BENCHMARK(ReadFactsOfRetry);

// The headers of a copy: eleven come, ten of them are written anew.
void PatchHeaders(benchmark::State& state) {
  const auto message = RetriedMessage();
  const Delivery delivery(message, std::make_shared<const std::string>("orders"),
                          testing::ReadHistory(*message, "orders"));
  const Annotation annotation{.failures = 4,
                              .first_failure = absl::FromUnixMillis(1700000000000),
                              .not_before = absl::FromUnixMillis(1700000060000),
                              .delay = absl::Seconds(8),
                              .error = "UNAVAILABLE: connection refused",
                              .id = delivery.id()};
  Copy copy;
  for (auto _ : state) {
    if (!copy.Build(delivery, annotation, 131064)) state.SkipWithError("too large");
    benchmark::DoNotOptimize(copy.properties().headers->bytes().data());
  }
}
BENCHMARK(PatchHeaders);

}  // namespace
}  // namespace retryq
