#ifndef RETRYQ_CLI_MANAGEMENT_MANAGEMENT_ANSWER_H_
#define RETRYQ_CLI_MANAGEMENT_MANAGEMENT_ANSWER_H_

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/time/time.h"
#include "cli/management/management_api.h"

namespace retryq::cli {

struct ManagementApi::Answer {
  int http_status = 0;
  nlohmann::json json;
  std::optional<ClockDifference> clock;
  // The time of the data: the broker's clock, if known, rounded down to seconds.
  absl::Time at;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_MANAGEMENT_ANSWER_H_
