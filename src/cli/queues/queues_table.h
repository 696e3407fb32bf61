#ifndef RETRYQ_CLI_QUEUES_QUEUES_TABLE_H_
#define RETRYQ_CLI_QUEUES_QUEUES_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/queues/delay_queue_status.h"

namespace retryq::cli {

// Sums over delay queues. Unknown rates count as zero.
struct DelayQueueTotals {
  std::size_t queues = 0;
  std::int64_t waiting = 0;
  std::int64_t overdue = 0;
  double in_per_second = 0;
  double out_per_second = 0;
};
DelayQueueTotals TotalsOf(const DelayQueueList& list);

// Delay queues as text: a heading, a line for each queue, and the totals, all of the same width.
struct QueuesTable {
  std::string heading;
  std::vector<std::string> rows;  // in the order of the list
  std::string totals;
};
QueuesTable MakeTable(const DelayQueueList& list);

// The table as text, followed by the oddities of the queues; without queues, an explanation why
// that is fine.
std::string TableText(const DelayQueueList& list, const std::string& prefix,
                      const std::string& vhost);

// One JSON object, in one line: {"time","queues":[…],"totals":{…}}.
std::string JsonText(const DelayQueueList& list);

// One line for each queue and one for the totals, each with the time, for `--watch` in a pipe.
std::string LinesText(const DelayQueueList& list);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_QUEUES_QUEUES_TABLE_H_
