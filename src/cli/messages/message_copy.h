#ifndef RETRYQ_CLI_MESSAGES_MESSAGE_COPY_H_
#define RETRYQ_CLI_MESSAGES_MESSAGE_COPY_H_

#include <string>

#include "absl/time/time.h"
#include "retryq/amqp/message.h"
#include "retryq/amqp/properties.h"

namespace retryq::cli {

// How a message is published again.
struct CopyPlan {
  enum class Purpose {
    kReplay,   // to be handled anew: without expiration, x-death and its kin, and x-retry-* but
               // x-retry-id and x-retry-edited
    kEdit,     // the same, marked as edited by x-retry-edited
    kMove,     // to another place in the same queue: it stays the message that it was
    kRelease,  // out of a delay queue to its work queue: the retry that it is, without what only
               // says when it is due, and without x-death and its kin
    kPark,     // out of a delay queue to the parked queue: as a worker parks it
  };
  Purpose purpose = Purpose::kReplay;
  absl::Time at = {};           // kEdit, kPark: when that is
  std::string work_queue = {};  // kPark: of a message that has not failed yet
};

// Properties and headers of a message that is published again: as they came, byte for byte, but
// persistent and without what the broker would refuse (user-id, a reply-to of
// amq.rabbitmq.reply-to), route by (CC, BCC) or has counted itself (x-delivery-count,
// x-acquired-count), and changed as the plan says. The body is the message's own. Must not outlive
// the message.
class MessageCopy {
 public:
  MessageCopy(const amqp::Message& message, const CopyPlan& plan);
  MessageCopy(const MessageCopy&) = delete;
  MessageCopy& operator=(const MessageCopy&) = delete;

  const amqp::Properties& properties() const { return properties_; }

 private:
  void AddWhatParkingSets(const amqp::Message& message, const CopyPlan& plan);

  amqp::Properties properties_;
  std::string headers_;  // what properties_.headers points into
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGE_COPY_H_
