#include "loop/thrown.h"

#include <exception>

#include "absl/strings/str_cat.h"

namespace retryq {
namespace {

absl::Status& Kept() {
  thread_local absl::Status kept;
  return kept;
}

}  // namespace

absl::Status Thrown(const std::string& who) {
  try {
    throw;
  } catch (const std::exception& exception) {
    return absl::UnknownError(absl::StrCat(who, " threw: ", exception.what()));
  } catch (...) {
    return absl::UnknownError(
        absl::StrCat(who, " threw an exception that is not a std::exception"));
  }
}

void KeepThrown(absl::Status error) { Kept().Update(std::move(error)); }

absl::Status TakeThrown() { return std::exchange(Kept(), absl::OkStatus()); }

}  // namespace retryq
