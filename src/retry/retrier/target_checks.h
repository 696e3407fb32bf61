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
#include "retryq/broker.h"
#include "retryq/clock.h"

namespace retryq {

// Where a delayed message is published to: an exchange or, where that is empty, a queue.
struct Target {
  std::string exchange;
  std::string queue;  // empty where there is an exchange

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees the 0 that <=> is compared with
  auto operator<=>(const Target&) const = default;
};

// Whether the targets of delayed messages are there. Each look takes a channel of its own, so
// who asks while one is on its way shares its answer, and what was there stays so for kTrusted:
// it may still go during the delay.
class TargetChecks {
 public:
  static constexpr absl::Duration kTrusted = absl::Seconds(5);
  using Answer = std::function<void(const absl::Status&)>;

  // Both must outlive it.
  TargetChecks(Broker& broker, const Clock& clock) : broker_(broker), clock_(clock) {}

  // Answers with ok, kUnavailable if the connection went meanwhile, or why it is not there; inside
  // this call where it is known already.
  void Look(const Target& target, Answer answer);

  // How many are kept.
  std::size_t size() const { return known_.size(); }

  // The connection is lost: whatever was there is looked for again.
  void Forget();

 private:
  // Of more than that, the oldest are looked for again.
  static constexpr std::size_t kMostTrusted = 1000;

  struct Known {
    absl::Duration until = -absl::InfiniteDuration();  // by Clock::SinceBoot
    std::vector<Answer> waiting;                       // for the look on its way
  };

  void OnAnswer(const Target& target, const absl::Status& there);
  void DropOld(absl::Duration now);

  Broker& broker_;
  const Clock& clock_;
  std::map<Target, Known> known_;
  std::deque<std::pair<Target, absl::Duration>> trusted_;  // and until when; the oldest first
  Lifeline<TargetChecks> lifeline_{this};
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_RETRIER_TARGET_CHECKS_H_
