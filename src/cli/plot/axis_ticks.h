#ifndef RETRYQ_CLI_PLOT_AXIS_TICKS_H_
#define RETRYQ_CLI_PLOT_AXIS_TICKS_H_

#include <vector>

#include "absl/time/time.h"

namespace retryq::cli {

// The marks of an axis from zero to `end`, which is above zero: round numbers (1, 2 or 5 times a
// power of ten) or usual durations, including zero. At most `most` marks, which must be at least
// two.
std::vector<double> NumberTicks(double end, int most);
std::vector<absl::Duration> TimeTicks(absl::Duration end, int most);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLOT_AXIS_TICKS_H_
