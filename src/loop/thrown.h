#ifndef RETRYQ_SRC_LOOP_THROWN_H_
#define RETRYQ_SRC_LOOP_THROWN_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace retryq {

// Returns the exception that is being handled as kUnknown, with the name of the callback that threw
// it. Call it in a catch block.
absl::Status Thrown(const std::string& who);

// Keeps an exception that ends the loop of this thread; the first one since the last `TakeThrown`.
void KeepThrown(absl::Status error);
absl::Status TakeThrown();

// Calls code that may throw, from a C function such as libevent's, through which exceptions must
// not pass.
template <typename Call>
void CallFromC(const char* who, const Call& call) noexcept {
  try {
    call();
  } catch (...) {
    KeepThrown(Thrown(who));
  }
}

// Calls a user's callback in the middle of the library's work, which an exception must not
// interrupt. An exception is passed to `threw`; it propagates only if `threw` is empty.
template <typename Call>
void CallUser(const char* who, const std::function<void(absl::Status)>& threw, const Call& call) {
  try {
    call();
  } catch (...) {
    if (threw == nullptr) throw;
    threw(Thrown(who));
  }
}

}  // namespace retryq

#endif  // RETRYQ_SRC_LOOP_THROWN_H_
