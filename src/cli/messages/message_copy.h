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
  absl::Time edited = absl::InfinitePast();  // kEdit: marks it by x-retry-edited
  // kRelease, to the parked queue: when, with the headers that a worker parks with; and the work
  // queue of a message that has not failed yet.
  absl::Time parked = absl::InfinitePast();
  std::string work_queue = {};
};

// Properties and headers of a message that is published again: what CopyProperties takes over, and
// what the plan adds. The body is the message's own. Must not outlive the message.
class MessageCopy {
 public:
  MessageCopy(const amqp::Message& message, const CopyPlan& plan);
  MessageCopy(const MessageCopy&) = delete;
  MessageCopy& operator=(const MessageCopy&) = delete;

  const amqp::Properties& properties() const { return properties_; }

 private:
  void AddWhatParkingSets(const amqp::Message& message, const CopyPlan& plan);

  std::string headers_;  // what properties_.headers points into
  amqp::Properties properties_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGE_COPY_H_
