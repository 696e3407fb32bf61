#ifndef RETRYQ_CLI_PLOT_AXIS_TICKS_H_
#define RETRYQ_CLI_PLOT_AXIS_TICKS_H_

#include <vector>

#include "absl/time/time.h"

namespace retryq::cli {

// Where an axis from zero to `end` has its marks: at round numbers (1, 2 or 5 times a power of
// ten), or at durations that people say, zero included; at most `most` of them, which is at least
// two. `end` is above zero.
std::vector<double> NumberTicks(double end, int most);
std::vector<absl::Duration> TimeTicks(absl::Duration end, int most);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLOT_AXIS_TICKS_H_
