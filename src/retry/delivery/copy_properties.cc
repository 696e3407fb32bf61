#include "retryq/copy_properties.h"

#include <string_view>

#include "retry/delivery/headers.h"
#include "retryq/amqp/table.h"

namespace retryq {
namespace {

// The pseudo-queue that answers of RPC go to. The broker refuses it from a channel that does not
// consume it, and puts a name behind it otherwise: alone, which AMQP 1.0 lets through, it leads
// nowhere.
constexpr std::string_view kDirectReplyTo = "amq.rabbitmq.reply-to";

// What a path takes over. Never: what a queue has counted (x-delivery-count, x-acquired-count).
struct Guards {
  bool mode;        // the delivery mode; else persistent
  bool expiration;  // which would end a delay early, or expire in the parked queue
  bool deaths;      // x-death and its kin, which the broker takes for a cycle (F14)
  bool sender;      // user-id, CC, BCC and a direct reply-to: refused or routed by
};

constexpr Guards GuardsOf(CopyPath path) {
  switch (path) {
    case CopyPath::kRetry:
    case CopyPath::kUnchanged:
    case CopyPath::kReplay:
    case CopyPath::kEdit:
    case CopyPath::kRelease:
      return {.mode = false, .expiration = false, .deaths = false, .sender = false};
    case CopyPath::kReturn:
      return {.mode = true, .expiration = true, .deaths = true, .sender = false};
    case CopyPath::kDelayedFirst:
      break;
  }
  return {.mode = true, .expiration = true, .deaths = false, .sender = true};
}

// Whether a header of retrying goes along. A copy that is made anew writes its own.
bool StaysOfRetrying(std::string_view name, CopyPath path) {
  switch (path) {
    case CopyPath::kRetry:
      return name == kRetryEditedHeader;
    case CopyPath::kReplay:
      return name == kRetryIdHeader || name == kRetryEditedHeader;
    case CopyPath::kEdit:
      return name == kRetryIdHeader;
    case CopyPath::kRelease:
      // Without the delay: what has not waited for it must look neither early nor in need of the
      // rest.
      return name != kRetryNotBeforeHeader && name != kRetryDelayHeader &&
             name != kRetryRemainingHeader && name != kRetryParkedHeader;
    case CopyPath::kUnchanged:
    case CopyPath::kReturn:
    case CopyPath::kDelayedFirst:
      break;
  }
  return true;
}

}  // namespace

amqp::Properties CopyProperties(const amqp::Properties& properties, CopyPath path,
                                std::string* headers) {
  const Guards guards = GuardsOf(path);
  amqp::Properties copied = properties;
  if (!guards.mode) copied.delivery_mode = 2;
  if (!guards.expiration) copied.expiration.reset();
  if (!guards.sender) {
    copied.user_id.reset();
    if (copied.reply_to == kDirectReplyTo) copied.reply_to.reset();
  }
  if (!properties.headers) return copied;
  const RetryHeaders whose = RetryHeadersIn(*properties.headers);
  const auto stays = [&](const amqp::FieldView& field) {
    const std::string_view name = field.name;
    if (IsRetryHeader(name, whose)) {
      // An id that the message has anyway would look like the application's.
      if (path == CopyPath::kReplay && name == kRetryIdHeader &&
          field.AsString() == properties.message_id) {
        return false;
      }
      return StaysOfRetrying(name, path);
    }
    // The application's own would be taken for those that a copy adds.
    if (path == CopyPath::kRetry && IsRetryHeader(name)) return false;
    if (IsDeathHeader(name)) return guards.deaths;
    if (IsRoutingHeader(name)) return guards.sender;
    return !IsBrokerHeader(name);
  };
  const std::size_t start = headers->size();
  amqp::TableWriter writer(headers);
  for (const amqp::FieldView& field : *properties.headers) {
    if (stays(field)) writer.Copy(field);
  }
  copied.headers = amqp::TableView(std::string_view(*headers).substr(start));
  return copied;
}

}  // namespace retryq
