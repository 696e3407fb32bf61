#ifndef RETRYQ_SRC_RETRY_RETRIER_TARGET_CHECKS_H_
#define RETRYQ_SRC_RETRY_RETRIER_TARGET_CHECKS_H_

#include <compare>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "loop/alive.h"
#include "retryq/broker/broker.h"
#include "retryq/broker/clock.h"

namespace retryq {

// The target of a delayed message: an exchange or, if that is empty, a queue.
struct Target {
  std::string exchange;
  std::string queue;  // empty if there is an exchange

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees the 0 that <=> is compared with
  auto operator<=>(const Target&) const = default;
};

// Checks whether the targets of delayed messages exist. Each check uses its own channel, so calls
// during a check share its answer, and the answer that a target exists is used for kTrusted. The
// target may still be deleted during the delay.
class TargetChecks {
 public:
  static constexpr absl::Duration kTrusted = absl::Seconds(5);
  using Answer = std::function<void(const absl::Status&)>;

  // `broker` and `clock` must outlive this object.
  TargetChecks(Broker& broker, const Clock& clock) : broker_(broker), clock_(clock) {}

  // `done` receives ok, kUnavailable if the connection is lost meanwhile, or the reason why the
  // target does not exist. It is called inside this call if the target was checked recently.
  void Look(const Target& target, Answer answer);

  // Number of targets that are remembered or being checked.
  std::size_t size() const { return known_.size(); }

  // Call it when the connection is lost: all targets are checked again.
  void Forget();

 private:
  // Beyond this number, the oldest targets are checked again.
  static constexpr std::size_t kMostTrusted = 1000;

  struct Known {
    absl::Duration until = -absl::InfiniteDuration();  // by Clock::SinceBoot
    std::vector<Answer> waiting;                       // for the check under way
  };

  void OnAnswer(const Target& target, const absl::Status& there);
  void DropOld(absl::Duration now);

  Broker& broker_;
  const Clock& clock_;
  std::map<Target, Known> known_;
  std::deque<std::pair<Target, absl::Duration>> trusted_;  // and until when; oldest first
  Lifeline<TargetChecks> lifeline_{this};
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_RETRIER_TARGET_CHECKS_H_
