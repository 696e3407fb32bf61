#include "cli/text/many_quorum_queues.h"

#include "absl/strings/str_cat.h"

namespace retryq::cli {

std::int64_t QuorumQueuesOfADelay(const DelayQueueOptions& options) {
  if (options.queue_type != QueueType::kQuorum) return 0;
  return options.declare ? 3 : 1;
}

std::string ManyQuorumQueuesCost() {
  return absl::StrCat("each takes 0.1 to 0.2 MiB of the broker's memory, and ", kManyQuorumQueues,
                      " of them 8 % of a core even when idle");
}

std::string FewerQuorumQueues(const DelayQueueOptions& options) {
  return absl::StrCat(options.share ? "" : "share them among work queues (--share-delay-queues); ",
                      "have fewer different delays, or a lower --max-delay-queues; or use classic "
                      "delay queues");
}

}  // namespace retryq::cli
