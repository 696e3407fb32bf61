#ifndef RETRYQ_TEST_FAULT_LANES_H_
#define RETRYQ_TEST_FAULT_LANES_H_

#include "fault/fault.h"
#include "fault/report.h"
#include "support/standard.h"

namespace retryq::fault {

// One fault with one type of delay queues.
struct Job {
  const Fault* fault;
  std::string queue_type;
};

struct LaneOptions {
  std::string directory;  // for all files that the runs keep
  std::string worker_program;
  std::vector<std::string> broker_arguments;  // of `broker start`
  std::string small_disk;                     // a directory
  absl::Status small_disk_status;             // why there is none
  bool stops = false;                         // of a worker, during each fault
  bool quick = false;
  absl::Duration most_late;  // of a retry of an unaffected work queue
};

// Runs all jobs, several at once if they do not disturb each other: jobs that need only a vhost
// share a broker, all others have their own.
void RunLanes(const std::vector<Job>& jobs, const LaneOptions& options, Report& report);

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_LANES_H_
