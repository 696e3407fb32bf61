#ifndef RETRYQ_CLI_PLAN_SCHEDULE_SVG_H_
#define RETRYQ_CLI_PLAN_SCHEDULE_SVG_H_

#include <string>

#include "cli/plan/plan.h"

namespace retryq::cli {

// A plan as an SVG image: a bar for each delay on an axis of time, with the random part in a
// lighter colour.
std::string ScheduleSvg(const Plan& plan);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLAN_SCHEDULE_SVG_H_
