#ifndef RETRYQ_CLI_MANAGEMENT_QUEUE_SETTINGS_H_
#define RETRYQ_CLI_MANAGEMENT_QUEUE_SETTINGS_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

namespace retryq::cli {

// The settings of a queue from its arguments and policies, in the data of the management API, of
// any form: GET /api/queues/VHOST/NAME.

// A setting of a queue.
struct QueueSetting {
  const nlohmann::json& value;  // part of the queue's JSON
  bool is_argument;             // otherwise of a policy or an operator policy
};

// Returns whether both are limits and `a` is stricter, that is, smaller; a negative limit is
// unlimited.
bool IsStricter(const nlohmann::json& a, const nlohmann::json& b);

// Returns a setting by its `key` in policies: "message-ttl" for the argument x-message-ttl. If both
// an argument and a policy set it, the stricter limit counts; for other settings the argument
// counts. nullopt if neither sets it.
std::optional<QueueSetting> QueueSettingOf(const nlohmann::json& queue, const char* key);

// A length limit of a queue.
struct LengthLimit {
  const char* key;  // "max-length" or "max-length-bytes"
  std::int64_t most;
  const char* reached_by;  // the field that it limits
};
std::vector<LengthLimit> LengthLimitsOf(const nlohmann::json& queue);

// Returns the setting that makes a full queue refuse messages ("reject-publish" and
// "reject-publish-dlx") instead of dropping the oldest; nullopt without one.
std::optional<QueueSetting> RefusalOf(const nlohmann::json& queue);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_QUEUE_SETTINGS_H_
