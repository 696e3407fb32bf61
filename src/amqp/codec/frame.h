#ifndef RETRYQ_AMQP_FRAME_H_
#define RETRYQ_AMQP_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "amqp/codec/wire.h"

namespace retryq::amqp {

// Frames: type (1 byte), channel (2), payload size (4), payload, frame end (1). "Frame size" and
// `frame_max` include all of these.

enum class FrameType : std::uint8_t { kMethod = 1, kHeader = 2, kBody = 3, kHeartbeat = 8 };

inline constexpr std::size_t kFrameHeadSize = 7;
inline constexpr std::size_t kFrameOverhead = kFrameHeadSize + 1;
inline constexpr char kFrameEnd = '\xce';

// The smallest frame_max that AMQP 0-9-1 allows.
inline constexpr std::size_t kFrameMinSize = 4096;

// RabbitMQ sends a content header in one frame even if it is larger than the negotiated frame_max
// (60 035 bytes at 8192, seen on 3.10 and 4.x), so content headers have a separate limit.
inline constexpr std::size_t kMaxInboundHeaderFrame = std::size_t{16} << 20;

struct FrameHead {
  FrameType type = FrameType::kHeartbeat;
  std::uint16_t channel = 0;
  std::uint32_t payload_size = 0;

  // A peer can state a size that does not fit into a size_t.
  std::uint64_t frame_size() const { return std::uint64_t{payload_size} + kFrameOverhead; }
};

// A whole frame. The payload is a view of the buffer.
struct FrameView {
  FrameType type = FrameType::kHeartbeat;
  std::uint16_t channel = 0;
  std::string_view payload;

  std::size_t frame_size() const { return payload.size() + kFrameOverhead; }
};

// Reads a complete head.
inline FrameHead HeadAt(const char* frame) {
  return {.type = FrameType{static_cast<std::uint8_t>(*frame)},
          .channel = LoadBigEndian<std::uint16_t>(frame + 1),
          .payload_size = LoadBigEndian<std::uint32_t>(frame + 3)};
}

// Whether a frame may begin with these bytes.
inline bool IsValid(FrameHead head, std::size_t frame_max) {
  switch (head.type) {
    case FrameType::kMethod:
    case FrameType::kBody:
      return head.frame_size() <= frame_max;
    case FrameType::kHeader:
      return head.frame_size() <= frame_max || head.frame_size() <= kMaxInboundHeaderFrame;
    case FrameType::kHeartbeat:
      return head.channel == 0 && head.payload_size == 0;
  }
  return false;
}

// Reading. Both functions look at the start of `buffer`, the bytes received and not yet consumed,
// and return nullopt while it is too short. Errors are ProtocolErrors (501): an unknown type, a
// size above the limit (`frame_max`, except for header frames), a heartbeat with a payload or a
// channel, a wrong frame end. After an error the stream cannot be used. (For an unknown type and a
// wrong frame end, the specification requires closing the connection without a reply; RabbitMQ and
// this client reply with 501.)

// Returns the head of the first frame, from its first kFrameHeadSize bytes. The caller can then
// wait for the whole frame before it makes the buffer contiguous.
absl::StatusOr<std::optional<FrameHead>> PeekFrame(std::string_view buffer, std::size_t frame_max);

// Returns the first frame. The caller consumes its `frame_size()` bytes after it has handled the
// frame.
absl::StatusOr<std::optional<FrameView>> NextFrame(std::string_view buffer, std::size_t frame_max);

// For many frames in sequence: returns whether `buffer` begins with a whole valid frame, and fills
// in `*frame`. If not, `NextFrame` returns the reason.
inline bool ReadFrame(std::string_view buffer, std::size_t frame_max, FrameView* frame) {
  if (buffer.size() < kFrameOverhead) return false;
  const FrameHead head = HeadAt(buffer.data());
  if (!IsValid(head, frame_max) || buffer.size() < head.frame_size()) return false;
  if (buffer[kFrameHeadSize + head.payload_size] != kFrameEnd) return false;
  *frame = {.type = head.type,
            .channel = head.channel,
            .payload = {buffer.data() + kFrameHeadSize, head.payload_size}};
  return true;
}

// Writing. All `Append…` functions append to `out`.

// The first bytes that a client sends: "AMQP" 0 0 9 1.
void AppendProtocolHeader(std::string* out);

void AppendHeartbeat(std::string* out);

// Appends the head of a frame. The caller sends the payload from elsewhere, then kFrameEnd.
void AppendFrameHead(FrameType type, std::uint16_t channel, std::size_t payload_size,
                     std::string* out);

// Appends `body` in frames of at most `frame_max`, which must exceed kFrameOverhead. An empty body
// has no frames.
void AppendBodyFrames(std::uint16_t channel, std::string_view body, std::size_t frame_max,
                      std::string* out);

// Appends a frame. The caller writes its payload to the returned address.
char* ExtendByFrame(FrameType type, std::uint16_t channel, std::size_t payload_size,
                    std::string* out);
// The same in existing space, which must be kFrameOverhead larger than the payload.
char* WriteFrame(FrameType type, std::uint16_t channel, std::size_t payload_size, char* out);

void AppendFrame(FrameType type, std::uint16_t channel, std::string_view payload, std::string* out);

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_FRAME_H_
