#ifndef RETRYQ_SRC_RETRY_CLIENT_PENDING_CALL_H_
#define RETRYQ_SRC_RETRY_CLIENT_PENDING_CALL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "loop/worker_pool.h"
#include "retry/retrier/shared_state.h"
#include "retryq/broker/broker.h"
#include "retryq/broker/timers.h"

namespace retryq {

// A publish or a declare of a client, until the broker has answered it or its deadline is over.
// Waits for the connection, and tries again if the broker could not answer.
class PendingCall : private BrokerListener {
 public:
  using Done = absl::AnyInvocable<void(absl::Status) &&>;

  ~PendingCall() override { shared_->RemoveListener(listener_); }

  void Start() {
    if (shared_->ready()) OnReady();
  }

  // Finishes with an error: the call was not answered before `what`, e.g. the stop.
  void GiveUp(absl::StatusCode code, std::string_view what);

  // Identifies the consumer whose handler made the call, if any.
  const WorkOrigin& origin() const { return origin_; }

  // After this, `done` is not called.
  void StopCalling() { state_ = State::kDone; }

 protected:
  // `done` is called once, and may destroy this object.
  PendingCall(std::shared_ptr<SharedState> shared, absl::Duration deadline, Done done);

  // Sends the request. There is a connection.
  virtual void Try() = 0;
  // Returns the error text of a call that was not answered; `when` is " in time" or " before …".
  virtual std::string Unanswered(const std::string& when) const = 0;

  void TryAgainAfterPause();
  void Finish(absl::Status status);

  enum class State { kWaiting, kTrying, kDone };

  const std::shared_ptr<SharedState> shared_;
  State state_ = State::kWaiting;
  std::string problem_;  // the last one

 private:
  void OnReady() override;
  void OnLost(const absl::Status& why) override;
  void OnBlocked(bool /*blocked*/, std::string_view /*reason*/) override {}

  // Returns what prevented the call, for the error; empty if unknown.
  std::string Problem() const;

  const WorkOrigin origin_ = CurrentOrigin();
  Done done_;
  std::unique_ptr<Timer> deadline_;
  std::uint32_t failures_ = 0;
  std::unique_ptr<Timer> again_;
  SharedState::ListenerId listener_;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_CLIENT_PENDING_CALL_H_
