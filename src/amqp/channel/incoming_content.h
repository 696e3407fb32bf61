#ifndef RETRYQ_SRC_AMQP_CHANNEL_INCOMING_CONTENT_H_
#define RETRYQ_SRC_AMQP_CHANNEL_INCOMING_CONTENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "retryq/amqp/channel.h"
#include "retryq/amqp/message.h"

namespace retryq::amqp {

// The largest message that is accepted: the upper limit of RabbitMQ's max_message_size (the default
// is 16 to 128 MiB).
inline constexpr std::uint64_t kMaxBodySize = std::uint64_t{512} << 20;

// Assigns a name of a message. Most names equal those of the previous message, and comparing them
// costs less than copying.
inline void Keep(std::string_view name, std::string* out) {
  if (name != *out) out->assign(name);
}

// Assembles a message from a content header frame and the body frames after it. Memory grows with
// the data that has arrived, not with the size that the header states.
class IncomingContent {
 public:
  // Call it when a method with content arrives. The message is made from the frames that follow. A
  // body of more than `limit` bytes, or for which there is no memory, is left out.
  void Begin(std::string_view exchange, std::string_view routing_key,
             std::uint64_t limit = kMaxBodySize, DeliveryTag tag = {}, bool redelivered = false) {
    expected_ = true;
    Keep(exchange, &exchange_);
    Keep(routing_key, &routing_key_);
    limit_ = limit;
    tag_ = tag;
    redelivered_ = redelivered;
  }

  // Whether a message is arriving: from its method to the last byte of its body.
  bool expected() const { return expected_; }
  // The message so far, null before its header, and the missing bytes of its body.
  const std::shared_ptr<Message>& message() const { return message_; }
  std::uint64_t missing() const { return missing_; }

  // Passes the body to `sink` and leaves it out of the message. Call it between header and body.
  void DivertTo(std::shared_ptr<BodySink> sink);
  bool IsFull() const { return sink_ != nullptr && sink_->IsFull(); }

  // Add the payload of a frame. If nothing is missing afterwards, call `Take`. Errors are
  // ProtocolErrors: 505 for an unexpected frame, 501 for a body larger than stated, 311 for a
  // stated size above kMaxBodySize, and those of DecodeContentHeader.
  absl::Status OnHeader(std::string_view payload);
  absl::Status OnBody(std::string_view payload);
  std::shared_ptr<Message> Take();

  // For a part of a body frame, without a copy: returns where to write the next bytes, if `rest`
  // bytes of the frame have not arrived. Empty if they cannot be taken: `OnBody` will report why.
  std::span<char> Room(std::size_t rest);
  // Call it after `size` bytes were written there. The message is complete only after the next
  // `OnBody`.
  void Added(std::size_t size);

 private:
  // Makes space for `size` bytes of the body. Returns false if the body is left out.
  bool Grow(std::size_t size);

  bool is_small() const { return received_ + missing_ <= kMostSmallBody; }

  // A body of up to this size is stored in the memory of its message, without a separate
  // allocation.
  static constexpr std::uint64_t kMostSmallBody = std::uint64_t{4} << 10;

  bool expected_ = false;
  std::string exchange_;
  std::string routing_key_;
  DeliveryTag tag_;
  bool redelivered_ = false;
  std::shared_ptr<Message> message_;  // null before its header
  char* small_body_ = nullptr;        // start of the body, if it is small
  std::size_t received_ = 0;          // bytes of the body so far
  std::uint64_t missing_ = 0;
  std::uint64_t limit_ = kMaxBodySize;
  std::shared_ptr<BodySink> sink_;  // of this body; null if it is kept in memory
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CHANNEL_INCOMING_CONTENT_H_
