#ifndef RETRYQ_SRC_LOOP_THROWN_H_
#define RETRYQ_SRC_LOOP_THROWN_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace retryq {

// To be called while an exception is caught: kUnknown, and which callback threw what.
absl::Status Thrown(const std::string& who);

// Exceptions that end the loop which runs on this thread: the first one since the last `Take…`.
void KeepThrown(absl::Status error);
absl::Status TakeThrown();

// Calls code that may throw from a C function, such as libevent, which no exception may cross.
template <typename Call>
void CallFromC(const char* who, const Call& call) noexcept {
  try {
    call();
  } catch (...) {
    KeepThrown(Thrown(who));
  }
}

// Calls a callback of the user's amid the work of this library, which an exception must not undo.
// An exception goes to `threw`, and on only where that is empty.
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
