// A caller that makes any call at any time, on a broker with faults, in simulated time. See
// random_caller.h for what must hold.
//
//   RETRYQ_CALLERS=N   how many programs, 300 by default; 60 in the presets with sanitizers
//   RETRYQ_SEED=N      that one alone

#include "simulation/random_caller.h"

#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_broker.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "retryq/testing/simulated_time.h"
#include "simulation/seeds.h"
#include "support/test.h"

namespace retryq::simulation::random_caller_test {

using testing::SeededRandom;
using testing::SimulatedBroker;
using testing::SimulatedRabbitMq;
using testing::SimulatedTime;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kPrograms = 60;
#else
constexpr std::uint64_t kPrograms = 300;
#endif

class SimulatedWorld final : public World {
 public:
  explicit SimulatedWorld(std::uint64_t seed) : random_(seed) { DeclareQueues(); }

  Environment EnvironmentFor(Observer* observer) override {
    return testing::EnvironmentOf(time_, random_, observer);
  }
  std::unique_ptr<Broker> MakeBroker() override {
    auto broker = std::make_unique<SimulatedBroker>(rabbit_);
    brokers_.push_back(broker.get());
    return broker;
  }
  void Pass(absl::Duration time) override { time_.Advance(time); }
  void Deliver(const std::string& queue, const std::string& message_id,
               const amqp::Table& headers) override {
    const std::string bytes = *headers.Encode();
    amqp::Properties properties{.message_id = message_id};
    if (!headers.empty()) properties.headers = amqp::TableView(bytes);
    rabbit_.Publish("", queue, properties, "body");
  }

  void Trouble(bool amid) override {
    switch (random_.Below(10)) {
      case 0:
        if (!brokers_.empty()) brokers_[random_.Below(brokers_.size())]->CutPublishing({});
        return;
      case 1:
        if (!brokers_.empty()) brokers_[random_.Below(brokers_.size())]->CutConsuming({});
        return;
      case 9:
        // An error that waiting does not fix, such as a deleted user. It ends all listeners of the
        // connection, in the one callback that reports the loss.
        if (brokers_.empty()) return;
        return brokers_[random_.Below(brokers_.size())]->Reconnect(
            random_.OneIn(2) ? absl::UnauthenticatedError("there is no such user")
                             : absl::NotFoundError("there is no such vhost"));
      case 2:
        if (!amid) rabbit_.Crash();
        return;
      case 3:
        if (!amid) rabbit_.Start();
        return;
      case 4:
        return rabbit_.SetAlarm(random_.OneIn(2));
      case 5:
        return rabbit_.RefuseDeclares(random_.OneIn(2));
      case 6:
        return rabbit_.RefusePublishes(random_.OneIn(2));
      case 7:
        if (amid) return;
        for (const std::string& queue : rabbit_.queues()) {
          if (random_.OneIn(6)) rabbit_.DeleteQueue(queue);
        }
        return;
      default:
        if (!amid) DeclareQueues();
    }
  }
  void Repair() override {
    rabbit_.Start();
    rabbit_.SetAlarm(false);
    rabbit_.RefuseDeclares(false);
    rabbit_.RefusePublishes(false);
    DeclareQueues();
  }
  bool ends_everything() const override { return true; }

 private:
  void DeclareQueues() {
    rabbit_.DeclareExchange("shop", "topic");
    for (const std::string& queue : RandomCaller::queues()) {
      amqp::Table arguments = {{"x-queue-type", queue == "counting" ? "quorum" : "classic"}};
      // Two queues dead-letter to an exchange that returns the message to both, and one queue to
      // another queue.
      arguments.Set("x-dead-letter-exchange", queue == "one" ? "" : "shop");
      if (queue == "one") arguments.Set("x-dead-letter-routing-key", "two");
      rabbit_.DeclareQueue(queue, arguments);
      rabbit_.Bind("shop", queue, "#");
    }
  }

  SimulatedTime time_;
  SeededRandom random_;
  SimulatedRabbitMq rabbit_{time_, random_};
  std::vector<SimulatedBroker*> brokers_;
};

TEST(RandomCaller, MayCallAnythingAtAnyTime) {
  int calls = 0;
  ForEachSeed(NumberFrom("RETRYQ_CALLERS", kPrograms), [&calls](std::uint64_t seed) {
    SimulatedWorld world(seed + 1'000'000);
    calls += RandomCaller(world,
                          {.pauses = {absl::ZeroDuration(), absl::Milliseconds(1),
                                      absl::Milliseconds(200), absl::Seconds(3), absl::Minutes(1)}},
                          seed)
                 .Run();
  });
  EXPECT_GT(calls, 0);
}

}  // namespace retryq::simulation::random_caller_test
