#ifndef RETRYQ_SRC_AMQP_CHANNEL_INCOMING_CONTENT_H_
#define RETRYQ_SRC_AMQP_CHANNEL_INCOMING_CONTENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "retryq/amqp/channel.h"
#include "retryq/amqp/message.h"

namespace retryq::amqp {

// The largest message that is accepted: what RabbitMQ's max_message_size can be raised to (it is
// 16 to 128 MiB by default).
inline constexpr std::uint64_t kMaxBodySize = std::uint64_t{512} << 20;

// Puts a message together from a content header frame and the body frames behind it. Memory
// grows with what has arrived, whatever size the header promises.
class IncomingContent {
 public:
  // A method that carries content has come: fill `message` from the frames that follow.
  // A body of more than `limit` bytes, or for which there is no memory, is left out.
  void Begin(std::shared_ptr<Message> message, std::uint64_t limit = kMaxBodySize) {
    message_ = std::move(message);
    limit_ = limit;
  }

  // Between such a method and the last byte of its body.
  bool expected() const { return message_ != nullptr; }
  // What has come of it, null if nothing is expected, and the bytes of its body to come.
  const std::shared_ptr<Message>& message() const { return message_; }
  std::uint64_t missing() const { return missing_; }

  // The body that is to come goes there, and is left out of the message. Between header and body.
  void DivertTo(std::shared_ptr<BodySink> sink);
  bool IsFull() const { return sink_ != nullptr && sink_->IsFull(); }

  // A frame's payload. Gives the message once it is whole, before that nullptr. Errors are
  // ProtocolErrors: 505 for a frame that is out of place, 501 for more body than promised, 311 for
  // a promise of more than kMaxBodySize, and those of DecodeContentHeader.
  absl::StatusOr<std::shared_ptr<Message>> OnHeader(std::string_view payload);
  absl::StatusOr<std::shared_ptr<Message>> OnBody(std::string_view payload);

  // The same without a copy, for a part of a frame: where to write what comes next, where the rest
  // of the frame is so many bytes. Empty if these are not what is to come: `OnBody` will say why.
  std::span<char> Room(std::size_t rest);
  // So much has been written there. The message is not whole before the next `OnBody`.
  void Added(std::size_t size);

 private:
  std::shared_ptr<Message> TakeIfWhole();
  // Room for so many bytes of the body; false if it is left out.
  bool Grow(std::size_t size);

  std::shared_ptr<Message> message_;  // null while none is expected
  bool has_header_ = false;
  std::size_t received_ = 0;  // bytes of the body, at the front of the message's `content`
  std::uint64_t missing_ = 0;
  std::uint64_t limit_ = kMaxBodySize;
  std::shared_ptr<BodySink> sink_;  // of this body; null: memory
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CHANNEL_INCOMING_CONTENT_H_
