#ifndef RETRYQ_DELAY_GRID_H_
#define RETRYQ_DELAY_GRID_H_

#include <cstddef>
#include <vector>

#include "absl/time/time.h"
#include "retryq/export.h"

namespace retryq {

// The TTLs that delay queues of arbitrary delays have: the coins that every delay is paid in. A
// delay goes first through the longest step that fits into it, then through the longest that fits
// into what is left, and so on; what is shorter than kShortestHop a consumer waits for itself. So
// each arrives to the millisecond in a few hops, and no more queues than steps are ever there.
//
// Half of `max_delay_queues`, from 16 to 64 steps, make the grid; the other half is for the exact
// delays of policies. Without those (`exact_queues`) all of the number is for the grid. It depends
// on that number alone, so all clients with the same one share their
// queues, and each smaller grid is part of each larger one, so that others share what they can.
// Never changes once it is made: thread-safe.
//
// Hops for a random delay below the one named, mean and worst, by calculation over every
// millisecond, between steps of one ratio, of the digits of one base (1 to b - 1 times 20 ms · b^k)
// and of round numbers, which is what is here:
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
// No shape gets far below the others: a delay of up to 30 days in steps of 20 ms is one
// of 1.3·10^8, which takes at least 8 or 9 choices out of 32. So the steps are the numbers that
// people say (1 s, 2 s, 5 s, 30 s, 1 min, 15 min, 1 h, 1 day, 7 days, …), which take a single hop,
// and `send --delay` rounds up to numbers that mean something.
class RETRYQ_EXPORT DelayGrid {
 public:
  // The longest step.
  static constexpr absl::Duration kLongest = absl::Hours(24 * 30);

  // What is shorter is waited for where the message is: publishing it once more would take about as
  // long.
  static constexpr absl::Duration kShortestHop = absl::Milliseconds(20);

  // `exact_queues`: see DelayQueueOptions.
  explicit DelayGrid(std::size_t max_delay_queues, bool exact_queues = true);

  // From the shortest to the longest, in whole milliseconds.
  const std::vector<absl::Duration>& steps() const { return steps_; }

  // The shortest step that is not shorter than `delay`, for consumers that know nothing of hops:
  // with the default of 32 steps up to 2.5 times as long. Infinity above kLongest.
  absl::Duration RoundUp(absl::Duration delay) const;

 private:
  std::vector<absl::Duration> steps_;
};

}  // namespace retryq

#endif  // RETRYQ_DELAY_GRID_H_
