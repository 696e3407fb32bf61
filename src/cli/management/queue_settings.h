#ifndef RETRYQ_CLI_MANAGEMENT_QUEUE_SETTINGS_H_
#define RETRYQ_CLI_MANAGEMENT_QUEUE_SETTINGS_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

namespace retryq::cli {

// What arguments and policies make of a queue that the management API describes, whatever it says
// of it: GET /api/queues/VHOST/NAME.

// What sets something for a queue.
struct QueueSetting {
  const nlohmann::json& value;  // lives in the queue's JSON
  bool is_argument;             // else of a policy, or an operator policy
};

// Whether both are limits, and `a` is the stricter one: the smaller, and below zero there is none.
bool IsStricter(const nlohmann::json& a, const nlohmann::json& b);

// `key` as policies name it: "message-ttl", for the argument x-message-ttl. Of a limit that both an
// argument and a policy set, the stricter one counts; of anything else, the argument. Nothing where
// neither does.
std::optional<QueueSetting> QueueSettingOf(const nlohmann::json& queue, const char* key);

// A limit of its length.
struct LengthLimit {
  const char* key;  // "max-length" or "max-length-bytes"
  std::int64_t most;
  const char* reached_by;  // the field with the figure that it limits
};
std::vector<LengthLimit> LengthLimitsOf(const nlohmann::json& queue);

// What a full queue does with a message: whether it refuses it ("reject-publish" and
// "reject-publish-dlx"), rather than drop the oldest one. What sets that; nothing where it does
// not.
std::optional<QueueSetting> RefusalOf(const nlohmann::json& queue);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_QUEUE_SETTINGS_H_
