#ifndef RETRYQ_SRC_AMQP_TRANSPORT_OUTBOX_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_OUTBOX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/codec/method_codec.h"
#include "retryq/broker/broker.h"

struct evbuffer;

namespace retryq::amqp {

// The data to be sent at the end of the loop's turn: frames in one buffer that is reused each turn,
// and references to large bodies in between.
class Outbox {
 public:
  template <typename Method>
  void AddMethod(std::uint16_t channel, const Method& method) {
    AppendMethodFrame(channel, method, &bytes_);
  }
  void AddHeartbeat();

  // Adds the three kinds of frames of a publish. Returns the frames, valid until the next call,
  // without those of a body of more than 4 KiB. All short strings must be at most 255 bytes,
  // `frame_max` at least kFrameMinSize. `header_size`: that of the content header. `to_come`: bytes
  // of the body that follow in separate frames.
  std::string_view AddPublish(std::uint16_t channel, const PublishParams& params,
                              std::size_t header_size, std::size_t frame_max,
                              std::uint64_t to_come = 0);

  // For data for which there is no function here.
  std::string* bytes() { return &bytes_; }

  bool empty() const { return bytes_.empty(); }
  std::size_t size() const { return bytes_.size() + shared_size_; }

  // Writes everything to a connected non-blocking socket, and clears the outbox. Data that the
  // socket does not accept, because it is full or because of an error, is moved to `rest`.
  void SendTo(int socket, evbuffer* rest);
  // Moves everything to `output`.
  void MoveTo(evbuffer* output) { MoveRestTo(output, 0); }
  void Clear();

 private:
  struct Shared {
    std::size_t offset;  // position in bytes_ that it follows
    std::string_view body;
    std::shared_ptr<const void> owner;
  };

  void AddSharedBody(std::uint16_t channel, const PublishParams& params, std::size_t frame_max);
  // Moves everything except the first `sent` bytes, which have been sent.
  void MoveRestTo(evbuffer* output, std::size_t sent);

  std::string bytes_;
  std::vector<Shared> shared_;
  std::size_t shared_size_ = 0;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_OUTBOX_H_
