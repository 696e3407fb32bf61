// Repeats one public call, so that `test/bench/run calls` can compare the instructions of the first
// thousand calls with those of the last thousand.
//
// usage: bench_calls --list
//        bench_calls CALL COUNT

#include <event2/event.h>

#include <cstdio>

#include "bench/calls/quiet_broker.h"
#include "retryq/retryq.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_time.h"
#include "support/standard.h"

using Call = std::function<void()>;

// Callgrind counts the instructions inside these two functions.
extern "C" {
__attribute__((noinline)) void FirstThousand(const Call& call) {
  for (int i = 0; i < 1000; ++i) call();
  asm volatile("" ::: "memory");  // prevents the compiler from merging them
}
__attribute__((noinline)) void LastThousand(const Call& call) {
  for (int i = 0; i < 1000; ++i) call();
  asm volatile("nop" ::: "memory");
}
}

namespace retryq::bench {
namespace {

using testing::EnvironmentOf;
using testing::SeededRandom;
using testing::SimulatedTime;

Outcome Handles(const Delivery&) { return Outcome::Ok(); }

// A client in simulated time, on a broker that replies when the test calls it, and a loop that
// never waits.
struct World {
  explicit World(int calls) : count(calls) { broker.Ready(); }

  void Publish(PublishOptions options = {}, const std::string& queue = "orders") {
    client.Publish({.routing_key = queue, .body = "an order"}, options, [](const absl::Status&) {});
  }
  void PublishAfter(absl::Duration delay) {
    DelayedPublisher(client).PublishAfter({.routing_key = "orders", .body = "1"}, delay,
                                          [](const absl::Status&) {});
    Answer();
  }
  void Answer() {
    time.RunReady();
    broker.ConfirmAll();
    time.RunReady();
  }
  template <typename SomeHandler>
  void Consume(SomeHandler handler) {
    consumer = client.Consume({.queue = "orders"}, std::move(handler)).value();
    time.RunReady();
  }
  void Deliver() {
    auto message = std::make_shared<amqp::Message>();
    message->delivery_tag = {.generation = 1, .tag = ++tag};
    message->routing_key = "orders";
    message->body = "an order";
    broker.subscriber().OnDelivery(std::move(message));
  }
  void TurnLoop() { event_base_loop(loop.base(), EVLOOP_NONBLOCK); }

