#ifndef RETRYQ_TEST_SUPPORT_SIMULATED_WORLD_H_
#define RETRYQ_TEST_SUPPORT_SIMULATED_WORLD_H_

#include "retryq/client.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_broker.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "retryq/testing/simulated_time.h"
#include "support/recorded_events.h"
#include "support/test.h"

namespace retryq::testing {

// A process: a client with its own clock and its consumers, and its connections to the broker. For
// the broker, destroying it looks like a killed process.
class SimulatedProcess {
 public:
  struct Options {
    ClientOptions client = {};
    absl::Duration skew = absl::ZeroDuration();
    Observer* observer = nullptr;  // else `events`
    Tracer* tracer = nullptr;
    std::function<void(const absl::Status&)> fatal = [](const absl::Status& why) {
      ADD_FAILURE() << why;
    };
  };

  SimulatedProcess(SimulatedTime& time, SeededRandom& random, SimulatedRabbitMq& rabbit,
                   const Options& options)
      : clock_(time, options.skew), broker(rabbit) {
    Environment environment =
        EnvironmentOf(time, random, options.observer != nullptr ? options.observer : &events);
    environment.clock = &clock_;
    environment.tracer = options.tracer;
    client.emplace(environment, broker, options.client, options.fatal);
  }

  template <typename SomeHandler>
  Consumer& Consume(ConsumerOptions options, SomeHandler handler) {
    absl::StatusOr<Consumer> consumer = client->Consume(std::move(options), std::move(handler));
    EXPECT_TRUE(consumer.ok()) << consumer.status();
    consumers.push_back(std::make_unique<Consumer>());
    if (consumer.ok()) *consumers.back() = *std::move(consumer);
    return *consumers.back();
  }

 private:
  const SkewedClock clock_;

 public:
  RecordedEvents events;
  SimulatedBroker broker;
  std::optional<Client> client;
  std::vector<std::unique_ptr<Consumer>> consumers;
};

// RabbitMQ in memory and in simulated time, and the processes on it: the base of a fixture.
class SimulatedWorld {
 protected:
  explicit SimulatedWorld(std::uint64_t seed = 1, const SimulatedRabbitMq::Options& options = {})
      : random_(seed), rabbit_(time_, random_, options) {}

  SimulatedProcess& Start(const SimulatedProcess::Options& options = {}) {
    processes_.push_back(std::make_unique<SimulatedProcess>(time_, random_, rabbit_, options));
    return *processes_.back();
  }
  void Kill(SimulatedProcess& process) {
    std::erase_if(processes_, [&](const auto& owned) { return owned.get() == &process; });
  }

  void Send(std::string_view queue, std::string_view body = "", const amqp::Table& headers = {}) {
    const std::string bytes = headers.Encode().value();
    amqp::Properties properties;
    if (!bytes.empty()) properties.headers = amqp::TableView(bytes);
    ASSERT_TRUE(rabbit_.Publish("", queue, properties, body)) << queue;
  }

  // Whether no queue has messages, and no message has been lost.
  void ExpectNothingLeft() {
    for (const std::string& queue : rabbit_.queues()) EXPECT_EQ(rabbit_.Count(queue), 0U) << queue;
    EXPECT_THAT(rabbit_.let_go(), ::testing::IsEmpty());
  }

  SimulatedTime time_;
  SeededRandom random_;
  SimulatedRabbitMq rabbit_;
  std::vector<std::unique_ptr<SimulatedProcess>> processes_;
};

// One process on a RabbitMQ in memory.
class SimulatedTest : public ::testing::Test, protected SimulatedWorld {
 protected:
  SimulatedProcess& process_ = Start();
  SimulatedBroker& broker_ = process_.broker;
  RecordedEvents& events_ = process_.events;
  std::optional<Client>& client_ = process_.client;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_SIMULATED_WORLD_H_
