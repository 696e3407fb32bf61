#ifndef RETRYQ_CLI_FLAGS_DELAY_QUEUE_FLAGS_H_
#define RETRYQ_CLI_FLAGS_DELAY_QUEUE_FLAGS_H_

#include "absl/time/time.h"
#include "cli/flags/flag_parser.h"
#include "cli/flags/flag_reader.h"
#include "retryq/delay_queue_options.h"

namespace retryq::cli {

// The flags for the settings of delay queues.
struct DelayQueueFlags {
  FlagText prefix, queue_type, outage, margin;
  FlagText max_length, max_length_bytes;
  FlagText max_delay_queues;
  bool no_declare = false;
  bool no_exact_queues = false;
  bool share = false;
};

void AddFlags(FlagParser& parser, DelayQueueFlags& flags);

// Reads the values and reports errors. `heartbeat` is that of the connection, which the margin must
// cover.
void ReadFlags(const DelayQueueFlags& flags, absl::Duration heartbeat, FlagReader& reader,
               DelayQueueOptions* options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_FLAGS_DELAY_QUEUE_FLAGS_H_
