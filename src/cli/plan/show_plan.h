#ifndef RETRYQ_CLI_PLAN_SHOW_PLAN_H_
#define RETRYQ_CLI_PLAN_SHOW_PLAN_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/plan/plan_options.h"

namespace retryq::cli {

// `retryq plan`: simulates and draws what was asked for. Returns what there is to print. Says how
// far it has come where that takes long and stderr is a terminal.
absl::StatusOr<std::string> ShowPlan(const PlanOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLAN_SHOW_PLAN_H_
