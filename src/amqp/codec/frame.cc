#include "amqp/codec/frame.h"

#include <algorithm>
#include <cassert>

#include "absl/strings/str_cat.h"
#include "amqp/codec/protocol_error.h"

namespace retryq::amqp {
namespace {

constexpr std::uint8_t kTlsAlert = 21;  // first byte of a TLS alert record

constexpr std::string_view kProtocolHeader("AMQP\0\0\x09\x01", 8);

absl::Status FrameError(const std::string& text) {
  return ProtocolError(ReplyCode::kFrameError, text);
}

bool IsFrameType(FrameType type) {
  switch (type) {
    case FrameType::kMethod:
    case FrameType::kHeader:
    case FrameType::kBody:
    case FrameType::kHeartbeat:
      return true;
  }
  return false;
}

FrameType TypeAt(const char* frame) { return FrameType{static_cast<std::uint8_t>(*frame)}; }

// Returns the address for the payload.
char* WriteFrameHead(FrameType type, std::uint16_t channel, std::size_t payload_size, char* out) {
  WireWriter writer(out);
  writer.Integer(static_cast<std::uint8_t>(type));
  writer.Integer(channel);
  writer.Integer(static_cast<std::uint32_t>(payload_size));
  return writer.end();
}

std::size_t LimitOf(FrameType type, std::size_t frame_max) {
  return type == FrameType::kHeader ? std::max(frame_max, kMaxInboundHeaderFrame) : frame_max;
}

absl::Status UnknownType(FrameType type) {
  const auto byte = static_cast<std::uint8_t>(type);
  if (byte == kTlsAlert) return FrameError("the server speaks TLS: use amqps://");
  // A server that does not speak this version answers with its own protocol header.
  return FrameError(byte == 'A' ? "the server does not speak AMQP 0-9-1" : "of unknown type");
}

// Returns the error of an invalid head.
absl::Status Fault(FrameHead head, std::size_t frame_max) {
  if (!IsFrameType(head.type)) return UnknownType(head.type);
  const std::size_t limit = LimitOf(head.type, frame_max);
  if (head.frame_size() > limit) {
    return FrameError(
        absl::StrCat("of ", head.frame_size(), " bytes, where at most ", limit, " are allowed"));
  }
  return FrameError(absl::StrCat("a heartbeat is empty and on channel 0, this has ",
                                 head.payload_size, " bytes"));
}

}  // namespace

absl::StatusOr<std::optional<FrameHead>> PeekFrame(std::string_view buffer, std::size_t frame_max) {
  if (buffer.empty()) return std::nullopt;
  if (!IsFrameType(TypeAt(buffer.data()))) return UnknownType(TypeAt(buffer.data()));
  if (buffer.size() < kFrameHeadSize) return std::nullopt;
  const FrameHead head = HeadAt(buffer.data());
  if (!IsValid(head, frame_max)) return Fault(head, frame_max);
  return head;
}

absl::StatusOr<std::optional<FrameView>> NextFrame(std::string_view buffer, std::size_t frame_max) {
  FrameView frame;
  if (ReadFrame(buffer, frame_max, &frame)) return frame;
  const absl::StatusOr<std::optional<FrameHead>> head = PeekFrame(buffer, frame_max);
  if (!head.ok()) return head.status();
  if (!*head || buffer.size() < (*head)->frame_size()) return std::nullopt;
  return FrameError("without its end octet");
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
