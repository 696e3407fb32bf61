#ifndef RETRYQ_TEST_FAULT_FAULT_H_
#define RETRYQ_TEST_FAULT_FAULT_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "fault/worker_log.h"

namespace retryq::fault {

class Scene;

// One way for something to break while traffic flows.
struct Fault {
  // What it needs for itself.
  enum class Place {
    kVhost,      // others are on the broker at the same time
    kBroker,     // a broker that nobody else uses meanwhile
    kSmallDisk,  // one whose data lies on a small disk
    kCluster,    // three nodes
    kUpgrade,    // three nodes of 4.0, which become those of the version that is tested
  };

  // A second work queue, `innocent`, that has nothing to do with the fault. The referee counts it
  // separately: it must lose nothing, and no retry may be late.
  enum class Innocent {
    kNone,
    kSameWorkers,  // each worker consumes both queues with one client
    kOwnWorker,    // a worker of its own, which reaches the broker without the proxy
  };

  std::string name;
  std::string what;
  Place place = Place::kVhost;
  std::string work_queue_type = "classic";

  Innocent innocent = Innocent::kNone;

  // How late a retry of the innocent queue may be at the most, where the fault itself keeps the
  // broker from delivering for a while.
  absl::Duration innocent_lateness = absl::ZeroDuration();

  // Whether the work queue is auto-delete; whether it refuses messages when it is full.
  bool auto_delete_work_queue = false;
  bool work_queue_refuses = false;

  // Whether messages kill workers, which are started again then.
  bool workers_die = false;

  // What all workers are told (worker_main.cc).
  std::vector<std::string> worker_flags = {};

  // Messages that are on their way show some sign of it within this time. Longer than the longest
  // delay, and than the management API's figures are old.
  absl::Duration quiet = absl::Seconds(8);

  // Whether it is part of a quick run.
  bool quick = true;

  // Messages that the producer sends a second.
  int rate = 60;

  // What workers do first when all is well again.
  WorkerAct recovery = WorkerAct::kRetried;

  // With classic delay queues RabbitMQ itself may lose messages here: why. Empty: it may not.
  std::string classic_may_lose = {};

  // Before there are workers.
  std::function<void(Scene&)> prepare = [](Scene&) {};

  // Whether it strikes before the workers have done anything.
  bool at_once = false;

  // What frees messages that RabbitMQ keeps and does not move. Empty: nothing should have to.
  std::function<void(Scene&)> unstick = {};

  // Breaks things, has that last, and ends it; traffic flows meanwhile. Throws what goes wrong.
  std::function<void(Scene&)> strike;
};

// By what they disturb.
std::vector<Fault> NetworkFaults();
std::vector<Fault> PhaseFaults();
std::vector<Fault> WorkerFaults();
std::vector<Fault> QueueFaults();
std::vector<Fault> VhostFaults();
std::vector<Fault> BrokerFaults();
std::vector<Fault> DiskFaults();
std::vector<Fault> IsolationFaults();
std::vector<Fault> ClusterFaults();

// All of them, in the order of the table.
std::vector<Fault> AllFaults();

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_FAULT_H_
