#ifndef RETRYQ_CLI_TEXT_MANY_QUORUM_QUEUES_H_
#define RETRYQ_CLI_TEXT_MANY_QUORUM_QUEUES_H_

#include <cstdint>
#include <string>

#include "retryq/delay_queue_options.h"

namespace retryq::cli {

// Of more quorum queues than this users are warned: what that many cost a broker was measured, see
// test/bench/README.md.
inline constexpr std::int64_t kManyQuorumQueues = 1000;

// How many quorum queues a delay has at a time: names rotate, and an older queue stays until its
// lease ends. 1 where they are not declared by workers, 0 where the queues are classic.
std::int64_t QuorumQueuesOfADelay(const DelayQueueOptions& options);

// What so many quorum delay queues cost a broker, and how to have fewer of them.
std::string ManyQuorumQueuesCost();
std::string FewerQuorumQueues(const DelayQueueOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_TEXT_MANY_QUORUM_QUEUES_H_
