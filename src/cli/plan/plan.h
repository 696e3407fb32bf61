#ifndef RETRYQ_CLI_PLAN_PLAN_H_
#define RETRYQ_CLI_PLAN_PLAN_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/plan/plan_command.h"

namespace retryq::cli {

// The schedule of a message that always fails.
struct Plan {
  struct Step {
    std::uint64_t attempt;          // failures so far: RETRYQ_ATTEMPT of the next call
    absl::Duration delay;           // until that call, at most
    absl::Duration elapsed;         // from the first failure to that call
    absl::Duration shortest_delay;  // the least; `delay` without a random part
  };
  std::vector<Step> steps;
  bool ends = true;                    // otherwise repeats the last step forever
  std::vector<absl::Duration> delays;  // distinct longest delays, ascending
};

// `retry` must be valid. With a random part or a maximum age, the plan contains the longest delays.
Plan MakePlan(const RetryOptions& retry);

// The length or range of a delay: "1s", "500ms..1s".
std::string DelayText(const Plan::Step& step);

// Returns whether delays have a random part.
bool HasJitter(const BackoffOptions& backoff);

// The plan in the requested format, which ends with a line break.
std::string PlanText(const PlanOptions& options);

// The JSON of PlanText.
nlohmann::ordered_json PlanJson(const PlanOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLAN_PLAN_H_
