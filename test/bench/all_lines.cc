#include <iterator>

#include "bench/line.h"

namespace retryq::bench {

std::vector<Line> AllLines() {
  std::vector<Line> all;
  for (auto* lines : {ThroughputLines, LatenessLines, SharedDelayQueues}) {
    std::vector<Line> more = lines();
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace retryq::bench
