// Repeats one public call, so that `test/bench/run calls` can compare the instructions of the first
// thousand calls with those of the last thousand.
//
// usage: bench_calls --list
//        bench_calls CALL COUNT

#include <event2/event.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/calls/quiet_broker.h"
#include "retryq/retryq.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_time.h"

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

// A client in simulated time, on a broker that replies when the test calls it.
struct World {
  World() { broker.Ready(); }

  void Publish(PublishOptions options = {}, const std::string& queue = "orders") {
    client.Publish({.routing_key = queue, .body = "an order"}, options, [](const absl::Status&) {});
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
};

// Makes the objects that `count` calls need, and returns the call.
using Prepare = std::function<Call(int count)>;

Call OnWorld(
    const std::function<void(World&)>& call,
    const std::function<void(World&)>& before = [](World&) {}) {
  auto world = std::make_shared<World>();
  before(*world);
  return [world, call] { call(*world); };
}

void KeepSettlements(World& world) {
  world.Consume(AsyncHandler([&world](Delivery, Settlement settlement) {
    world.settlements.push_back(std::move(settlement));
  }));
}

std::map<std::string, Prepare> PublishCalls() {
  return {
      {"Client::Publish, confirmed",
       [](int) {
         return OnWorld([](World& world) {
           world.Publish();
           world.Answer();
         });
       }},
      {"Client::Publish, never confirmed",
       [](int) {
         return OnWorld(
             [](World& world) { world.Publish({.deadline = absl::InfiniteDuration()}); });
       }},
      {"Client::Publish, while the broker blocks",
       [](int) {
         return OnWorld([](World& world) { world.Publish(); },
                        [](World& world) { world.broker.Block(); });
       }},
      {"Client::Publish, at its deadline while the broker blocks",
       [](int) {
         return OnWorld(
             [](World& world) {
               world.Publish({.deadline = absl::Milliseconds(1)});
               world.time.Advance(absl::Milliseconds(1));
             },
             [](World& world) { world.broker.Block(); });
       }},
      {"Client::Publish, confirmed while others are open",
       [](int count) {
         return OnWorld(
             [](World& world) {
               world.broker.ConfirmOne();
               world.time.RunReady();
             },
             [count](World& world) {
               for (int i = 0; i < count; ++i) world.Publish();
             });
       }},
      {"Client::Publish, refused",
       [](int) {
         return OnWorld([](World& world) {
           world.Publish({.delay = -absl::Seconds(1)});
           world.time.RunReady();
         });
       }},
      {"DelayedPublisher::PublishAfter, one delay",
       [](int) {
         return OnWorld([](World& world) {
           DelayedPublisher(world.client)
               .PublishAfter({.routing_key = "orders", .body = "1"}, absl::Seconds(1),
                             [](const absl::Status&) {});
           world.Answer();
         });
       }},
      {"DelayedPublisher::PublishAfter, each delay another",
       [](int) {
         return OnWorld([](World& world) {
           DelayedPublisher(world.client)
               .PublishAfter({.routing_key = "orders", .body = "1"},
                             absl::Milliseconds(100'000 + ++world.number),
                             [](const absl::Status&) {});
           world.Answer();
         });
       }},
      {"DelayedPublisher::PublishAfter, each queue another",
       [](int) {
         return OnWorld([](World& world) {
           world.Publish({.delay = absl::Seconds(1)},
                         "queue-" + std::to_string(1'000'000 + ++world.number));
           world.Answer();
         });
       }},
      {"DelayedPublisher::PublishAfter, never confirmed",
       [](int) {
         return OnWorld([](World& world) {
           world.Publish({.delay = absl::Seconds(1), .deadline = absl::InfiniteDuration()});
           world.time.RunReady();
         });
       }},
  };
}

std::map<std::string, Prepare> DeliveryCalls() {
  return {
      {"Outcome::Ok",
       [](int) {
         return OnWorld([](World& world) { world.Deliver(); },
                        [](World& world) { world.Consume(Handler(Handles)); });
       }},
      {"Outcome of a retry",
       [](int) {
         return OnWorld(
             [](World& world) {
               world.Deliver();
               world.Answer();
             },
             [](World& world) {
               world.Consume(
                   Handler([](const Delivery&) -> Outcome { return absl::InternalError("no"); }));
             });
       }},
      {"Outcome of a retry, copies never confirmed",
       [](int) {
         return OnWorld(
             [](World& world) {
               world.Deliver();
               world.time.RunReady();
             },
             [](World& world) {
               world.Consume(
                   Handler([](const Delivery&) -> Outcome { return absl::InternalError("no"); }));
             });
       }},
      {"Settlement, kept",
       [](int) { return OnWorld([](World& world) { world.Deliver(); }, KeepSettlements); }},
      {"Settlement::Settle, while others are open",
       [](int count) {
         return OnWorld(
             [](World& world) {
               const std::size_t last = world.settlements.size() - 1;
               std::swap(world.settlements[world.random.Next() % (last + 1)],
                         world.settlements[last]);
               std::move(world.settlements[last]).Settle(Outcome::Ok());
               world.settlements.pop_back();
               world.time.RunReady();
             },
             [count](World& world) {
               KeepSettlements(world);
               for (int i = 0; i < count; ++i) world.Deliver();
             });
       }},
      {"Consumer::Pause and Resume",
       [](int) {
         return OnWorld(
             [](World& world) {
               world.consumer->Pause();
               world.consumer->Resume();
               world.time.RunReady();
             },
             [](World& world) { world.Consume(Handler(Handles)); });
       }},
      {"Client::Consume and ~Consumer",
       [](int) {
         return OnWorld([](World& world) {
           world.Consume(Handler(Handles));
           world.consumer.reset();
           world.time.RunReady();
         });
       }},
      {"Client::Consume and Consumer::Drain",
       [](int) {
         return OnWorld([](World& world) {
           world.Consume(Handler(Handles));
           world.consumer->Drain(absl::InfiniteDuration(), [](bool) {});
           world.time.RunReady();
         });
       }},
  };
}

// Runs a loop without waiting.
struct Looped {
  void Turn() { event_base_loop(loop.base(), EVLOOP_NONBLOCK); }

  EventLoop loop;
  std::vector<std::shared_ptr<void>> drains;
  std::vector<std::unique_ptr<Timer>> timers;
};

Prepare OnLoop(const std::function<void(Looped&)>& call) {
  return [call](int) {
    auto looped = std::make_shared<Looped>();
    return [looped, call] { call(*looped); };
  };
}

std::map<std::string, Prepare> LoopCalls() {
  const auto drain = [](const EventLoop::DrainDone& done) { done(); };
  return {
      {"EventLoop::OnDrain, dropped", OnLoop([drain](Looped& looped) {
         const std::shared_ptr<void> handle = looped.loop.OnDrain(drain);
       })},
      {"EventLoop::OnDrain, kept",
       OnLoop([drain](Looped& looped) { looped.drains.push_back(looped.loop.OnDrain(drain)); })},
      {"EventLoop::After, dropped", OnLoop([](Looped& looped) {
         const std::unique_ptr<Timer> timer = looped.loop.After(absl::Hours(1), [] {});
       })},
      {"EventLoop::After, kept", OnLoop([](Looped& looped) {
         looped.timers.push_back(looped.loop.After(absl::Hours(1), [] {}));
       })},
      {"EventLoop::After, fired", OnLoop([](Looped& looped) {
         const std::unique_ptr<Timer> timer = looped.loop.After(absl::ZeroDuration(), [] {});
         looped.Turn();
       })},
      {"Executor::Post", OnLoop([](Looped& looped) {
         looped.loop.executor()->Post([] {});
         looped.Turn();
       })},
  };
}

std::map<std::string, Prepare> Calls() {
  std::map<std::string, Prepare> calls = PublishCalls();
  calls.merge(DeliveryCalls());
  calls.merge(LoopCalls());
  return calls;
}

int Run(const std::string& name, int count) {
  const std::map<std::string, Prepare> calls = Calls();
  const auto found = calls.find(name);
  if (found == calls.end() || count < 2000) {
    std::fprintf(stderr, "usage: bench_calls --list | CALL COUNT (2000 at least)\n");
    return EXIT_FAILURE;
  }
  const Call call = found->second(count);
  FirstThousand(call);
  for (int i = 2000; i < count; ++i) call();
  LastThousand(call);
  std::_Exit(EXIT_SUCCESS);  // skips the destructors
}

}  // namespace
}  // namespace retryq::bench

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--list") {
    for (const auto& [name, prepare] : retryq::bench::Calls()) std::puts(name.c_str());
    return EXIT_SUCCESS;
  }
  return retryq::bench::Run(argc > 1 ? argv[1] : "", argc > 2 ? std::atoi(argv[2]) : 0);
}
