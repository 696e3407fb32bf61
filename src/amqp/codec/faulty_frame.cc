#include "amqp/codec/faulty_frame.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "amqp/codec/frame.h"
#include "amqp/codec/method_codec.h"
#include "amqp/codec/wire.h"

namespace retryq::amqp {
namespace {

std::string TypeName(std::uint8_t type) {
  switch (FrameType{type}) {
    case FrameType::kMethod:
      return "method frame";
    case FrameType::kHeader:
      return "content header frame";
    case FrameType::kBody:
      return "content body frame";
    case FrameType::kHeartbeat:
      return "heartbeat frame";
  }
  return absl::StrCat("frame of type ", type);
}

}  // namespace

FaultyFrame DescribeFrame(std::string_view bytes) {
  WireReader reader(bytes);
  const auto type = reader.Integer<std::uint8_t>();
  const auto channel = reader.Integer<std::uint16_t>();
  const bool has_channel = reader.ok();
  const auto size = reader.Integer<std::uint32_t>();
  WireReader payload(reader.rest().substr(0, size));

  FaultyFrame frame = {.name = TypeName(type), .channel = channel};
  if (FrameType{type} == FrameType::kMethod) {
    const auto class_id = payload.Integer<std::uint16_t>();
    const auto method_id = payload.Integer<std::uint16_t>();
    if (payload.ok()) {
      frame.class_id = class_id;
      frame.method_id = method_id;
      const std::string name = MethodName(class_id, method_id);
      absl::StrAppend(&frame.name, " ", absl::StripPrefix(name, "method "));
    }
  }
  if (has_channel) absl::StrAppend(&frame.name, " on channel ", channel);
  return frame;
}

}  // namespace retryq::amqp
