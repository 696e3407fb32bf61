#ifndef RETRYQ_SRC_RETRY_DELAY_QUEUES_DELAY_QUEUE_REMEDIES_H_
#define RETRYQ_SRC_RETRY_DELAY_QUEUES_DELAY_QUEUE_REMEDIES_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "retryq/delay_queue_options.h"

namespace retryq {

// Texts for people about problems with delay queues.

enum class RenameCause { kOtherArguments, kNodeDown, kTooSlow, kNacked, kSilent };

// Returns the remedy for a vhost or cluster that has reached its limit of queues or exchanges.
std::string RemedyForLimit();

// Adds an explanation to the error of a passive declare that is refused with 405 (kAborted): no
// other connection can ever use that queue, so waiting does not help. Returns all other answers
// unchanged.
absl::Status ExplainIfExclusive(const absl::Status& answer);

// Returns why another queue is used instead of `name`, and the remedy. `detail` is the broker's
// text, if there is one.
std::string WhyRenamed(RenameCause cause, std::string_view name, std::string_view detail);

// Adds the queue's name and the remedy to the error of a refused declare. The code does not change.
absl::Status ExplainRefusal(const absl::Status& refusal, std::string_view name,
                            std::string_view prefix, std::string_view dead_letter_exchange);

// Explains that a queue that may not be declared does not exist or may not be checked.
absl::Status ExplainAbsence(const absl::Status& refusal, std::string_view name,
                            std::string_view prefix);

// Explains that a queue is full.
std::string WhyFull(std::string_view name, const DelayQueueOptions& options);

// Explains that a queue with a valid lease was gone, and what can cause that.
std::string WhyBroken(std::string_view name, std::string_view detail);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELAY_QUEUES_DELAY_QUEUE_REMEDIES_H_
