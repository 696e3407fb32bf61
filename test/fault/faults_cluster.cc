// What happens to the nodes of a cluster.

#include "fault/fault.h"
#include "fault/scene.h"

namespace retryq::fault {
namespace {

void KillEachInTurn(Scene& scene) {
  for (const testing::BrokerNode* node : scene.nodes()) {
    scene.AwaitRecovery();
    node->Kill();
    scene.Last(absl::Seconds(3));
    node->Restart();
  }
}

// 3.10 may forget, when the leader of a quorum queue moves, what it was dead-lettering, until the
// next leader comes.
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
  };
}

}  // namespace retryq::fault
