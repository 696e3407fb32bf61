#ifndef RETRYQ_TEST_FAULT_SCENE_H_
#define RETRYQ_TEST_FAULT_SCENE_H_

#include "fault/account.h"
#include "fault/fault.h"
#include "fault/in_flight.h"
#include "fault/loop_thread.h"
#include "fault/producer.h"
#include "fault/run_referee.h"
#include "fault/worker.h"
#include "support/broker_node.h"
#include "support/peer.h"
#include "support/proxy.h"
#include "support/standard.h"
#include "support/test_vhost.h"

namespace retryq::fault {

// The results of a run.
struct SceneResult {
  Count count;
  std::optional<Count> unaffected;         // of the second work queue
  std::optional<absl::Duration> lateness;  // of its latest retry
  std::optional<Count> poison;
  std::optional<absl::Duration> recovery;
  std::optional<absl::Duration> stop;  // how long a worker took to end during the fault
  std::string failure;                 // besides a loss; empty: none
  // Messages that had to be freed by Fault::unstick.
  std::uint64_t stuck = 0;
};

// One fault with one type of delay queues: a vhost, a producer, a proxy, and two workers behind it,
// from the first message until all have ended. The fault decides what happens to them. Used on one
// thread.
class Scene {
 public:
  struct Options {
    const Fault& fault;
    std::string queue_type;                         // of the delay queues
    std::vector<const testing::BrokerNode*> nodes;  // several are one cluster
    std::string directory;                          // for logs
    std::string worker_program;
    bool stops = false;  // a worker is told to end during the fault, and started again after it
    bool quick = false;  // faults with a variable duration are short
    // How late a retry of the unaffected work queue may be.
    absl::Duration most_late = absl::Seconds(1);
  };

  // The workers' heartbeats, in seconds, and how long they wait for a confirm. A peer that is
  // silent for two heartbeats counts as dead. A `kShort` fault is shorter than all of these, a
  // `kLong` one is longer.
  static constexpr int kHeartbeat = 2;
  static constexpr absl::Duration kConfirmTimeout = absl::Seconds(3);
  static constexpr absl::Duration kShort = absl::Milliseconds(1500);
  static constexpr absl::Duration kLong = absl::Seconds(9);

  explicit Scene(const Options& options);
  ~Scene();
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  SceneResult Run();

  // --- for faults -------------------------------------------------------------------------------

  const std::vector<const testing::BrokerNode*>& nodes() const { return options_.nodes; }
  const testing::BrokerNode& node() const { return *options_.nodes.front(); }
  testing::TestVhost& vhost() { return *vhost_; }
  // The user of the workers, which no other client uses. GiveRights grants all permissions.
  const std::string& worker_user() const { return worker_user_; }
  void GiveRights() const;
  Worker& worker(std::size_t index) { return *workers_.at(index); }
  RunReferee& referee() { return account(Kind::kOrder).referee(); }
  const std::string& queue_type() const { return options_.queue_type; }
  bool quick() const { return options_.quick; }

  // Another client of the broker.
  std::unique_ptr<testing::Peer> Connect() const;
  void DeclareWorkQueue() const;

  // Calls `function` with the proxy, or with its counter of publishes, on their thread.
  template <typename Function>
  auto WithProxy(Function function) {
    return traffic_.Call([&](EventLoop&) { return function(*proxy_); });
  }
  template <typename Function>
  auto WithInFlight(Function function) {
    return traffic_.Call([&](EventLoop&) { return function(in_flight_); });
  }

  // Waits for the duration of the fault.
  void Last(absl::Duration duration);

  // Waits until `condition` holds; throws if that takes too long.
  void Await(const std::string& what, const std::function<bool()>& condition,
             absl::Duration patience = absl::Minutes(1));

  // Waits until each worker has retried a message after this call.
  void AwaitRecovery();

  // Stops a worker gracefully and starts it again, with these flags in addition to those of the
  // fault.
  void RestartWorker(std::size_t index, const std::vector<std::string>& flags);

  // The producer publishes one more order, even after it has finished.
  void SendOneMore();
  // Publishes one message of this kind (plan.h).
  void PublishPoison(testing::Peer& peer);

  // Between these two calls the producer creates no messages, and all existing ones have been
  // confirmed.
  void PauseProducer();
  void ResumeProducer();

  // The number of messages created so far.
  std::uint64_t sent();
  // How many of them have been handled.
  std::uint64_t handled();
  // The number of retried messages that come due in this time.
  std::uint64_t ComingDue(absl::Time from, absl::Time to);

  // The current delay queue for this delay; waits until it has messages.
  std::string AwaitDelayQueue(absl::Duration delay);

 private:
  void Start();
  void StartWorkers(const std::vector<std::string>& proxied, const std::vector<std::string>& all);
  void CheckWorkers();
  void Settle();
  void Stop();
  // Stops a worker, once, and records how long this took.
  void StopDuringFault();
  void StartAgain();
  void CountWaiting();
  // Takes all ready messages of the queue.
  void Empty(const std::string& queue);
  // Reads the logs of the workers, and counts the messages.
  void Listen();
  Account& account(Kind kind) { return accounts_[static_cast<std::size_t>(kind)]; }
  std::uint64_t sent(Kind kind);
  bool AllHaveEnded();
  void Judge(SceneResult* result);
  // Whether RabbitMQ itself may lose messages of the unaffected queue.
  bool BrokerLosesEverywhere() const;
  bool QueuesAreEmpty() const;
  std::optional<absl::Duration> RecoveryFrom(absl::Time end) const;

  const Options options_;
  std::optional<testing::TestVhost> vhost_;
  std::string worker_user_;
  InFlight in_flight_;
  LoopThread traffic_;
  std::unique_ptr<testing::Proxy> proxy_;
  std::unique_ptr<Producer> producer_;
  std::unique_ptr<Producer> unaffected_producer_;
  std::uint64_t poison_sent_ = 0;
  // The last one is the worker of the unaffected queue, if that has its own worker.
  std::vector<std::unique_ptr<Worker>> workers_;

  bool is_struck_ = false;
  std::optional<absl::Duration> stop_;
  bool is_stopped_ = false;  // the worker that was stopped

  std::uint64_t stuck_ = 0;
  std::array<Account, kKinds> accounts_;
  std::vector<std::vector<absl::Time>> signs_;  // signs of recovery: the time for each worker
  absl::Time last_news_ = absl::InfinitePast();
};

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_SCENE_H_
