#ifndef RETRYQ_EXAMPLES_HEAD_OF_LINE_LATENESS_H_
#define RETRYQ_EXAMPLES_HEAD_OF_LINE_LATENESS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace head_of_line {

// When a message was sent on its way, counted from the beginning, and how long after its delay it
// was back.
struct Arrival {
  absl::Duration sent;
  absl::Duration late;
};

// All arrivals by one way.
struct Series {
  std::string name;
  std::string color;
  std::vector<Arrival> arrivals;
};

// The lateness that this part of them does not exceed, 0 to 1; zero for none.
absl::Duration Quantile(const Series& series, double part);

// Both series as an SVG image: a dot for each message.
std::string Svg(const std::vector<Series>& all);

}  // namespace head_of_line

#endif  // RETRYQ_EXAMPLES_HEAD_OF_LINE_LATENESS_H_
