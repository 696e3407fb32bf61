#include "amqp/frame.h"

#include <algorithm>
#include <cassert>

#include "absl/strings/str_cat.h"
#include "amqp/protocol_error.h"

namespace retryq::amqp {
namespace {

constexpr std::uint8_t kTlsAlert = 21;  // the first byte of a TLS record that holds one

constexpr std::string_view kProtocolHeader("AMQP\0\0\x09\x01", 8);

absl::Status FrameError(const std::string& text) {
  return ProtocolError(ReplyCode::kFrameError, text);
}

bool IsFrameType(std::uint8_t type) {
  switch (FrameType{type}) {
    case FrameType::kMethod:
    case FrameType::kHeader:
    case FrameType::kBody:
    case FrameType::kHeartbeat:
      return true;
  }
  return false;
}

// Returns where the payload begins.
char* WriteFrameHead(FrameType type, std::uint16_t channel, std::size_t payload_size, char* out) {
  WireWriter writer(out);
  writer.Integer(static_cast<std::uint8_t>(type));
  writer.Integer(channel);
  writer.Integer(static_cast<std::uint32_t>(payload_size));
  return writer.end();
}

}  // namespace

absl::StatusOr<std::optional<FrameHead>> PeekFrame(std::string_view buffer, std::size_t frame_max) {
  if (buffer.empty()) return std::nullopt;
  WireReader reader(buffer);
  const auto type = reader.Integer<std::uint8_t>();
  if (!IsFrameType(type)) {
    if (type == kTlsAlert) return FrameError("it speaks TLS: use amqps://");
    // A server that does not speak our version answers with the header of its own.
    return FrameError(type == 'A' ? "the server does not speak AMQP 0-9-1" : "of unknown type");
  }
  FrameHead head{.type = FrameType{type}};
  head.channel = reader.Integer<std::uint16_t>();
  head.payload_size = reader.Integer<std::uint32_t>();
  if (!reader.ok()) return std::nullopt;

  const bool is_header = head.type == FrameType::kHeader;
  const std::size_t limit = is_header ? std::max(frame_max, kMaxInboundHeaderFrame) : frame_max;
  if (head.frame_size() > limit) {
    return FrameError(
        absl::StrCat("of ", head.frame_size(), " bytes, where at most ", limit, " are allowed"));
  }
  if (head.type == FrameType::kHeartbeat && (head.channel != 0 || head.payload_size != 0)) {
    return FrameError(absl::StrCat("a heartbeat is empty and on channel 0, this has ",
                                   head.payload_size, " bytes"));
  }
  return head;
}

absl::StatusOr<std::optional<FrameView>> NextFrame(std::string_view buffer, std::size_t frame_max) {
  const absl::StatusOr<std::optional<FrameHead>> head = PeekFrame(buffer, frame_max);
  if (!head.ok()) return head.status();
  if (!*head || buffer.size() < (*head)->frame_size()) return std::nullopt;
  const std::string_view payload = buffer.substr(kFrameHeadSize, (*head)->payload_size);
  if (buffer[kFrameHeadSize + payload.size()] != kFrameEnd) {
    return FrameError("without its end octet");
  }
  return FrameView{.type = (*head)->type, .channel = (*head)->channel, .payload = payload};
}

void AppendProtocolHeader(std::string* out) { out->append(kProtocolHeader); }

void AppendHeartbeat(std::string* out) { ExtendByFrame(FrameType::kHeartbeat, 0, 0, out); }

void AppendFrameHead(FrameType type, std::uint16_t channel, std::size_t payload_size,
                     std::string* out) {
  WriteFrameHead(type, channel, payload_size, Extend(kFrameHeadSize, out));
}

char* ExtendByFrame(FrameType type, std::uint16_t channel, std::size_t payload_size,
                    std::string* out) {
  return WriteFrame(type, channel, payload_size, Extend(kFrameOverhead + payload_size, out));
}

char* WriteFrame(FrameType type, std::uint16_t channel, std::size_t payload_size, char* out) {
  char* const payload = WriteFrameHead(type, channel, payload_size, out);
  payload[payload_size] = kFrameEnd;
  return payload;
}

void AppendFrame(FrameType type, std::uint16_t channel, std::string_view payload,
                 std::string* out) {
  AppendFrameHead(type, channel, payload.size(), out);
  out->append(payload);
  out->push_back(kFrameEnd);
}

void AppendBodyFrames(std::uint16_t channel, std::string_view body, std::size_t frame_max,
                      std::string* out) {
  assert(frame_max > kFrameOverhead);
  while (!body.empty()) {
    const std::string_view payload = body.substr(0, frame_max - kFrameOverhead);
    AppendFrame(FrameType::kBody, channel, payload, out);
    body.remove_prefix(payload.size());
  }
}

}  // namespace retryq::amqp
