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
// `frame_max` count all of that.

enum class FrameType : std::uint8_t { kMethod = 1, kHeader = 2, kBody = 3, kHeartbeat = 8 };

inline constexpr std::size_t kFrameHeadSize = 7;
inline constexpr std::size_t kFrameOverhead = kFrameHeadSize + 1;
inline constexpr char kFrameEnd = '\xce';

// The smallest frame_max that AMQP 0-9-1 allows to be agreed on.
inline constexpr std::size_t kFrameMinSize = 4096;

// RabbitMQ sends content headers in one frame even where they are larger than the agreed
// frame_max (60 035 bytes at 8192, seen on 3.10 and 4.x), so they have a limit of their own.
inline constexpr std::size_t kMaxInboundHeaderFrame = std::size_t{16} << 20;

struct FrameHead {
  FrameType type = FrameType::kHeartbeat;
  std::uint16_t channel = 0;
  std::uint32_t payload_size = 0;

  // Whatever a peer claims: wider than a size_t may be.
  std::uint64_t frame_size() const { return std::uint64_t{payload_size} + kFrameOverhead; }
};

// A whole frame; the payload is a view into the buffer it was found in.
struct FrameView {
  FrameType type = FrameType::kHeartbeat;
  std::uint16_t channel = 0;
  std::string_view payload;

  std::size_t frame_size() const { return payload.size() + kFrameOverhead; }
};

// Reading. Both look at the start of `buffer`, the bytes received and not yet consumed, and
// answer nothing while it is too short to tell. Errors are ProtocolErrors (501): a type that does
// not exist, a size above the limit (`frame_max` for all but header frames), a heartbeat with a
// payload or a channel, a wrong frame end. After an error the stream is lost. (Of the first and the
// last of these the specification wants the end without a word; RabbitMQ says 501, and so do we.)

// How long the frame will be, from its first kFrameHeadSize bytes: lets a caller wait for all of
// it before making the buffer contiguous.
absl::StatusOr<std::optional<FrameHead>> PeekFrame(std::string_view buffer, std::size_t frame_max);

// The first frame. The caller consumes its `frame_size()` bytes when done with it.
absl::StatusOr<std::optional<FrameView>> NextFrame(std::string_view buffer, std::size_t frame_max);

// Writing. All append to `out`.

// What a client sends first: "AMQP" 0 0 9 1.
void AppendProtocolHeader(std::string* out);

void AppendHeartbeat(std::string* out);

// The start of a frame whose payload the caller sends from elsewhere, followed by kFrameEnd.
void AppendFrameHead(FrameType type, std::uint16_t channel, std::size_t payload_size,
                     std::string* out);

// `body` in frames of at most `frame_max`, which must exceed kFrameOverhead. None if it is empty.
void AppendBodyFrames(std::uint16_t channel, std::string_view body, std::size_t frame_max,
                      std::string* out);

// A whole frame, whose payload of that size the caller writes where the result points.
char* ExtendByFrame(FrameType type, std::uint16_t channel, std::size_t payload_size,
                    std::string* out);
// The same where there is room for it already, kFrameOverhead more than the payload's size.
char* WriteFrame(FrameType type, std::uint16_t channel, std::size_t payload_size, char* out);

void AppendFrame(FrameType type, std::uint16_t channel, std::string_view payload, std::string* out);

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_FRAME_H_
