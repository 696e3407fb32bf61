#ifndef RETRYQ_CLI_OUTAGE_QUEUE_LIFETIMES_H_
#define RETRYQ_CLI_OUTAGE_QUEUE_LIFETIMES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/time/time.h"
#include "retryq/delay_queue_options.h"

namespace retryq::cli {

// When which delay queues are there, by the rule of their leases: a classic one from its first use
// until QueueLifetime after its last one; of quorum ones another in each epoch, from its first use
// until QueueLifetime after that; those that are not declared (`declare` off) always, if they are
// ever used.
class QueueLifetimes {
 public:
  // `ttls`: what DelayQueueTtls says, from the shortest to the longest.
  QueueLifetimes(const std::vector<absl::Duration>& ttls, const DelayQueueOptions& options);

  // A message goes on its way at `time` for this delay: through one queue, or through as many as
  // the delay takes. Times may come in any order.
  void Use(absl::Duration time, absl::Duration delay);

  // How many are there at each of these times, which ascend.
  std::vector<std::uint64_t> Count(const std::vector<absl::Duration>& times) const;

 private:
  // Begins and ends in milliseconds; of one queue name they neither overlap nor touch.
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
