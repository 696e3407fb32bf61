#ifndef RETRYQ_CLI_WORKER_JOB_H_
#define RETRYQ_CLI_WORKER_JOB_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "retryq/delivery.h"
#include "retryq/outcome.h"
#include "retryq/settlement.h"

namespace retryq::cli {

// A message on its way through `retryq work`.
struct Job {
  Delivery delivery;
  Settlement settlement;
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

  std::optional<Job> Next() {
    while (!jobs_.empty()) {
      Job job = std::move(jobs_.front());
      jobs_.pop_front();
      if (!job.delivery.abandoned()) return job;
    }
    return std::nullopt;
  }

  bool empty() const { return jobs_.empty(); }

  std::deque<Job> TakeAll() { return std::exchange(jobs_, {}); }

  void Requeue() {
    for (Job& job : TakeAll()) std::move(job.settlement).Settle(Outcome::Requeue());
  }

 private:
  std::deque<Job> jobs_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_JOB_H_
