#ifndef RETRYQ_BROKER_DELAY_GRID_H_
#define RETRYQ_BROKER_DELAY_GRID_H_

#include <cstddef>
#include <vector>

#include "absl/time/time.h"
#include "retryq/export.h"

namespace retryq {

// The TTLs of the delay queues for arbitrary delays: every delay is a sum of these TTLs. A message
// first waits in the queue of the longest step that is not longer than its delay, then in that of
// the longest step that is not longer than the rest, and so on; a consumer itself waits for a rest
// that is shorter than kShortestHop. So each message arrives after a few hops, exact to the
// millisecond, and there are never more queues than steps.
//
// The grid has half of `max_delay_queues` steps, 16 to 64; the other half is for the exact delays
// of policies. Without exact delays (`exact_queues`), the grid has up to `max_delay_queues` steps.
// The grid depends on that number alone: clients with the same number share all queues, and because
// each smaller grid is part of each larger one, clients with different numbers share the common
// ones. Immutable, and therefore thread-safe.
//
// Mean and worst number of hops for a random delay below the one in the heading, calculated over
// every millisecond, for steps of one ratio, for the digits of one base (1 to b - 1 times 20 ms ·
// b^k), and for round numbers, which are used here:
//
//   steps                   10 s        1 min       10 min      1 h         1 day       30 days
//   32, one ratio (1.86)    4.0   7     5.0   9     6.4  11     7.5  13      9.5  17    11.7  21
//   36, digits, base 3      3.8   6     4.7   7     6.2  10     7.3  11      9.2  14    11.3  17
//   32, round numbers       4.3   9     5.5  11     7.0  14     8.1  16     10.3  20    12.6  24
//   64, one ratio (1.35)    2.9   5     3.6   6     4.6   7     5.4   9      6.8  11     8.3  13
//   64, digits, base 8      2.6   3     3.5   4     4.4   5     5.2   6      6.6   8     7.9   9
//   64, round numbers       2.9   4     3.6   6     4.7   8     5.6   9      7.1  12     8.8  15
//   16, one ratio (3.80)    6.0  11     8.1  15    10.1  19    12.0  23     15.1  28    18.9  35
//   16, round numbers       6.8  14     8.8  18    11.3  23    13.3  27     16.3  33    20.0  40
//
// No kind of grid is far better than the others: a delay of up to 30 days in steps of 20 ms is one
// of 1.3·10^8, which takes at least 8 or 9 choices out of 32. So the steps are the round numbers
// that people use (1 s, 2 s, 5 s, 30 s, 1 min, 15 min, 1 h, 1 day, 7 days, …), which take a single
// hop, and `send --delay` rounds up to readable numbers.
class RETRYQ_EXPORT DelayGrid {
 public:
  // The longest step.
  static constexpr absl::Duration kLongest = absl::Hours(24 * 30);

  // If the rest is shorter, the consumer itself keeps the message until it is due: another publish
  // would take about as long.
  static constexpr absl::Duration kShortestHop = absl::Milliseconds(20);

  // `exact_queues`: see DelayQueueOptions.
  explicit DelayGrid(std::size_t max_delay_queues, bool exact_queues = true);

  // In ascending order, in whole milliseconds.
  const std::vector<absl::Duration>& steps() const { return steps_; }

  // The shortest step that is not shorter than `delay`, for consumers that do not forward messages:
  // with the default of 32 steps up to 2.5 times as long as `delay`. Infinite above kLongest.
  absl::Duration RoundUp(absl::Duration delay) const;

 private:
  std::vector<absl::Duration> steps_;
};

}  // namespace retryq

#endif  // RETRYQ_BROKER_DELAY_GRID_H_
