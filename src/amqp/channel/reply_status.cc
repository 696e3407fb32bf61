#include "amqp/channel/reply_status.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "amqp/codec/protocol_error.h"
#include "base/escaped_text.h"

namespace retryq::amqp {
namespace {

// The refusal of a request whose names are shorter in total fits into a reply.
constexpr std::size_t kShortestHidden = 80;

// "queue limit in vhost 'v' (10) is reached", "exchange limit of 10 is reached".
bool IsOfLimit(std::string_view text) {
  return text.find(" limit ") != std::string_view::npos &&
         text.find(" is reached") != std::string_view::npos;
}

absl::StatusCode StatusCodeOf(std::uint16_t code, std::string_view text) {
  switch (ReplyCode{code}) {
    case ReplyCode::kAccessRefused:
      return absl::StatusCode::kPermissionDenied;
    case ReplyCode::kNotFound:
      return absl::StatusCode::kNotFound;
    case ReplyCode::kResourceLocked:
      return absl::StatusCode::kAborted;
    case ReplyCode::kPreconditionFailed:
      return IsOfLimit(text) ? absl::StatusCode::kResourceExhausted
                             : absl::StatusCode::kFailedPrecondition;
    case ReplyCode::kFrameError:
    case ReplyCode::kSyntaxError:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

}  // namespace

absl::Status ChannelCloseStatus(std::uint16_t code, std::string_view text) {
  return absl::Status(StatusCodeOf(code, text), absl::StrCat(code, " ", EscapedText(text)));
}

bool HidesRefusal(std::uint16_t code, std::string_view names) {
  const auto is_ascii = [](char c) { return absl::ascii_isascii(static_cast<unsigned char>(c)); };
  return code == static_cast<std::uint16_t>(ReplyCode::kInternalError) &&
         names.size() >= kShortestHidden && !std::all_of(names.begin(), names.end(), is_ascii);
}

absl::Status WithContext(std::string_view context, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(EscapedText(context), ": ", status.message()));
}

}  // namespace retryq::amqp
