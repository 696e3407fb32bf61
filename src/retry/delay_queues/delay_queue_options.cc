#include "retryq/delay_queue_options.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/field_errors.h"

namespace retryq {
namespace {

constexpr std::size_t kMaxPrefixBytes = 100;
constexpr std::uint64_t kMaxLimit = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kFewestDelayQueues = 16;
constexpr std::size_t kMostDelayQueues = 4096;
constexpr absl::Duration kMinOutage = absl::Minutes(5);
constexpr absl::Duration kMaxOutage = absl::Hours(24 * 1460);

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

// Returns what is wrong with the prefix; empty if it is valid. The error does not contain the
// prefix, which may not be printable.
std::string PrefixError(std::string_view prefix) {
  if (prefix.empty()) return "must not be empty";
  if (prefix.size() > kMaxPrefixBytes) {
    return absl::StrCat("must be at most ", kMaxPrefixBytes, " bytes long, but has ",
                        prefix.size());
  }
  if (std::any_of(prefix.begin(), prefix.end(), IsControl)) {
    return "must not contain control characters";
  }
  if (prefix.substr(0, 4) == "amq.") return "must not begin with \"amq.\", which RabbitMQ reserves";
  return "";
}

}  // namespace

absl::Status Validate(const DelayQueueOptions& options, absl::Duration heartbeat,
                      const std::string& field) {
  FieldErrors errors;
  const auto check = [&](bool good, const char* name, const std::string& rule,
                         absl::Duration value) {
    errors.Require(good, field, ".", name, " must be ", rule, ", but is ",
                   absl::FormatDuration(value));
  };
  const auto check_reach = [&](const char* name, absl::Duration value) {
    check(value > absl::ZeroDuration() && value <= kMaxQueueLifetime, name,
          "above 0 and at most 3650 days", value);
  };
  const auto check_limit = [&](const char* name, std::uint64_t limit) {
    errors.Require(limit <= kMaxLimit, field, ".", name, " must be at most ", kMaxLimit,
                   ", but is ", limit);
  };

  const std::string prefix = PrefixError(options.prefix);
  errors.Require(prefix.empty(), field, ".prefix ", prefix);
  errors.Require(options.max_delay_queues >= kFewestDelayQueues &&
                     options.max_delay_queues <= kMostDelayQueues,
                 field, ".max_delay_queues must be from ", kFewestDelayQueues, " to ",
                 kMostDelayQueues, ", but is ", options.max_delay_queues);
  check_reach("margin", options.margin);
  check_reach("min_window", options.min_window);
  check_reach("max_window", options.max_window);
  check(options.min_window <= options.max_window, "min_window",
        absl::StrCat("at most max_window (", absl::FormatDuration(options.max_window), ")"),
        options.min_window);
  check_reach("confirm_timeout", options.confirm_timeout);
  if (options.queue_type == QueueType::kQuorum) {
    check(options.outage >= kMinOutage && options.outage <= kMaxOutage, "outage",
          "5 minutes to 4 years (1460 days)", options.outage);
    check(options.outage >= 2 * options.confirm_timeout, "outage",
          absl::StrCat("at least twice confirm_timeout (2 * ",
                       absl::FormatDuration(options.confirm_timeout), ")"),
          options.outage);
  }
  errors.Require(heartbeat > absl::ZeroDuration(),
                 "heartbeat must not be 0: without it a dead connection outlives its leases");
  check(options.margin >= 4 * heartbeat, "margin",
        absl::StrCat("at least four heartbeats (4 * ", absl::FormatDuration(heartbeat), ")"),
        options.margin);
  check_limit("max_length", options.max_length);
  check_limit("max_length_bytes", options.max_length_bytes);
  return errors.status();
}

absl::Status ValidateLease(absl::Duration longest_delay, const DelayQueueOptions& options,
                           const std::string& field) {
  if (!options.declare) {
    if (longest_delay <= kMaxQueueLifetime) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(field, " must be at most 3650 days, the longest TTL of RabbitMQ, but is ",
                     absl::FormatDuration(longest_delay)));
  }
  const bool quorum = options.queue_type == QueueType::kQuorum;
  const absl::Duration stamp = quorum ? absl::Seconds(1) : absl::ZeroDuration();
  if (QueueLifetime(longest_delay, options) + stamp <= kMaxQueueLifetime) return absl::OkStatus();
  const absl::Duration longest =
      quorum ? absl::Floor(kMaxQueueLifetime / 2 - options.outage, absl::Seconds(1))
             : kMaxQueueLifetime - LeaseWindow(longest_delay, options) - options.margin;
  return absl::InvalidArgumentError(
      absl::StrCat(field, " must be at most ", absl::FormatDuration(longest), ", so that ",
                   quorum ? "twice with outage" : "with window and margin",
                   " its queue lives no longer than RabbitMQ's 3650 days, but is ",
                   absl::FormatDuration(longest_delay)));
}

absl::Duration LeaseWindow(absl::Duration delay, const DelayQueueOptions& options) {
  return std::clamp<absl::Duration>(delay, options.min_window, options.max_window);
}

absl::Duration EpochLength(absl::Duration delay, const DelayQueueOptions& options) {
  return absl::Ceil(delay + options.outage, absl::Milliseconds(1));
}

absl::Duration QueueLifetime(absl::Duration delay, const DelayQueueOptions& options) {
  if (options.queue_type == QueueType::kQuorum) return 2 * EpochLength(delay, options);
  return absl::Ceil(delay + LeaseWindow(delay, options) + options.margin, absl::Milliseconds(1));
}

}  // namespace retryq
