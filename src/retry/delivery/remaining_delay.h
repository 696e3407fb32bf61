#ifndef RETRYQ_SRC_RETRY_DELIVERY_REMAINING_DELAY_H_
#define RETRYQ_SRC_RETRY_DELIVERY_REMAINING_DELAY_H_

#include "absl/time/time.h"
#include "retryq/delivery.h"

namespace retryq {

// What is left of the delay of a message that has come out of a delay queue, in whole milliseconds;
// zero if it is due.
//
// That is not more than the clock says, so that time spent in the backlog of a work queue counts,
// and not more than was to be left when it went into that queue, so that clocks of workers that
// disagree can make a message early or late by their difference and keep none on its way for ever.
absl::Duration RemainingDelay(const Delivery::History& history, absl::Time now);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_REMAINING_DELAY_H_
