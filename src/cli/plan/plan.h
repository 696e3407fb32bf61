#ifndef RETRYQ_CLI_PLAN_PLAN_H_
#define RETRYQ_CLI_PLAN_PLAN_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/plan/plan_command.h"

namespace retryq::cli {

// What a message does that always fails.
struct Plan {
  struct Step {
    std::uint64_t attempt;          // failures so far, as RETRYQ_ATTEMPT of the call that follows
    absl::Duration delay;           // until that call, at the longest
    absl::Duration elapsed;         // from the first failure to that call
    absl::Duration shortest_delay;  // the least that chance leaves: `delay` where it has no say
  };
  std::vector<Step> steps;
  bool ends = true;                    // or goes on as the last step does, for ever
  std::vector<absl::Duration> delays;  // the distinct ones, ascending, each the longest
};

// Valid options only. Where chance or an age has a say it is the longest way: each delay as long as
// it can be.
Plan MakePlan(const RetryOptions& retry);

// How long a delay is, or what chance makes of it: "1s", "500ms..1s".
std::string DelayText(const Plan::Step& step);

// Whether chance has a say in how long the delays are.
bool HasJitter(const BackoffOptions& backoff);

// The plan in the format that was asked for, a line break at the end.
std::string PlanText(const PlanOptions& options);

// What PlanText says in JSON.
nlohmann::ordered_json PlanJson(const PlanOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLAN_PLAN_H_
