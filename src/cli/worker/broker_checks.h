#ifndef RETRYQ_CLI_WORKER_BROKER_CHECKS_H_
#define RETRYQ_CLI_WORKER_BROKER_CHECKS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/management/http_client.h"
#include "cli/management/management_api.h"
#include "cli/worker/work_command.h"
#include "retryq/amqp/channel.h"
#include "retryq/amqp/connection.h"
#include "retryq/broker/broker.h"
#include "retryq/broker/timers.h"
#include "retryq/event_loop.h"
#include "retryq/observer.h"

namespace retryq::cli {

// Checks at the start whether a worker has the permissions that its first failed message needs: to
// declare a delay queue, and to publish to it and to the default exchange, as parking does. Uses a
// temporary queue and its own connection. The client itself checks the parked queue.
class RightsCheck final : private amqp::ConnectionListener, private amqp::ChannelListener {
 public:
  // `loop` and `worker` must outlive it. `done` is called once, after three seconds at the latest,
  // and may destroy this object: with kPermissionDenied and the command that grants the permission,
  // or with ok if nothing is refused or the check cannot be completed.
  RightsCheck(EventLoop& loop, const WorkOptions& worker, std::function<void(absl::Status)> done);

 private:
  void OnOpen() override;
  void OnLost(const absl::Status& why) override;
  void OnBlocked(bool blocked, std::string_view reason) override;
  void OnChannelClosed(const amqp::ChannelError& why) override;

  void TryToDeclare();
  void CleanUp();
  void Finish();

  const WorkOptions& worker_;
  const DeclareParams probe_;
  std::function<void(absl::Status)> done_;
  absl::Status refusal_;
  bool is_cleaning_up_ = false;
  std::unique_ptr<Timer> deadline_;
  amqp::Connection connection_;
  std::unique_ptr<amqp::Channel> channel_;
};

// Why copies whose delay is over cannot return to their work queue.
struct ReturnTrouble {
  enum class Kind { kGone, kFull, kRedirected, kUndelivered };
  Kind kind;
  std::string why;  // a sentence, with the remedy
  // The number of due copies that the broker keeps because it cannot deliver them. Only quorum
  // delay queues keep them; classic ones drop them.
  std::int64_t undelivered = 0;
};

// "gone", "full", "redirected", "undelivered"
std::string_view NameOf(ReturnTrouble::Kind kind);

// A work queue and the delay queues whose messages return to it, as the management API shows them.
struct ReturnState {
  bool exists = true;               // the work queue
  std::optional<std::string> full;  // why it refuses messages now
  std::string redirected;           // why copies from a delay queue do not reach it
  std::int64_t undelivered = 0;     // in the delay queues
};

// Each copy is undelivered for a moment, so undelivered copies are a problem only if the previous
// check also found some.
std::optional<ReturnTrouble> TroubleIn(const ReturnState& now, const ReturnState& before,
                                       const std::string& queue);

// Watches whether the copies that a worker has published can return to its queue, which AMQP does
// not show (F37, F38): asks the management API once a copy of this worker is due, and at most twice
// a minute. Destroy it before the loop.
class ReturnWatch final : public Observer {
 public:
  // The most delay queues that are watched. A worker does not use more.
  static constexpr std::size_t kMostDelayQueues = 64;

  struct Options {
    ManagementUrl management;
    std::string vhost;
    std::string queue;
    absl::Duration every = absl::Seconds(25);
  };
  struct Callbacks {
    // Receives each problem that is found, and nullopt once there is none any more.
    std::function<void(const std::optional<ReturnTrouble>&)> trouble;
    // Receives the reason why a check failed: once, until a check succeeds again.
    std::function<void(const std::string& why)> cannot_look;
  };

  ReturnWatch(EventLoop& loop, Options options, Callbacks callbacks);
  ReturnWatch(const ReturnWatch&) = delete;
  ReturnWatch& operator=(const ReturnWatch&) = delete;

  void OnEvent(const Event& event) override;

  // For further requests; none of them makes the loop wait.
  ManagementApi& api() { return api_; }

 private:
  // The times at which the copies of one delay queue come due.
  struct Due {
    absl::Time first;
    absl::Time last;
  };

  void LookLater();
  void LookIfDue();
  absl::StatusOr<ReturnState> Look(const ManagementApi::Fetch& get,
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
  ManagementApi api_;  // destroyed first
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_BROKER_CHECKS_H_
