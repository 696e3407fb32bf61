#ifndef RETRYQ_TEST_SIMULATION_LIVED_HISTORY_H_
#define RETRYQ_TEST_SIMULATION_LIVED_HISTORY_H_

#include "retryq/client.h"
#include "retryq/observer.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "retryq/testing/simulated_time.h"
#include "simulation/ledger.h"
#include "simulation/simulated_worker.h"
#include "support/test.h"

namespace retryq::simulation {

// The faults in a history.
enum class Trouble {
  kNone,      // nothing: each message arrives exactly as often as it fails, and once more
  kNetwork,   // connections are cut, stall and come late; workers are killed; clocks differ
  kBroker,    // also, the broker crashes, restarts and raises alarms
  kOperator,  // also, an operator deletes and purges queues, and revokes permissions
  kClock,     // the broker's clock is set back repeatedly, a little at a time
  kStale,     // quorum: restarts renew the leases of old queues, for hours
};

std::string_view NameOf(Trouble trouble);

// Some hours of a few workers and their broker: the real code of retrying in a simulated world.
// Each seed produces one history.
class History {
 public:
  History(std::uint64_t seed, Trouble trouble, QueueType queue_type);
  ~History();

  // Runs the history, repairs all faults, and waits until all messages are handled or parked.
  // Returns the errors, one per line.
  std::vector<std::string> Run();

  const Ledger& ledger() const { return ledger_; }
  std::uint64_t breaker_openings() const { return watch_.breaker_openings(); }
  absl::Duration length() const { return time_.SinceBoot() - began_; }

 private:
  // How a message behaves.
  struct Plan {
    std::uint64_t failures;  // before it is handled
    bool permanent;          // then it is not handled, but parked
  };

  // Workers report messages that may have been published twice.
  class Watch final : public Observer {
   public:
    explicit Watch(Ledger& ledger) : ledger_(ledger) {}
    void OnEvent(const Event& event) override;
    std::uint64_t breaker_openings() const { return breaker_openings_; }

   private:
    Ledger& ledger_;
    std::uint64_t breaker_openings_ = 0;
  };

  void SetUp();
  void SetUpOther();
  void SetUpDoomed();
  BackoffOptions AnyBackoff();
  Worker::Options WorkerOptions(absl::Duration skew);
  absl::Duration Latency();

  void Send();
  absl::Duration AnyDelay();
  void OnDelivery(Delivery delivery, Settlement settlement);
  void Conclude(const Delivery& delivery, Settlement settlement);

  // What goes wrong.
  void Step();
  void SetClockBack();
  void DisturbNetwork();
  void DisturbBroker();
  void DisturbAsOperator();
  void Doom();
  void Cut(Worker& worker);
  void Restart(bool crash, absl::Duration down);
  bool Afford(absl::Duration outage);
  void ExcuseAllUnderWay();
  void Later(absl::Duration delay, std::function<void()> call);

  // And how it ends.
  void Heal();
  bool AwaitEnd();
  void ForgiveWhatWasTaken();
  void Explain(std::vector<std::string>* faults) const;
  std::string AnyDelayQueue();

  absl::Duration Between(absl::Duration low, absl::Duration high) {
    return random_.Between(low, high);
  }

  const Trouble trouble_;
  const QueueType queue_type_;
  testing::SeededRandom random_;
  testing::SimulatedTime time_;
  const absl::Duration began_ = time_.SinceBoot();
  Ledger ledger_;
  Watch watch_{ledger_};
  ClientOptions client_options_;
  ConsumerOptions consumer_options_;
  std::unique_ptr<testing::SimulatedRabbitMq> rabbit_;
  std::vector<std::unique_ptr<Worker>> workers_;
  // The consumer of another queue that is bound to the exchange.
  std::optional<ConsumerOptions> other_;
  bool circle_ = false;  // each of the two queues dead-letters to the other one
  // Of another work queue, which accepts no copies from a certain time on.
  std::unique_ptr<Worker> doomed_;
  std::uint64_t steps_to_doom_ = 0;
  bool doomed_is_full_ = false;  // and not gone
  std::map<std::string, Plan, std::less<>> plans_;
  std::uint64_t last_message_ = 0;
  bool healed_ = false;
  bool slow_ = false;
  bool any_delay_ = false;      // jitter, and handlers that choose delays, and snooze
  absl::Duration outage_left_;  // what quorum queues tolerate
  absl::Duration clock_from_;   // since boot: when it may be set back again
  std::deque<std::unique_ptr<Timer>> timers_;
};

}  // namespace retryq::simulation

#endif  // RETRYQ_TEST_SIMULATION_LIVED_HISTORY_H_
