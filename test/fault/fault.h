#ifndef RETRYQ_TEST_FAULT_FAULT_H_
#define RETRYQ_TEST_FAULT_FAULT_H_

#include "fault/worker_log.h"
#include "support/standard.h"

namespace retryq::fault {

class Scene;

// A fault: something that breaks while traffic continues.
struct Fault {
  // The resources that the fault needs.
  enum class Place {
    kVhost,      // others are on the broker at the same time
    kBroker,     // a broker that no other fault uses meanwhile
    kSmallDisk,  // one whose data lies on a small disk
    kCluster,    // three nodes
    kUpgrade,    // three nodes of 4.0, which become those of the version that is tested
  };

  // A second work queue, `unaffected`, that the fault does not affect. The referee counts its
  // messages separately: none may be lost, and no retry may be late.
  enum class Unaffected {
    kNone,
    kSameWorkers,  // each worker consumes both queues with one client
    kOwnWorker,    // a worker of its own, which reaches the broker without the proxy
  };

  std::string name;
  std::string what;
  Place place = Place::kVhost;
  std::string work_queue_type = "classic";

  Unaffected unaffected = Unaffected::kNone;

  // The maximum lateness of a retry of the unaffected queue, for faults that prevent the broker
  // itself from delivering for a while.
  absl::Duration unaffected_lateness = absl::ZeroDuration();

  // Whether the work queue is auto-delete; whether it refuses messages when it is full.
  bool auto_delete_work_queue = false;
  bool work_queue_refuses = false;

  // Whether messages kill workers, which are then started again.
  bool workers_die = false;

  // The flags of all workers (worker_main.cc).
  std::vector<std::string> worker_flags = {};

  // Messages that are on their way cause some event within this time. It is longer than the longest
  // delay, and than the age of the management API's figures.
  absl::Duration quiet = absl::Seconds(8);

  // Whether it is part of a quick run.
  bool quick = true;

  // Messages that the producer sends a second.
  int rate = 60;

  // The first action of workers after the fault.
  WorkerAct recovery = WorkerAct::kRetried;

  // The reason why RabbitMQ itself may lose messages of classic delay queues in this fault. Empty:
  // it may not.
  std::string classic_may_lose = {};

  // Before there are workers.
  std::function<void(Scene&)> prepare = [](Scene&) {};

  // Whether the fault begins before the workers have done anything.
  bool at_once = false;

  // The action that frees messages that RabbitMQ keeps and does not move. Empty: not needed.
  std::function<void(Scene&)> unstick = {};

  // Begins the fault, waits, and ends it, while traffic continues. Throws if a step fails.
  std::function<void(Scene&)> strike;
};

// The faults, by the part that they disturb.
std::vector<Fault> NetworkFaults();
std::vector<Fault> PhaseFaults();
std::vector<Fault> WorkerFaults();
std::vector<Fault> QueueFaults();
std::vector<Fault> VhostFaults();
std::vector<Fault> BrokerFaults();
std::vector<Fault> DiskFaults();
std::vector<Fault> IsolationFaults();
std::vector<Fault> ClusterFaults();

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_FAULT_H_
