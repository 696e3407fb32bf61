#ifndef RETRYQ_CLI_OUTAGE_QUEUE_LIFETIMES_H_
#define RETRYQ_CLI_OUTAGE_QUEUE_LIFETIMES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/time/time.h"
#include "retryq/delay_queue_options.h"

namespace retryq::cli {

// The times at which delay queues exist, from the rule of their leases. A classic queue exists from
// its first use until QueueLifetime after its last use. Quorum queues change in each epoch; each
// exists from its first use until QueueLifetime after that. Queues that are not declared (`declare`
// off) always exist, if they are ever used.
class QueueLifetimes {
 public:
  // `ttls` is the result of DelayQueueTtls, in ascending order.
  QueueLifetimes(const std::vector<absl::Duration>& ttls, const DelayQueueOptions& options);

  // A message is delayed at `time`, through one queue or as many as the delay needs. Times may be
  // in any order.
  void Use(absl::Duration time, absl::Duration delay);

  // Returns the number of queues at each of these times, which must ascend.
  std::vector<std::uint64_t> Count(const std::vector<absl::Duration>& times) const;

 private:
  // Begins and ends in milliseconds; those of one queue name neither overlap nor touch.
  using Spans = std::map<std::int64_t, std::int64_t>;

  struct Queue {
    std::int64_t ttl;
    std::int64_t lifetime;
    std::int64_t epoch;  // of quorum queues; 0: none
    Spans spans;
  };

  static void Extend(Spans& spans, std::int64_t begin, std::int64_t end);
  static void UseInEpoch(Queue& queue, std::int64_t time);

  const bool always_;
  std::vector<Queue> queues_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_OUTAGE_QUEUE_LIFETIMES_H_
