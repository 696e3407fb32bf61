#include "retryq/retry_options.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/field_errors.h"
#include "base/name_size.h"

namespace retryq {
namespace {

// RabbitMQ's longest TTL.
constexpr absl::Duration kTenYears = absl::Hours(24 * 3650);

constexpr std::size_t kMostEarlierCounts = 16;

bool IsHeaderName(const std::string& name) { return !name.empty() && name.size() <= kMaxNameSize; }

}  // namespace

absl::Status Validate(const RetryOptions& options, const std::string& field) {
  FieldErrors errors(Validate(options.backoff, field + ".backoff"));
  errors.Require(options.max_age >= absl::ZeroDuration(), field,
                 ".max_age must not be negative (0 means no limit), but is ",
                 absl::FormatDuration(options.max_age));
  errors.Require(options.permanent == nullptr || options.retry_only == nullptr, field,
                 ".permanent and ", field, ".retry_only cannot be combined: set one of them");
  for (std::size_t i = 0; i < options.for_errors.size(); ++i) {
    const ErrorRule& rule = options.for_errors[i];
    const std::string name = absl::StrCat(field, ".for_errors[", i, "]");
    errors.Require(!rule.codes.empty() || rule.matches != nullptr, name,
                   " must say which errors: set codes or matches");
    errors.Require(std::count(rule.codes.begin(), rule.codes.end(), absl::StatusCode::kOk) == 0,
                   name, ".codes must not contain kOk, which is no error");
    if (rule.backoff) errors.Add(Validate(*rule.backoff, name + ".backoff"));
  }
  errors.Require(
      options.max_retry_after >= absl::Milliseconds(1) && options.max_retry_after <= kTenYears,
      field, ".max_retry_after must be between 1ms and 3650 days, but is ",
      absl::FormatDuration(options.max_retry_after));
  errors.Require(options.earlier_counts.size() <= kMostEarlierCounts, field,
                 ".earlier_counts must name at most ", kMostEarlierCounts, " headers, but names ",
                 options.earlier_counts.size());
  errors.Require(
      std::all_of(options.earlier_counts.begin(), options.earlier_counts.end(), IsHeaderName),
      field, ".earlier_counts must name headers of 1 to 255 bytes each");
  return errors.status();
}

}  // namespace retryq
