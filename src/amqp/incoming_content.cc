#include "amqp/incoming_content.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "amqp/properties_codec.h"
#include "amqp/protocol_error.h"

namespace retryq::amqp {
namespace {

// Believed of a promised body size: a frame or so.
constexpr std::uint64_t kMostReserved = std::uint64_t{128} << 10;

}  // namespace

absl::StatusOr<std::shared_ptr<Message>> IncomingContent::OnHeader(std::string_view payload) {
  if (message_ == nullptr || has_header_) {
    return ProtocolError(ReplyCode::kUnexpectedFrame, "nothing announced it");
  }
  message_->header.assign(payload);
  const absl::StatusOr<std::uint64_t> body_size =
      DecodeContentHeader(message_->header, &message_->properties);
  if (!body_size.ok()) return body_size.status();
  if (*body_size > kMaxBodySize) {
    return ProtocolError(ReplyCode::kContentTooLarge,
                         absl::StrCat("it announces ", *body_size, " bytes, where at most ",
                                      kMaxBodySize, " are accepted"));
  }
  message_->content.clear();
  message_->content.reserve(std::min(*body_size, kMostReserved));
  has_header_ = true;
  missing_ = *body_size;
  return TakeIfWhole();
}

absl::StatusOr<std::shared_ptr<Message>> IncomingContent::OnBody(std::string_view payload) {
  if (!has_header_) {
    return ProtocolError(ReplyCode::kUnexpectedFrame, "no content header announced it");
  }
  if (payload.size() > missing_) {
    return ProtocolError(ReplyCode::kFrameError, "more body than the content header promised");
  }
  message_->content.append(payload);
  missing_ -= payload.size();
  return TakeIfWhole();
}

std::shared_ptr<Message> IncomingContent::TakeIfWhole() {
  if (missing_ > 0) return nullptr;
  has_header_ = false;
  message_->body = message_->content;
  return std::move(message_);
}

}  // namespace retryq::amqp
