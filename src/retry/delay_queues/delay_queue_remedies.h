#ifndef RETRYQ_SRC_RETRY_DELAY_QUEUES_DELAY_QUEUE_REMEDIES_H_
#define RETRYQ_SRC_RETRY_DELAY_QUEUES_DELAY_QUEUE_REMEDIES_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "retryq/delay_queue_options.h"

namespace retryq {

// What is told to people about delay queues that do not go as they should.

enum class RenameCause { kOtherArguments, kNodeDown, kTooSlow, kNacked, kSilent };

// What to do where the vhost or the cluster has as many queues or exchanges as it may.
std::string RemedyForLimit();

// Why another queue is used instead of `name`, and what to do about it. `detail` is
// the broker's text, if there is one.
std::string WhyRenamed(RenameCause cause, std::string_view name, std::string_view detail);

// The broker's refusal of a declare with the queue's name and the remedy. The code stays.
absl::Status ExplainRefusal(const absl::Status& refusal, std::string_view name,
                            std::string_view prefix, std::string_view dead_letter_exchange);

// That a queue which is not ours to declare is not there, or may not be looked for.
absl::Status ExplainAbsence(const absl::Status& refusal, std::string_view name,
                            std::string_view prefix);

// That a queue takes no more.
std::string WhyFull(std::string_view name, const DelayQueueOptions& options);

// That a queue was gone under a valid lease, and what does such things.
std::string WhyBroken(std::string_view name, std::string_view detail);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELAY_QUEUES_DELAY_QUEUE_REMEDIES_H_
