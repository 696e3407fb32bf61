#ifndef RETRYQ_SRC_BASE_FIELD_ERRORS_H_
#define RETRYQ_SRC_BASE_FIELD_ERRORS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/name_size.h"

namespace retryq {

// Collects all errors of some options, so that users can correct all mistakes at once.
class FieldErrors {
 public:
  explicit FieldErrors(const absl::Status& first = absl::OkStatus()) : status_(first) {}

  // Adds an error with this text, which names the field, unless the condition holds.
  template <typename... Text>
  void Require(bool holds, const Text&... text) {
    if (!holds) Add(absl::InvalidArgumentError(absl::StrCat(text...)));
  }

  // Checks the name of a queue or an exchange, which may be empty.
  void RequireName(const std::string& field, std::string_view name) {
    Require(name.size() <= kMaxNameSize, field, " must be at most 255 bytes long");
    Require(name.find_first_of(std::string_view("\r\n\0", 3)) == name.npos, field,
            " must contain neither line breaks nor NUL");
  }

  // Does nothing if `error` is ok.
  void Add(const absl::Status& error) {
    if (status_.ok()) {
      status_ = error;
    } else if (!error.ok()) {
      status_ = absl::InvalidArgumentError(absl::StrCat(status_.message(), "; ", error.message()));
    }
  }

  // Returns ok if there are no errors, else the only error, or kInvalidArgument with the texts of
  // all of them.
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_BASE_FIELD_ERRORS_H_
