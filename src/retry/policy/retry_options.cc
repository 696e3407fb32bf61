#include "retryq/retry_options.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/name_size.h"

namespace retryq {
namespace {

// RabbitMQ's longest TTL.
constexpr absl::Duration kTenYears = absl::Hours(24 * 3650);

constexpr std::size_t kMostEarlierCounts = 16;

bool IsHeaderName(const std::string& name) { return !name.empty() && name.size() <= kMaxNameSize; }

}  // namespace

absl::Status Validate(const RetryOptions& options, const std::string& field) {
  std::vector<std::string> errors;
  if (const absl::Status backoff = Validate(options.backoff, field + ".backoff"); !backoff.ok()) {
    errors.emplace_back(backoff.message());
  }
  if (options.max_age < absl::ZeroDuration()) {
    errors.push_back(absl::StrCat(field,
                                  ".max_age must not be negative (0 means no limit), but is ",
                                  absl::FormatDuration(options.max_age)));
  }
  if (options.permanent != nullptr && options.retry_only != nullptr) {
    errors.push_back(absl::StrCat(field, ".permanent and ", field,
                                  ".retry_only cannot be combined: set one of them"));
  }
  for (std::size_t i = 0; i < options.for_errors.size(); ++i) {
    const ErrorRule& rule = options.for_errors[i];
    const std::string name = absl::StrCat(field, ".for_errors[", i, "]");
    if (rule.codes.empty() && rule.matches == nullptr) {
      errors.push_back(absl::StrCat(name, " must say which errors: set codes or matches"));
    }
    if (std::count(rule.codes.begin(), rule.codes.end(), absl::StatusCode::kOk) > 0) {
      errors.push_back(absl::StrCat(name, ".codes must not contain kOk, which is no error"));
    }
    if (!rule.backoff) continue;
    if (const absl::Status backoff = Validate(*rule.backoff, name + ".backoff"); !backoff.ok()) {
      errors.emplace_back(backoff.message());
    }
  }
  if (options.max_retry_after < absl::Milliseconds(1) || options.max_retry_after > kTenYears) {
    errors.push_back(absl::StrCat(field,
                                  ".max_retry_after must be between 1ms and 3650 days, but is ",
                                  absl::FormatDuration(options.max_retry_after)));
  }
  if (options.earlier_counts.size() > kMostEarlierCounts) {
    errors.push_back(absl::StrCat(field, ".earlier_counts must name at most ", kMostEarlierCounts,
                                  " headers, but names ", options.earlier_counts.size()));
  }
  if (!std::all_of(options.earlier_counts.begin(), options.earlier_counts.end(), IsHeaderName)) {
    errors.push_back(
        absl::StrCat(field, ".earlier_counts must name headers of 1 to 255 bytes each"));
  }
  if (errors.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(errors, "; "));
}

}  // namespace retryq
