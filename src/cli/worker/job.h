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
  // A program has ended with it and others: it is given to a program alone, to see which it was.
  bool alone = false;
  int crashes = 0;            // of programs that had it alone
  absl::Duration begun = {};  // since boot, where a command runs for it
};

// The message that has been with a program for longest.
struct OldestJob {
  const Delivery& delivery;
  absl::Duration running;
};

// Messages that no program has yet, in order. Those whose channel is gone come again from the
// broker, and are not begun: what waits here is bounded by prefetch.
class WaitingJobs {
 public:
  void Add(Job job) {
    if (!jobs_.empty() && jobs_.front().delivery.abandoned()) {
      std::erase_if(jobs_, [](const Job& each) { return each.delivery.abandoned(); });
    }
    jobs_.push_back(std::move(job));
  }

  // Those that a program had: before all others, or behind them.
  void Return(std::deque<Job> jobs, bool first) {
    if (first) jobs.swap(jobs_);
    for (Job& job : jobs) jobs_.push_back(std::move(job));
  }

  // The one that is next; null if there is none.
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
