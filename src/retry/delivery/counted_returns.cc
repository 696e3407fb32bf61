#include "retry/delivery/counted_returns.h"

#include <cstdlib>
#include <string>

namespace retryq {

bool IsVersion(std::string_view version, int major, int minor) {
  const std::string text(version);
  char* rest = nullptr;
  const long its_major = std::strtol(text.c_str(), &rest, 10);  // NOLINT(google-runtime-int)
  const long its_minor =
      *rest == '.' ? std::strtol(rest + 1, nullptr, 10) : 0;  // NOLINT(google-runtime-int)
  return its_major > major || (its_major == major && its_minor >= minor);
}

bool CountsFailuresOnly(std::string_view version) { return IsVersion(version, 4, 3); }

bool CountedReturns::WouldCount(std::string_view version) const {
  switch (which_) {
    case CountRedeliveries::kNever:
      return false;
    case CountRedeliveries::kAlways:
      return seen_ != Seen::kAcquiredCount;
    case CountRedeliveries::kWhereCounted:
      if (counts_ == false) return false;
      return seen_ == Seen::kNothing && !version.empty() && !CountsFailuresOnly(version);
  }
  return false;
}

}  // namespace retryq
