// A program that uses the installed library: its handler fails twice, in simulated time.
// Exits with 0 if all was as it should be. Takes across the boundary what a library could lose
// there: an exception, a virtual call, type information.

#include <cstdio>
#include <stdexcept>
#include <utility>
#include <vector>

#include "retryq/amqp/connection_options.h"
#include "retryq/retryq.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_broker.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "retryq/testing/simulated_time.h"

static_assert(__cplusplus >= 202002L, "the package says which C++ it needs");

namespace {

int failures = 0;

void Expect(bool as_it_should_be, const char* what) {
  if (as_it_should_be) return;
  std::fprintf(stderr, "not so: %s\n", what);
  ++failures;
}

class RetriesSeen final : public retryq::Observer {
 public:
  void OnEvent(const retryq::Event& event) override {
    if (event.kind == retryq::EventKind::kRetried) delays.push_back(event.delay.value());
  }

  std::vector<absl::Duration> delays;
};

void RetryInSimulatedTime() {
  retryq::testing::SimulatedTime time;
  retryq::testing::SeededRandom random;
  retryq::testing::SimulatedRabbitMq rabbit(time, random);
  rabbit.DeclareQueue("orders");
  retryq::testing::SimulatedBroker broker(rabbit);
  RetriesSeen seen;
  retryq::Client client(retryq::testing::EnvironmentOf(time, random, &seen), broker, {},
                        [](const absl::Status& fatal) { Expect(false, fatal.ToString().c_str()); });

  int calls = 0;
  absl::StatusOr<retryq::Consumer> orders =
      client.Consume({.queue = "orders", .retry = {.backoff = {.base = absl::Minutes(1)}}},
                     [&calls](const retryq::Delivery& delivery) -> retryq::Outcome {
                       Expect(delivery.body() == "order 42", "the body is the one that was sent");
                       if (++calls == 1) throw std::runtime_error("the bank is down");
                       if (calls == 2) return absl::UnavailableError("the bank is still down");
                       return absl::OkStatus();
                     });
  Expect(orders.ok(), "the options are accepted");
  time.Advance(absl::Seconds(1));
  Expect(rabbit.Publish("", "orders", {}, "order 42"), "the message is published");
  time.Advance(absl::Hours(1));

  Expect(calls == 3, "the handler was called three times");
  Expect(seen.delays == std::vector<absl::Duration>{absl::Minutes(1), absl::Minutes(2)},
         "it waited one minute, then two");
  Expect(rabbit.Count("orders.parked") == 0, "nothing is parked");
  Expect(!rabbit.HasQueue("retry.60000"), "no delay queue is left");
}

void RunARealLoop() {
  retryq::EventLoop loop;
  loop.executor()->Post([&loop] { loop.Stop(); });
  Expect(loop.Run().ok(), "a real loop runs and stops");
  retryq::Timers* const timers = &loop;
  Expect(dynamic_cast<retryq::EventLoop*>(timers) == &loop, "types are known on both sides");
  Expect(retryq::ExitCode(retryq::amqp::ParseUri("http://localhost").status()) == 64,
         "a wrong URL is refused");
}

}  // namespace

int main() {
  RetryInSimulatedTime();
  RunARealLoop();
  return failures == 0 ? 0 : 1;
}
