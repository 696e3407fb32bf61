#include <iterator>
#include <utility>

#include "fault/fault.h"

namespace retryq::fault {

std::vector<Fault> AllFaults() {
  std::vector<Fault> all;
  for (auto* const part : {&NetworkFaults, &PhaseFaults, &WorkerFaults, &QueueFaults, &VhostFaults,
                           &IsolationFaults, &BrokerFaults, &DiskFaults, &ClusterFaults}) {
    std::vector<Fault> faults = part();
    all.insert(all.end(), std::make_move_iterator(faults.begin()),
               std::make_move_iterator(faults.end()));
  }
  return all;
}

}  // namespace retryq::fault
