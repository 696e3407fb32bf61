#ifndef RETRYQ_CLI_QUEUES_QUEUES_TABLE_H_
#define RETRYQ_CLI_QUEUES_QUEUES_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/queues/delay_queue_status.h"

namespace retryq::cli {

// Sums over delay queues. Rates that are not known count as nothing.
struct DelayQueueTotals {
  std::size_t queues = 0;
  std::int64_t waiting = 0;
  std::int64_t overdue = 0;
  double in_per_second = 0;
  double out_per_second = 0;
};
DelayQueueTotals TotalsOf(const DelayQueueList& list);

// Delay queues in words: a heading, a line for each queue, and the totals, each of the same width.
struct QueuesTable {
  std::string heading;
  std::vector<std::string> rows;  // in the list's order
  std::string totals;
};
QueuesTable MakeTable(const DelayQueueList& list);

// All of that as text, with what is odd about any queue below; or, where there are none, why that
// is fine.
std::string TableText(const DelayQueueList& list, const std::string& prefix,
                      const std::string& vhost);

// One JSON object, in one line: {"time","queues":[…],"totals":{…}}.
std::string JsonText(const DelayQueueList& list);

// A line for each queue and one for the totals, each with the time: `--watch` in a pipe.
std::string LinesText(const DelayQueueList& list);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_QUEUES_QUEUES_TABLE_H_
