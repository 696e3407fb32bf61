#ifndef RETRYQ_CLI_TEXT_MANY_QUORUM_QUEUES_H_
#define RETRYQ_CLI_TEXT_MANY_QUORUM_QUEUES_H_

#include <cstdint>
#include <string>

#include "retryq/delay_queue_options.h"

namespace retryq::cli {

// The number of quorum queues above which users are warned. Their cost for a broker is measured in
// test/bench/README.md.
inline constexpr std::int64_t kManyQuorumQueues = 1000;

// The number of quorum queues of a delay at a time: names rotate, and an older queue exists until
// its lease ends. 1 if workers do not declare them, 0 if the queues are classic.
std::int64_t QuorumQueuesOfADelay(const DelayQueueOptions& options);

// The cost of many quorum delay queues, and the ways to have fewer.
std::string ManyQuorumQueuesCost();
std::string FewerQuorumQueues(const DelayQueueOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_TEXT_MANY_QUORUM_QUEUES_H_
