#include "retry/delivery/counted_returns.h"

#include <cstdlib>
#include <string>

namespace retryq {

bool CountsFailuresOnly(std::string_view version) {
  const std::string text(version);
  char* rest = nullptr;
  const long major = std::strtol(text.c_str(), &rest, 10);  // NOLINT(google-runtime-int)
  const long minor =
      *rest == '.' ? std::strtol(rest + 1, nullptr, 10) : 0;  // NOLINT(google-runtime-int)
  return major > 4 || (major == 4 && minor >= 3);
}

bool CountedReturns::WouldCount(std::string_view version) const {
  switch (which_) {
    case CountRedeliveries::kNever:
      return false;
    case CountRedeliveries::kAlways:
      return seen_ != Seen::kAcquiredCount;
    case CountRedeliveries::kWhereCounted:
      return seen_ == Seen::kNothing && !version.empty() && !CountsFailuresOnly(version);
  }
  return false;
}

}  // namespace retryq
