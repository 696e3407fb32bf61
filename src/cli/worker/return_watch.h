#ifndef RETRYQ_CLI_WORKER_RETURN_WATCH_H_
#define RETRYQ_CLI_WORKER_RETURN_WATCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/management/management_api.h"
#include "cli/management/management_url.h"
#include "cli/worker/management_thread.h"
#include "retryq/event_loop.h"
#include "retryq/observer.h"
#include "retryq/timers.h"

namespace retryq::cli {

// What keeps copies whose delay is over from returning to their work queue.
struct ReturnTrouble {
  enum class Kind { kGone, kFull, kUndelivered };
  Kind kind;
  std::string why;  // a sentence, with the remedy
  // Copies that are due and that the broker keeps because it cannot deliver them: those in quorum
  // delay queues. Classic ones drop them.
  std::int64_t undelivered = 0;
};

// "gone", "full", "undelivered"
std::string_view NameOf(ReturnTrouble::Kind kind);

// What the management API reports about a work queue and the delay queues that lead to it.
struct ReturnState {
  bool exists = true;               // the work queue
  std::optional<std::string> full;  // why it takes no message now
  std::int64_t undelivered = 0;     // in the delay queues
};

// Why the queue that the management API describes refuses what is published to it, as its length
// limit is reached and its overflow is reject-publish; nothing where it takes messages. Figures are
// up to five seconds old.
std::optional<std::string> WhyFull(const nlohmann::json& queue);

// What is wrong with it. That copies are due and not delivered yet is so for a moment with every
// copy: it is a trouble only if it was so at the look before, too.
std::optional<ReturnTrouble> TroubleIn(const ReturnState& now, const ReturnState& before,
                                       const std::string& queue);

// Watches whether the copies that a worker has sent can return to its queue. AMQP does not show
// that: RabbitMQ drops a copy that it cannot dead-letter, or keeps it in the quorum delay queue
// without counting it as a message (F37, F38). So the management API is asked, on a thread of its
// own, as soon as a copy of this worker's has come due, and at most twice a minute.
//
// Used on the loop's thread; destroy it before the loop.
class ReturnWatch final : public Observer {
 public:
  // More delay queues than a worker has in use are not watched.
  static constexpr std::size_t kMostDelayQueues = 64;

  struct Options {
    ManagementUrl management;
    std::string vhost;
    std::string queue;
    absl::Duration every = absl::Seconds(25);
  };
  struct Callbacks {
    // At each look that finds one; nothing at the first one that does not any more.
    std::function<void(const std::optional<ReturnTrouble>&)> trouble;
    // Why nothing can be known: once, until it could be again.
    std::function<void(const std::string& why)> cannot_look;
  };

  ReturnWatch(EventLoop& loop, Options options, Callbacks callbacks);
  ReturnWatch(const ReturnWatch&) = delete;
  ReturnWatch& operator=(const ReturnWatch&) = delete;

  void OnEvent(const Event& event) override;

  // What it asks by, for other questions.
  ManagementThread& asking() { return asking_; }

 private:
  // When the copies of one delay queue come due.
  struct Due {
    absl::Time first;
    absl::Time last;
  };

  void LookLater();
  void LookIfDue();
  absl::StatusOr<ReturnState> Look(ManagementApi& api,
                                   const std::vector<std::string>& delay_queues) const;
  void OnLooked(const absl::StatusOr<ReturnState>& state, absl::Time asked);

  EventLoop& loop_;
  const Options options_;
  const Callbacks callbacks_;
  std::map<std::string, Due, std::less<>> due_;  // by delay queue
  ReturnState before_;
  bool in_trouble_ = false;
  bool can_look_ = true;
  std::unique_ptr<Timer> timer_;
  ManagementThread asking_;  // goes first
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_RETURN_WATCH_H_
