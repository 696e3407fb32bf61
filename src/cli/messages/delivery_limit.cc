#include "cli/messages/delivery_limit.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/management/http_client.h"
#include "cli/management/json_fields.h"
#include "cli/management/management_answer.h"
#include "retryq/event_loop.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kLowest = 2;  // that can be kept to
constexpr std::int64_t kNoLimit = -1;
constexpr absl::Duration kLongestLookAtLimit = absl::Seconds(4);

// Of an argument and a policy the smaller one counts, and a limit more than none.
std::int64_t Stricter(std::int64_t a, std::int64_t b) {
  return a < 0 || b < 0 ? std::max(a, b) : std::min(a, b);
}

}  // namespace

std::optional<std::int64_t> DeliveryLimitOf(const Json& queue, std::int64_t otherwise) {
  // From 4.0 on, once there are statistics.
  if (const auto limit = IntegerOf(queue, "delivery_limit")) return limit;
  const Json& policy = FieldOf(queue, "effective_policy_definition");
  if (policy.is_null()) return std::nullopt;
  const auto by_argument = IntegerOf(FieldOf(queue, "arguments"), "x-delivery-limit");
  const auto by_policy = IntegerOf(policy, "delivery-limit");
  if (by_argument && by_policy) return Stricter(*by_argument, *by_policy);
  if (by_argument) return by_argument;
  return by_policy.value_or(otherwise);
}

absl::StatusOr<std::optional<std::int64_t>> MoveAt(const Json& queue, const std::string& name) {
  const std::optional<std::string> type = TextOf(queue, "type");
  if (type == "stream") {
    return absl::FailedPreconditionError(absl::StrCat(
        "queue '", name,
        "' is a stream, which nothing can be taken off; name a classic or a quorum queue"));
  }
  if (type && *type != "quorum") return std::nullopt;
  const std::int64_t limit = DeliveryLimitOf(queue, kDefaultDeliveryLimit).value_or(kLowest);
  if (limit <= kNoLimit) return std::nullopt;
  if (limit < kLowest) {
    return absl::FailedPreconditionError(
        absl::StrCat("queue '", name, "' has a delivery limit of ", limit,
                     ", so that it may drop what is only looked at; remedy: a limit of ", kLowest,
                     " or more, or of -1, which is none, by a policy with delivery-limit"));
  }
  return limit / 2;
}

absl::StatusOr<std::optional<std::int64_t>> FindMoveAt(const ManagementUrl& management,
                                                       const std::string& vhost,
                                                       const std::string& queue) {
  EventLoop loop;
  ManagementApi api(loop, management, {.timeout = kLongestLookAtLimit});
  const auto answer =
      api.Get(absl::StrCat("/queues/", PercentEncode(vhost), "/", PercentEncode(queue)));
  return MoveAt(answer.ok() ? answer->json : Json(), queue);
}

}  // namespace retryq::cli
