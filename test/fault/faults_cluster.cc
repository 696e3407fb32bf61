// Faults of the nodes of a cluster.

#include <algorithm>
#include <future>
#include <nlohmann/json.hpp>
#include <vector>

#include "fault/fault.h"
#include "fault/scene.h"

namespace retryq::fault {
namespace {

constexpr absl::Duration kLost = absl::Seconds(20);

// How long a queue may be without a leader, or a worker without a connection, after a node has
// gone.
constexpr absl::Duration kElection = absl::Seconds(30);

// How long all nodes may be down.
constexpr absl::Duration kUpgrade = absl::Minutes(2);

void KillEachInTurn(Scene& scene) {
  for (const testing::BrokerNode* node : scene.nodes()) {
    scene.AwaitRecovery();
    node->Kill();
    scene.Last(absl::Seconds(3));
    node->Restart();
  }
}

// Classic delay queues of the lost node return with it, with their messages, and cannot be declared
// before.
void LoseOne(Scene& scene) {
  const testing::BrokerNode& lost = *scene.nodes().at(1);
  lost.Kill();
  if (scene.queue_type() == "quorum") scene.AwaitRecovery();
  scene.Last(kLost);
  if (scene.queue_type() == "quorum") scene.AwaitRecovery();
  lost.Restart();
}

// The next node is restarted once all replicas of all queues are online.
void AwaitMembers(Scene& scene) {
  scene.Await(
      "all members of all quorum queues are online",
      [&] {
        const testing::Json queues = scene.vhost()
                                         .management()
                                         .Get("/queues/" + scene.vhost().name())
                                         .value_or(testing::Json::array());
        return !queues.empty() &&
               std::all_of(queues.begin(), queues.end(), [&](const testing::Json& queue) {
                 return queue.value("type", "") != "quorum" ||
                        (queue.contains("online") &&
                         queue.at("online").size() == scene.nodes().size());
               });
      },
      absl::Minutes(2));
}

void RestartGracefully(Scene& scene) {
  for (const testing::BrokerNode* node : scene.nodes()) {
    scene.AwaitRecovery();
    AwaitMembers(scene);
    node->Restart();
  }
}

// A node of 4.3 cannot join a cluster of nodes older than 4.2, so all nodes are stopped. They wait
// for each other when they start. The metadata is migrated from Mnesia to Khepri before: a node of
// 4.3 that does this at its start exits if another node is not running yet.
void UpgradeAll(Scene& scene) {
  scene.node().Control({"enable_feature_flag", "--experimental", "khepri_db"});
  scene.AwaitRecovery();
  AwaitMembers(scene);
  for (const testing::BrokerNode* node : scene.nodes()) node->Shutdown();
  std::vector<std::future<void>> starts;
  for (const testing::BrokerNode* node : scene.nodes()) {
    starts.push_back(std::async(std::launch::async, [node] { node->RestartAs("sid"); }));
  }
  for (std::future<void>& start : starts) start.get();
  scene.node().Control({"enable_feature_flag", "all"});
}

// When the leader of a quorum queue moves, 3.10 may forget the messages that it was dead-lettering,
// until the next change of the leader.
void RestartEachInTurn(Scene& scene) {
  for (const testing::BrokerNode* node : scene.nodes()) node->Restart();
}

}  // namespace

std::vector<Fault> ClusterFaults() {
  return {
      {.name = "cluster-kill",
       .what = "each of three nodes in turn is killed by SIGKILL and started again after 3 s; "
               "quorum work queue, workers that know all nodes",
       .place = Fault::Place::kCluster,
       .work_queue_type = "quorum",
       .classic_may_lose = "F25, F26",
       .unstick = RestartEachInTurn,
       .strike = KillEachInTurn},
      {.name = "cluster-lost",
       .what = "one of three nodes is killed and stays away for 20 s; quorum work queue, workers "
               "that know all nodes",
       .place = Fault::Place::kCluster,
       .work_queue_type = "quorum",
       .unaffected = Fault::Unaffected::kSameWorkers,
       .unaffected_lateness = kElection,
       .quick = false,
       .classic_may_lose = "F25, F26",
       .unstick = RestartEachInTurn,
       .strike = LoseOne},
      {.name = "cluster-restart",
       .what =
           "each of three nodes in turn is restarted gracefully, as in a rolling upgrade; quorum "
           "work queue, workers that know all nodes",
       .place = Fault::Place::kCluster,
       .work_queue_type = "quorum",
       .unaffected = Fault::Unaffected::kSameWorkers,
       .unaffected_lateness = kElection,
       .quick = false,
       .classic_may_lose = "F26",
       .unstick = RestartEachInTurn,
       .strike = RestartGracefully},
      {.name = "cluster-upgrade",
       .what =
           "three nodes of RabbitMQ 4.0 are stopped and started again as the newest one; quorum "
           "work queue, workers that know all nodes",
       .place = Fault::Place::kUpgrade,
       .work_queue_type = "quorum",
       .unaffected = Fault::Unaffected::kSameWorkers,
       .unaffected_lateness = kUpgrade,
       .quick = false,
       .classic_may_lose = "F26",
       .strike = UpgradeAll},
  };
}

}  // namespace retryq::fault
