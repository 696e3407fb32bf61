#ifndef RETRYQ_SRC_RETRY_DELIVERY_HANDLER_CALL_H_
#define RETRYQ_SRC_RETRY_DELIVERY_HANDLER_CALL_H_

#include <exception>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "retryq/delivery.h"
#include "retryq/outcome.h"
#include "retryq/retrier.h"
#include "retryq/settlement.h"

namespace retryq {

// To be called while an exception of a handler is caught: what it says, as an error like any other.
inline absl::Status HandlerThrew() {
  try {
    throw;
  } catch (const std::exception& exception) {
    return absl::UnknownError(std::string("the handler threw: ") + exception.what());
  } catch (...) {
    return absl::UnknownError("the handler threw something that is no std::exception");
  }
}

// Calls the handler. An exception is an error: kUnknown.
inline Outcome CallHandler(const Handler& handler, const Delivery& delivery) {
  try {
    return handler(delivery);
  } catch (...) {
    return HandlerThrew();
  }
}

// The same for one that settles later. One that throws has dropped its settlement, which retries,
// if it has not settled before: why is the answer, else ok.
inline absl::Status CallHandler(const AsyncHandler& handler, const Delivery& delivery,
                                Settlement settlement) {
  try {
    handler(delivery, std::move(settlement));
    return absl::OkStatus();
  } catch (...) {
    return HandlerThrew();
  }
}

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_HANDLER_CALL_H_
