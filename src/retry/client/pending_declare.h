#ifndef RETRYQ_SRC_RETRY_CLIENT_PENDING_DECLARE_H_
#define RETRYQ_SRC_RETRY_CLIENT_PENDING_DECLARE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "loop/alive.h"
#include "loop/worker_pool.h"
#include "retry/retrier/shared_state.h"
#include "retryq/broker/broker.h"
#include "retryq/broker/clock.h"
#include "retryq/work_queue.h"

namespace retryq {

// A call of Client::Declare. Waits for the connection, declares, and tries again if the connection
// was lost meanwhile. If it is lost each time, the declaration is assumed to be the cause.
class PendingDeclare final : private BrokerListener {
 public:
  using Done = absl::AnyInvocable<void(absl::Status) &&>;

  // `done` is called once, and may destroy this object. The work queue must be valid.
  PendingDeclare(std::shared_ptr<SharedState> shared, WorkQueue work_queue,
                 const DeclareOptions& options, Done done);
  ~PendingDeclare() override;

  void Start();

  // Finishes with an error: the declare was not answered before `what`, e.g. the stop.
  void GiveUp(absl::StatusCode code, const char* what);

  // Identifies the consumer whose handler made the call, if any.
  const WorkOrigin& origin() const { return origin_; }

  // After this, `done` is not called.
  void StopCalling() { state_ = State::kDone; }

 private:
  void OnReady() override;
  void OnLost(const absl::Status& why) override;
  void OnBlocked(bool /*blocked*/, std::string_view /*reason*/) override {}

  void Declare();
  void OnAnswer(const absl::Status& answer);
  void Finish(absl::Status status);

  enum class State { kWaiting, kDeclaring, kDone };

  const std::shared_ptr<SharedState> shared_;
  const WorkOrigin origin_ = CurrentOrigin();
  const WorkQueue work_queue_;
  const bool only_if_missing_;
  State state_ = State::kWaiting;
  Done done_;
  std::unique_ptr<Timer> deadline_;
  std::uint32_t failures_ = 0;
  std::uint32_t losses_ = 0;  // failures with a lost connection
  std::unique_ptr<Timer> again_;
  std::string problem_;  // the last one
  SharedState::ListenerId listener_ = 0;
  Lifeline<PendingDeclare> lifeline_{this};
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_CLIENT_PENDING_DECLARE_H_