  const int count;  // of the calls
  SimulatedTime time;
  SeededRandom random{1};
  QuietBroker broker{time.executor()};
  Client client{EnvironmentOf(time, random),
                broker,
                {.max_open_publishes = 100'000'000},
                [](const absl::Status&) { std::abort(); }};
  std::optional<Consumer> consumer;
  std::vector<Settlement> settlements;
  std::uint64_t tag = 0;
  int number = 0;
  EventLoop loop;
  std::vector<std::shared_ptr<void>> drains;
  std::vector<std::unique_ptr<Timer>> timers;
};

// A public call that is repeated.
struct PublicCall {
  const char* name;
  std::function<void(World&)> call;
  std::function<void(World&)> before = [](World&) {};
};

void Blocks(World& world) { world.broker.Block(); }
void Succeeds(World& world) { world.Consume(Handler(Handles)); }
void Fails(World& world) {
  world.Consume(Handler([](const Delivery&) -> Outcome { return absl::InternalError("no"); }));
}
void KeepsSettlements(World& world) {
  world.Consume(AsyncHandler([&world](Delivery, Settlement settlement) {
    world.settlements.push_back(std::move(settlement));
  }));
}
void Drained(const EventLoop::DrainDone& done) { done(); }

const PublicCall kCalls[] = {
    {.name = "Client::Publish, confirmed",
     .call =
         [](World& world) {
           world.Publish();
           world.Answer();
         }},
    {.name = "Client::Publish, never confirmed",
     .call = [](World& world) { world.Publish({.deadline = absl::InfiniteDuration()}); }},
    {.name = "Client::Publish, while the broker blocks",
     .call = [](World& world) { world.Publish(); },
     .before = Blocks},
    {.name = "Client::Publish, at its deadline while the broker blocks",
     .call =
         [](World& world) {
           world.Publish({.deadline = absl::Milliseconds(1)});
           world.time.Advance(absl::Milliseconds(1));
         },
     .before = Blocks},
    {.name = "Client::Publish, confirmed while others are open",
     .call =
         [](World& world) {
           world.broker.ConfirmOne();
           world.time.RunReady();
         },
     .before =
         [](World& world) {
           for (int i = 0; i < world.count; ++i) world.Publish();
         }},
    {.name = "Client::Publish, refused",
     .call =
         [](World& world) {
           world.Publish({.delay = -absl::Seconds(1)});
           world.time.RunReady();
         }},
    {.name = "DelayedPublisher::PublishAfter, one delay",
     .call = [](World& world) { world.PublishAfter(absl::Seconds(1)); }},
    {.name = "DelayedPublisher::PublishAfter, each delay another",
     .call =
         [](World& world) { world.PublishAfter(absl::Milliseconds(100'000 + ++world.number)); }},
    {.name = "DelayedPublisher::PublishAfter, each queue another",
     .call =
         [](World& world) {
           world.Publish({.delay = absl::Seconds(1)},
                         "queue-" + std::to_string(1'000'000 + ++world.number));
           world.Answer();
         }},
    {.name = "DelayedPublisher::PublishAfter, never confirmed",
     .call =
         [](World& world) {
           world.Publish({.delay = absl::Seconds(1), .deadline = absl::InfiniteDuration()});
           world.time.RunReady();
         }},
    {.name = "Outcome::Ok", .call = [](World& world) { world.Deliver(); }, .before = Succeeds},
    {.name = "Outcome of a retry",
     .call =
         [](World& world) {
           world.Deliver();
           world.Answer();
         },
     .before = Fails},
    {.name = "Outcome of a retry, copies never confirmed",
     .call =
         [](World& world) {
           world.Deliver();
           world.time.RunReady();
         },
     .before = Fails},
    {.name = "Settlement, kept",
     .call = [](World& world) { world.Deliver(); },
     .before = KeepsSettlements},
    {.name = "Settlement::Settle, while others are open",
     .call =
         [](World& world) {
           const std::size_t last = world.settlements.size() - 1;
           std::swap(world.settlements[world.random.Next() % (last + 1)], world.settlements[last]);
           std::move(world.settlements[last]).Settle(Outcome::Ok());
           world.settlements.pop_back();
           world.time.RunReady();
         },
     .before =
         [](World& world) {
           KeepsSettlements(world);
           for (int i = 0; i < world.count; ++i) world.Deliver();
         }},
    {.name = "Consumer::Pause and Resume",
     .call =
         [](World& world) {
           world.consumer->Pause();
           world.consumer->Resume();
           world.time.RunReady();
         },
     .before = Succeeds},
    {.name = "Client::Consume and ~Consumer",
     .call =
         [](World& world) {
           Succeeds(world);
           world.consumer.reset();
           world.time.RunReady();
         }},
    {.name = "Client::Consume and Consumer::Drain",
     .call =
         [](World& world) {
           Succeeds(world);
           world.consumer->Drain(absl::InfiniteDuration(), [](bool) {});
           world.time.RunReady();
         }},
    {.name = "EventLoop::OnDrain, dropped",
     .call =
         [](World& world) { const std::shared_ptr<void> handle = world.loop.OnDrain(Drained); }},
    {.name = "EventLoop::OnDrain, kept",
     .call = [](World& world) { world.drains.push_back(world.loop.OnDrain(Drained)); }},
    {.name = "EventLoop::After, dropped",
     .call =
         [](World& world) {
           const std::unique_ptr<Timer> timer = world.loop.After(absl::Hours(1), [] {});
         }},
    {.name = "EventLoop::After, kept",
     .call = [](World& world) { world.timers.push_back(world.loop.After(absl::Hours(1), [] {})); }},
    {.name = "EventLoop::After, fired",
     .call =
         [](World& world) {
           const std::unique_ptr<Timer> timer = world.loop.After(absl::ZeroDuration(), [] {});
           world.TurnLoop();
         }},
    {.name = "Executor::Post",
     .call =
         [](World& world) {
           world.loop.executor()->Post([] {});
           world.TurnLoop();
         }},
};

int Run(const std::string& name, int count) {
  const auto* const found = std::find_if(std::begin(kCalls), std::end(kCalls),
                                         [&](const PublicCall& call) { return call.name == name; });
  if (found == std::end(kCalls) || count < 2000) {
    std::fprintf(stderr, "usage: bench_calls --list | CALL COUNT (2000 at least)\n");
    return EXIT_FAILURE;
  }
  World world(count);
  found->before(world);
  const Call call = [&] { found->call(world); };
  FirstThousand(call);
  for (int i = 2000; i < count; ++i) call();
  LastThousand(call);
  std::_Exit(EXIT_SUCCESS);  // skips the destructors
}

}  // namespace
}  // namespace retryq::bench

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--list") {
    for (const auto& call : retryq::bench::kCalls) std::puts(call.name);
    return EXIT_SUCCESS;
  }
  return retryq::bench::Run(argc > 1 ? argv[1] : "", argc > 2 ? std::atoi(argv[2]) : 0);
}
