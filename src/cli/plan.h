#ifndef RETRYQ_CLI_PLAN_H_
#define RETRYQ_CLI_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/plan_options.h"

namespace retryq::cli {

// What a message does that always fails.
struct Plan {
  struct Step {
    std::uint64_t attempt;   // failures so far, as RETRYQ_ATTEMPT of the call that follows
    absl::Duration delay;    // until that call
    absl::Duration elapsed;  // from the first failure to that call
  };
  std::vector<Step> steps;
  bool ends = true;                    // or goes on as the last step does, for ever
  std::vector<absl::Duration> delays;  // the distinct ones, ascending
};

// Valid options only. Where chance or an age has a say it is the longest way: each delay as long as
// it can be.
Plan MakePlan(const RetryOptions& retry);

// `retryq plan`: the plan as it was asked for, a line break at the end.
std::string PlanText(const PlanOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLAN_H_
