#ifndef RETRYQ_CLI_WORKER_JOB_H_
#define RETRYQ_CLI_WORKER_JOB_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "retryq/delivery.h"
#include "retryq/outcome.h"
#include "retryq/settlement.h"

namespace retryq::cli {

// A message on its way through `retryq work`.
struct Job {
  Delivery delivery;
  Settlement settlement;
  // A program has ended while it had this message and others. This message is now given to a
  // program alone, to find the one that is the cause.
  bool alone = false;
  int crashes = 0;            // of programs that had only this message
  absl::Duration begun = {};  // since boot, if a command runs for it
};

// The message that has been with a program for longest.
struct OldestJob {
  const Delivery& delivery;
  absl::Duration running;
};

// Messages that wait for a program, in order. If the channel of a message is gone, the broker
// redelivers it, so the old delivery is not begun. Prefetch limits the number of waiting messages.
class WaitingJobs {
 public:
  void Add(Job job) {
    if (!jobs_.empty() && jobs_.front().delivery.abandoned()) {
      std::erase_if(jobs_, [](const Job& each) { return each.delivery.abandoned(); });
    }
    jobs_.push_back(std::move(job));
  }

  // Puts back messages that a program had, at the front (`first`) or at the end.
  void Return(std::deque<Job> jobs, bool first) {
    if (first) jobs.swap(jobs_);
    for (Job& job : jobs) jobs_.push_back(std::move(job));
  }

  // The next message; null if there is none.
  const Job* Front() {
    while (!jobs_.empty() && jobs_.front().delivery.abandoned()) jobs_.pop_front();
    return jobs_.empty() ? nullptr : &jobs_.front();
  }

  std::optional<Job> Next() {
    if (Front() == nullptr) return std::nullopt;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
  }

  std::deque<Job> TakeAll() { return std::exchange(jobs_, {}); }

  void Requeue() {
    for (Job& job : TakeAll()) std::move(job.settlement).Settle(Outcome::Requeue());
  }

 private:
  std::deque<Job> jobs_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_JOB_H_
