#include <string>

#include "base/field_errors.h"
#include "retry/policy/decide.h"
#include "retry/retrier/retrier_impl.h"

namespace retryq {
namespace {

// Any valid heartbeat: others check the margin against the connection's heartbeat.
constexpr absl::Duration kAnyHeartbeat = absl::Milliseconds(1);

constexpr std::size_t kMostFormerQueues = 16;

}  // namespace

absl::Status Validate(const RetrierOptions& options, const DelayQueueOptions& delay_queues) {
  FieldErrors errors;
  errors.Require(!options.queue.empty(), "queue must be named");
  errors.RequireName("queue", options.queue);
  errors.RequireName("work_exchange", options.work_exchange);
  const RetrierOptions complete = WithDefaults(options);
  errors.RequireName("parked_queue", complete.parked_queue);
  errors.Require(options.former_queues.size() <= kMostFormerQueues,
                 "former_queues must name at most ", kMostFormerQueues, " queues, but names ",
                 options.former_queues.size());
  for (const std::string& former : options.former_queues) {
    errors.Require(!former.empty(), "former_queues must not contain an empty name");
    errors.RequireName("former_queues", former);
  }
  errors.Require(options.queue.empty() || complete.parked_queue != options.queue,
                 "parked_queue must be another queue than queue");
  const absl::Status retry = Validate(options.retry);
  errors.Add(retry);
  // A lease can be checked only if everything else is valid.
  if (retry.ok() && Validate(delay_queues, kAnyHeartbeat).ok()) {
    errors.Add(ValidateLease(LongestDelay(options.retry), delay_queues));
  }
  return errors.status();
}

RetrierOptions WithDefaults(RetrierOptions options) {
  if (options.parked_queue.empty()) options.parked_queue = options.queue + ".parked";
  return options;
}

}  // namespace retryq
