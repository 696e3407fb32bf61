#include "retry/delivery/counted_returns.h"

namespace retryq {

bool CountedReturns::WouldCount(const BrokerVersion& version) const {
  switch (which_) {
    case CountRedeliveries::kNever:
      return false;
    case CountRedeliveries::kAlways:
      return seen_ != Seen::kAcquiredCount;
    case CountRedeliveries::kWhereCounted:
      if (counts_ == false) return false;
      return seen_ == Seen::kNothing && version.is_known() && !version.CountsFailuresOnly();
  }
  return false;
}

}  // namespace retryq
