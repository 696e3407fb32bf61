#ifndef RETRYQ_TEST_FAULT_WORKER_LOG_H_
#define RETRYQ_TEST_FAULT_WORKER_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "fault/message_name.h"

namespace retryq::fault {

// The actions of a worker, one line each, in a file that outlives it: kind, message, milliseconds
// since the epoch, failures so far.
enum class WorkerAct : char {
  kHandled = 'h',  // written before the handler returns ok
  kRetried = 'r',
  kParked = 'p',
  kCalled = 'c',  // written as the handler begins, of unaffected messages
};

struct WorkerEntry {
  WorkerAct act = WorkerAct::kHandled;
  MessageName name;
  absl::Time at;
  std::uint64_t failures = 0;  // of a call or a retry
};

// Appends lines, each by a single write. Ends the process if that fails: a message that was handled
// but not logged would count as lost.
class WorkerLog {
 public:
  explicit WorkerLog(const std::string& path);
  ~WorkerLog();
  WorkerLog(const WorkerLog&) = delete;
  WorkerLog& operator=(const WorkerLog&) = delete;

  void Append(WorkerAct act, const MessageName& name, std::uint64_t failures = 0);

 private:
  const int file_;
};

// Returns all complete lines of the file from `*offset` on, and moves `*offset` behind them. A file
// that does not exist counts as empty.
std::vector<WorkerEntry> ReadWorkerLog(const std::string& path, std::size_t* offset);

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_WORKER_LOG_H_
