#ifndef RETRYQ_TEST_SIMULATION_RANDOM_CALLER_H_
#define RETRYQ_TEST_SIMULATION_RANDOM_CALLER_H_

#include "retryq/amqp/table.h"
#include "retryq/broker/random.h"
#include "retryq/client.h"
#include "retryq/testing/seeded_random.h"
#include "simulation/odd_values.h"
#include "simulation/other_threads.h"
#include "support/test.h"
#include "support/waiting_executor.h"

namespace retryq::simulation {

// The world of a random caller: a broker with faults, and time.
class World {
 public:
  virtual ~World() = default;

  // How clients of this world work.
  virtual Environment EnvironmentFor(Observer* observer) = 0;
  // Another way to the broker. The world outlives it.
  virtual std::unique_ptr<Broker> MakeBroker() = 0;
  // Where it is a real one: the loop, and where the broker is. Else null.
  virtual EventLoop* loop() { return nullptr; }
  virtual std::string url() { return {}; }

  // Lets about this much time pass; callbacks are called only inside this function.
  virtual void Pass(absl::Duration time) = 0;

  // A message of a third party comes to a work queue.
  virtual void Deliver(const std::string& queue, const std::string& message_id,
                       const amqp::Table& headers) = 0;
  // Begins or ends a fault. `amid`: a callback is on the stack.
  virtual void Trouble(bool amid) = 0;
  // Ends all faults permanently.
  virtual void Repair() = 0;

  // Whether every operation ends in time once there are no more faults.
  virtual bool ends_everything() const = 0;
};

// A caller that makes any call of the public objects in any order, from inside any callback,
// including observers and predicates, destroys its objects at any point, and passes odd values.
// Each seed produces one program.
//
// These conditions must hold: nothing crashes (AddressSanitizer checks), every callback is called
// exactly once, and not after the end of its object; a handler is called only for a delivery that
// its consumer still has; and the number of calls per minute is limited.
class RandomCaller {
 public:
  struct Options {
    int steps = 250;
    std::vector<absl::Duration> pauses;  // of which one passes after each step
    int most_calls_between = 60'000;
    // Whether other threads settle, drop, and handle deliveries.
    bool threads = false;
  };

  // `world` must outlive it.
  RandomCaller(World& world, Options options, std::uint64_t seed);
  ~RandomCaller();
  RandomCaller(const RandomCaller&) = delete;
  RandomCaller& operator=(const RandomCaller&) = delete;

  // Returns how often it was called back.
  int Run();

  // The work queues of its consumers.
  static const std::vector<std::string>& queues();

 private:
  struct Party;
  struct Consuming;
  struct Kept {
    Settlement settlement;
    std::shared_ptr<Consuming> consuming;  // null: of the retrier
  };

  template <typename T>
  T OneOf(const std::vector<T>& values) {
    return simulation::OneOf(random_, values);
  }
  absl::Duration OddDuration() { return simulation::OddDuration(random_); }
  std::string OddText() { return simulation::OddText(random_); }
  amqp::Table OddHeaders();
  Outcome AnyOutcome();
  ConsumerOptions AnyConsumerOptions();

  void Act();
  // From inside a callback.
  void Called();

  void Connect();
  void MakeClient(Party& party, const ClientOptions& options);
  Party* AnyParty();
  void DestroyClient();
  void Destroy(Party& party);

  std::shared_ptr<Consuming> AnyConsumer();
  void Consume();
  void PauseConsumer();
  void ResumeConsumer();
  void DestroyConsumer();
  void Destroy(const std::shared_ptr<Consuming>& one);
  void MoveConsumer();
  void Drain();

  void Publish();
  void Declare();
  void FlushOrDrain();
  void PublishWith(Party& party, OutgoingMessage message, const PublishOptions& options,
                   std::function<void(absl::Status)> done);
  void Settle();
  void DropSettlement();
  void Keep(Settlement settlement, std::shared_ptr<Consuming> of);

  // With its own retrier on its own broker, to which the caller delivers messages itself.
  void Wrap();
  void BeginWrapping();
  void EndWrapping();
  DeliveryHandler AnyWrapping();
  void DeliverByHand();

  void ExpectDrained();
  void ExpectAnswered();
  void Clear();

  World& world_;
  const Options options_;
  testing::SeededRandom random_;
  std::unique_ptr<SettlingThread> other_thread_;
  std::deque<Party> parties_;
  std::size_t alive_ = 0;  // of those, with a client
  std::vector<std::shared_ptr<Consuming>> consumers_;
  std::deque<Kept> settlements_;
  std::shared_ptr<testing::WaitingExecutor> later_;
  std::unique_ptr<Retrier> retrier_;
  DeliveryHandler deliver_;
  std::size_t largest_header_ = 0;  // of what that is fed
  std::uint64_t last_tag_ = 0;
  int depth_ = 0;  // of callbacks within callbacks that act
  int calls_ = 0;
  bool ending_ = false;
};

}  // namespace retryq::simulation

#endif  // RETRYQ_TEST_SIMULATION_RANDOM_CALLER_H_
