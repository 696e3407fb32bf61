#ifndef RETRYQ_CLI_TEXT_MANY_QUORUM_QUEUES_H_
#define RETRYQ_CLI_TEXT_MANY_QUORUM_QUEUES_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "retryq/delay_queue_options.h"

namespace retryq::cli {

// The number of quorum queues above which users are warned. Their cost for a broker is measured in
// test/bench/README.md.
inline constexpr std::int64_t kManyQuorumQueues = 1000;

// The number of quorum queues of a delay at a time: names rotate, and an older queue exists until
// its lease ends. 1 if workers do not declare them, 0 if the queues are classic.
inline std::int64_t QuorumQueuesOfADelay(const DelayQueueOptions& options) {
  if (options.queue_type != QueueType::kQuorum) return 0;
  return options.declare ? 3 : 1;
}

// The cost of many quorum delay queues, and the ways to have fewer.
inline std::string ManyQuorumQueuesCost() {
  return absl::StrCat("each takes 0.1 to 0.2 MiB of the broker's memory, and ", kManyQuorumQueues,
                      " of them 8 % of a core even when idle");
}
inline std::string FewerQuorumQueues(const DelayQueueOptions& options) {
  return absl::StrCat(options.share ? "" : "share them among work queues (--share-delay-queues); ",
                      "have fewer different delays, or a lower --max-delay-queues; or use classic "
                      "delay queues");
}

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_TEXT_MANY_QUORUM_QUEUES_H_
