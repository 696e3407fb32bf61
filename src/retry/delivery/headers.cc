#include "retry/delivery/headers.h"

#include "base/retry_id.h"

namespace retryq {

RetryHeaders RetryHeadersIn(amqp::TableView headers) {
  constexpr char kInt64 = 'l';
  constexpr char kText = 'S';
  unsigned copied = 0;
  unsigned delayed = 0;
  bool has_id = false;
  bool made_id = false;
  bool edited = false;
  for (const amqp::FieldView& field : headers) {
    const std::string_view name = field.name;
    if (!name.starts_with(kRetryPrefix)) continue;
    if (field.type == kInt64) {
      if (name == kRetryCountHeader) copied |= 1U;
      if (name == kRetryDelayHeader) delayed |= 1U;
      if (name == kRetryNotBeforeHeader) delayed |= 2U;
      if (name == kRetryRemainingHeader) delayed |= 4U;
      if (name == kRetryEditedHeader) edited = true;
    } else if (field.type == kText) {
      if (name == kRetryQueueHeader) copied |= 2U;
      if (name == kRetryExchangeHeader) copied |= 4U;
      if (name == kRetryRoutingKeyHeader) copied |= 8U;
      if (name == kRetryIdHeader && !has_id) {
        has_id = true;
        made_id = IsRetryId(field.AsString().value_or(std::string_view()));
      }
    }
  }
  if (!has_id) return RetryHeaders::kForeign;
  if (copied == 15U) return RetryHeaders::kCopied;
  if (delayed == 7U) return RetryHeaders::kDelayed;
  return made_id || edited ? RetryHeaders::kReplayed : RetryHeaders::kForeign;
}

bool IsRetryHeader(std::string_view name, RetryHeaders whose) {
  switch (whose) {
    case RetryHeaders::kForeign:
      return false;
    case RetryHeaders::kReplayed:
      return name == kRetryIdHeader || name == kRetryEditedHeader;
    case RetryHeaders::kDelayed:
      return name == kRetryIdHeader || name == kRetryDelayHeader || name == kRetryNotBeforeHeader ||
             name == kRetryRemainingHeader;
    case RetryHeaders::kCopied:
      break;
  }
  return IsRetryHeader(name) || name == kRetryEditedHeader;
}

}  // namespace retryq
