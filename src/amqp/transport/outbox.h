#ifndef RETRYQ_SRC_AMQP_TRANSPORT_OUTBOX_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_OUTBOX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/codec/method_codec.h"
#include "retryq/broker.h"

struct evbuffer;

namespace retryq::amqp {

// What is to be sent at the end of the loop's turn: frames in one run of bytes that is
// used again each turn, and large bodies by reference in between.
class Outbox {
 public:
  template <typename Method>
  void AddMethod(std::uint16_t channel, const Method& method) {
    AppendMethodFrame(channel, method, &bytes_);
  }
  void AddHeartbeat();

  // The three kinds of frames of a publish. Returns the content header's payload, valid until
  // the next call. All short strings must be at most 255 bytes, `frame_max` at least kFrameMinSize.
  // `to_come`: bytes of the body that follow in frames of their own.
  std::string_view AddPublish(std::uint16_t channel, const PublishParams& params,
                              std::size_t frame_max, std::uint64_t to_come = 0);

  // For what has no function of its own here.
  std::string* bytes() { return &bytes_; }

  bool empty() const { return bytes_.empty(); }
  std::size_t size() const { return bytes_.size() + shared_size_; }

  // Gives all of it to a connected socket that does not block, and empties it. What the socket does
  // not take, be it for want of room or for an error, goes into `rest`.
  void SendTo(int socket, evbuffer* rest);
  // Empties it into `output`.
  void MoveTo(evbuffer* output) { MoveRestTo(output, 0); }
  void Clear();

 private:
  struct Shared {
    std::size_t offset;  // in bytes_, which it follows
    std::string_view body;
    std::shared_ptr<const void> owner;
  };

  void AddSharedBody(std::uint16_t channel, const PublishParams& params, std::size_t frame_max);
  // The first `sent` bytes are on their way already.
  void MoveRestTo(evbuffer* output, std::size_t sent);

  std::string bytes_;
  std::vector<Shared> shared_;
  std::size_t shared_size_ = 0;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_OUTBOX_H_
