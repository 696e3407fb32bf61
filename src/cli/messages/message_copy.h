#ifndef RETRYQ_CLI_MESSAGES_MESSAGE_COPY_H_
#define RETRYQ_CLI_MESSAGES_MESSAGE_COPY_H_

#include <string>

#include "absl/time/time.h"
#include "retryq/amqp/message.h"
#include "retryq/amqp/properties.h"
#include "retryq/copy_properties.h"

namespace retryq::cli {

// How a message is published again.
struct CopyPlan {
  CopyPath path = CopyPath::kReplay;
  absl::Time edited = absl::InfinitePast();  // with kEdit: sets x-retry-edited
  // With kRelease, to the parked queue: the time of parking, which adds the headers that a worker
  // sets when it parks, and the work queue of a message that has not failed yet.
  absl::Time parked = absl::InfinitePast();
  std::string work_queue = {};
};

// The properties and headers of a message that is published again: those that CopyProperties
// copies, and those that the plan adds. The body is unchanged. The message must outlive it.
class MessageCopy {
 public:
  MessageCopy(const amqp::Message& message, const CopyPlan& plan);
  MessageCopy(const MessageCopy&) = delete;
  MessageCopy& operator=(const MessageCopy&) = delete;

  const amqp::Properties& properties() const { return properties_; }

 private:
  void AddWhatParkingSets(const amqp::Message& message, const CopyPlan& plan);

  std::string headers_;  // properties_.headers is a view into it
  amqp::Properties properties_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGE_COPY_H_
