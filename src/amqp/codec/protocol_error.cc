#include "amqp/codec/protocol_error.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace retryq::amqp {
namespace {

constexpr absl::string_view kPayloadType = "retryq/amqp-reply-code";

}  // namespace

bool EndsChannelOnly(ReplyCode code) {
  switch (code) {
    case ReplyCode::kContentTooLarge:
    case ReplyCode::kAccessRefused:
    case ReplyCode::kNotFound:
    case ReplyCode::kResourceLocked:
    case ReplyCode::kPreconditionFailed:
      return true;
    default:
      return false;
  }
}

absl::Status ProtocolError(ReplyCode code, std::string_view text) {
  absl::Status status = absl::InternalError(absl::string_view(text.data(), text.size()));
  status.SetPayload(kPayloadType, absl::Cord(absl::StrCat(static_cast<std::uint16_t>(code))));
  return status;
}

ReplyCode ReplyCodeOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayloadType);
  std::uint32_t code = 0;
  if (!payload || !absl::SimpleAtoi(static_cast<std::string>(*payload), &code))
    return ReplyCode::kInternalError;
  return static_cast<ReplyCode>(code);
}

}  // namespace retryq::amqp
