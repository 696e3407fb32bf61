#ifndef RETRYQ_CLI_MESSAGES_QUEUE_FACTS_H_
#define RETRYQ_CLI_MESSAGES_QUEUE_FACTS_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/flags/shared_flags.h"
#include "retryq/amqp/message.h"

namespace retryq::cli {

struct MessagesOptions;

// A quorum queue drops a message that was requeued more often than its delivery limit. So a reader
// that leaves messages in the queue moves those that were requeued `MoveAt` times to the end. That
// is half of the limit, so that a few further requeues do no harm. nullopt if messages are never
// dropped: in a classic queue, or without a limit.
//
// `queue` is the management API's reply. Returns kFailedPrecondition if the limit is below 2 or not
// known, and for a stream.
absl::StatusOr<std::optional<std::int64_t>> MoveAt(const nlohmann::json& queue,
                                                   const std::string& name);

// Returns why a queue may lose parked messages, to be appended to the queue's name; empty if it
// keeps them. `queue` is the management API's reply.
std::string WhyUnfitForParking(const nlohmann::json& queue);

// The number of messages of a queue, some seconds ago.
struct QueueFigures {
  std::uint64_t all = 0;
  std::uint64_t unacked = 0;
};

// The facts about a queue that a reader needs first.
struct BeforeReading {
  std::optional<std::int64_t> move_at;
  std::optional<QueueFigures> figures;
  bool is_classic = true;
};

// Asks the management API, for some seconds if it does not know the limit yet. If it cannot be
// asked or does not know the queue, the queue must be classic, which the broker is asked: the limit
// of any other might be 0. Returns kFailedPrecondition for that, and for a delay queue.
absl::StatusOr<BeforeReading> AskBeforeReading(const BrokerPlace& place, const std::string& queue);

// Returns kUnavailable if other consumers still have messages of a queue after a reader has waited
// for them: if the management API reports unacked messages. It is asked until it reports as many
// consumers as the broker does: earlier replies are outdated.
absl::Status HeldByOthers(const BrokerPlace& place, const std::string& queue);

// A delay queue that may contain messages of a work queue.
struct DelayQueue {
  std::string name;
  absl::Duration ttl;
  bool is_quorum = false;
  // The queue contains only messages of that work queue, unless another work queue has the same
  // hash in its name.
  bool is_owned = false;
  std::string dead_letter_exchange;
  std::optional<std::int64_t> delivery_limit;  // not set: unlimited
  std::optional<QueueFigures> figures;
};

// Parses a queue of the management API; nullopt unless it is a delay queue of this prefix that can
// contain messages of the work queue. `default_limit` is the broker's delivery limit; -1:
// unlimited.
std::optional<DelayQueue> ParseDelayQueue(const nlohmann::json& queue, std::string_view prefix,
                                          std::string_view work_queue, std::int64_t default_limit);

// Returns whether a message in this delay queue waits for the work queue. With the default
// exchange, it returns to the queue that its routing key names. With another exchange the target is
// unknown, and the message counts as the work queue's if it failed there. Anyone can set
// `x-retry-queue`, so it never overrides the routing key.
bool WaitsFor(const amqp::Message& message, const DelayQueue& queue, std::string_view work_queue);

// A queue to read: a delay queue or the parked queue.
struct Source {
  std::string queue;
  std::optional<DelayQueue> delay = std::nullopt;

  const DelayQueue* delay_queue() const { return delay ? &*delay : nullptr; }
};

// The queues of one command.
struct Scope {
  std::vector<Source> sources;
  bool has_work_queue = true;  // otherwise its name may be wrong
};

// Finds the delay queues that are not empty, in order of their TTL: with the management API, and
// their message counts with AMQP, because those of the API are old. For `park`, declares a missing
// parked queue as a worker does; kFailedPrecondition if the parked queue does not keep messages.
absl::StatusOr<Scope> FindDelayQueues(const MessagesOptions& options);

// The error for a missing work queue.
absl::Status NoWorkQueue(const MessagesOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_QUEUE_FACTS_H_
