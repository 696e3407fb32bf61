#include "retryq/broker/copy_properties.h"

#include <string_view>

#include "base/header_names.h"
#include "retry/delivery/headers.h"
#include "retryq/amqp/table.h"

namespace retryq {
namespace {

// The pseudo-queue for RPC replies. The broker refuses it from a channel that does not consume from
// it; otherwise it appends a name. AMQP 1.0 allows it without that name; a reply to it reaches no
// client.
constexpr std::string_view kDirectReplyTo = "amq.rabbitmq.reply-to";

// The properties that a copy keeps on its path. It never keeps a queue's counts (x-delivery-count,
// x-acquired-count).
struct Guards {
  bool mode;        // the delivery mode; if not kept, the copy is persistent
  bool expiration;  // it would end a delay early, or the message would expire in the parked queue
  bool deaths;      // x-death and related headers, which the broker would treat as a cycle (F14)
  bool sender;      // user-id, CC, BCC and a direct reply-to, which are refused or change the route
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

// Whether a header that retryq has set is kept. A new copy gets new headers.
bool StaysOfRetrying(std::string_view name, CopyPath path) {
  switch (path) {
    case CopyPath::kRetry:
      // Without another attempt, the last one stays the same.
      return name == kRetryEditedHeader || IsTraceHeader(name);
    case CopyPath::kReplay:
      return name == kRetryIdHeader || name == kRetryEditedHeader;
    case CopyPath::kEdit:
      return name == kRetryIdHeader;
    case CopyPath::kRelease:
      // Omits the headers about the delay: the message was released before its delay was over, and
      // a consumer must handle it at once.
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
  amqp::Properties copied;
  AssignCopyProperties(properties, path, headers, &copied);
  return copied;
}

void AssignCopyProperties(const amqp::Properties& properties, CopyPath path, std::string* headers,
                          amqp::Properties* copied) {
  const Guards guards = GuardsOf(path);
  *copied = properties;
  if (!guards.mode) copied->delivery_mode = 2;
  if (!guards.expiration) copied->expiration.reset();
  if (!guards.sender) {
    copied->user_id.reset();
    if (copied->reply_to == kDirectReplyTo) copied->reply_to.reset();
  }
  if (!properties.headers) return;
  const RetryHeaders whose = RetryHeadersIn(*properties.headers);
  const auto stays = [&](const amqp::FieldView& field) {
    const std::string_view name = field.name;
    if (IsRetryHeader(name, whose)) {
      // If the message-id is the same id, the header would look like a header of the application.
      if (path == CopyPath::kReplay && name == kRetryIdHeader &&
          field.AsString() == properties.message_id) {
        return false;
      }
      return StaysOfRetrying(name, path);
    }
    // Omits the application's headers of these names, which would be confused with those that the
    // copy adds.
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
  copied->headers = amqp::TableView(std::string_view(*headers).substr(start));
}

}  // namespace retryq
