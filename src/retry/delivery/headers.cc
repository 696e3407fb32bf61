#include "retry/delivery/headers.h"

#include <algorithm>

namespace retryq {

bool IsRetryHeader(std::string_view name) {
  return name.starts_with(kRetryPrefix) &&
         std::find(kRetryHeaders.begin(), kRetryHeaders.end(), name) != kRetryHeaders.end();
}

bool IsBrokerHeader(std::string_view name) {
  if (!name.starts_with("x-")) return false;
  return name == kDeathHeader || name.starts_with("x-first-death-") ||
         name.starts_with("x-last-death-") || name == kDeliveryCountHeader ||
         name == kAcquiredCountHeader;
}

bool IsRoutingHeader(std::string_view name) { return name == "CC" || name == "BCC"; }

}  // namespace retryq
