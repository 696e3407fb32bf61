#ifndef RETRYQ_CLI_QUEUES_DELAY_QUEUE_STATUS_H_
#define RETRYQ_CLI_QUEUES_DELAY_QUEUE_STATUS_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "retryq/delay_queue_name.h"

namespace retryq::cli {

// A delay queue as the management API shows it. The API's figures are up to five seconds old; what
// it does not say is nothing here.
struct DelayQueueStatus {
  std::string name;
  DelayQueueName parts;
  std::string type;                  // "classic", "quorum"
  std::string state;                 // "running", "down", …
  std::string dead_letter_exchange;  // "": the default exchange, so back to the very queue
  std::string policy;                // the names of those that apply; empty: none
  std::string operator_policy;

  // What counts: the smaller of argument and policy.
  std::optional<absl::Duration> ttl;
  std::optional<absl::Duration> lease;  // x-expires

  std::optional<std::int64_t> waiting;
  // Of those, the ones whose time is over and that no queue has taken yet; quorum queues only.
  std::optional<std::int64_t> undelivered;
  // What is certainly due by now and still here: `undelivered`, or all that waits where the queue
  // has been idle for longer than its TTL.
  std::optional<std::int64_t> overdue;
  std::optional<double> in_per_second;  // over the last minute
  std::optional<double> out_per_second;

  // Until the head of the queue leaves, where messages wait. AMQP has no way to look at the head
  // without touching it, so this is found from outside: `next_due` from how many messages wait and
  // when how many came, give or take five seconds; `next_due_at_most` from the TTL and from when
  // the queue last had anything to do.
  std::optional<absl::Duration> next_due;
  std::optional<absl::Duration> next_due_at_most;

  // Until the queue goes with all that is in it, unless it is used before. Classic: it counts from
  // the last declare, and the broker tells only when the queue last did anything at all, which may
  // be later. Quorum: from its creation, which lies in the epoch that is stamped on x-expires.
  std::optional<absl::Duration> lease_left_at_least;
  std::optional<absl::Duration> lease_left_at_most;
};

// Reads one queue of GET /api/queues/<vhost>, whatever it holds. `now` is the broker's. Nothing
// where it is no delay queue of this prefix.
std::optional<DelayQueueStatus> ReadDelayQueue(const nlohmann::json& queue, std::string_view prefix,
                                               absl::Time now);

// Whose messages wait there, as far as its name says: the work queue, "exchange <name>" where they
// were published with a delay to that, or "many"; and "through <exchange>" where they return that
// way. Of a name that is too long there is a hash, with "#" in front.
std::string Serves(const DelayQueueStatus& queue);

// What about the queue is not as its name and retryq's clients have it, a sentence each.
std::vector<std::string> Oddities(const DelayQueueStatus& queue);

// All delay queues of a vhost, at one time.
struct DelayQueueList {
  std::vector<DelayQueueStatus> queues;  // from the shortest TTL to the longest
  absl::Time at;                         // by our clock
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_QUEUES_DELAY_QUEUE_STATUS_H_
