#include "cli/management/queue_settings.h"

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/management/json_fields.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

}  // namespace

bool IsStricter(const Json& a, const Json& b) {
  return a.is_number() && b.is_number() && a >= 0 && (b < 0 || a < b);
}

std::optional<QueueSetting> QueueSettingOf(const Json& queue, const char* key) {
  const std::string name = absl::StrCat("x-", key);
  const Json& argument = FieldOf(FieldOf(queue, "arguments"), name.c_str());
  const Json& of_policy = FieldOf(FieldOf(queue, "effective_policy_definition"), key);
  if (argument.is_null() && of_policy.is_null()) return std::nullopt;
  if (argument.is_null() || IsStricter(of_policy, argument)) {
    return QueueSetting{.value = of_policy, .is_argument = false};
  }
  return QueueSetting{.value = argument, .is_argument = true};
}

std::vector<LengthLimit> LengthLimitsOf(const Json& queue) {
  std::vector<LengthLimit> limits;
  for (LengthLimit limit : {LengthLimit{"max-length", 0, "messages_ready"},
                            LengthLimit{"max-length-bytes", 0, "message_bytes_ready"}}) {
    const std::optional<QueueSetting> setting = QueueSettingOf(queue, limit.key);
    if (!setting || !setting->value.is_number_integer()) continue;
    limit.most = setting->value.get<std::int64_t>();
    limits.push_back(limit);
  }
  return limits;
}

std::optional<QueueSetting> RefusalOf(const Json& queue) {
  const std::optional<QueueSetting> overflow = QueueSettingOf(queue, "overflow");
  if (!overflow || !overflow->value.is_string() ||
      !absl::StartsWith(overflow->value.get_ref<const std::string&>(), "reject-publish")) {
    return std::nullopt;
  }
  return overflow;
}

}  // namespace retryq::cli
