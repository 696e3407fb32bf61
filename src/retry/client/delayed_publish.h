#ifndef RETRYQ_SRC_RETRY_CLIENT_DELAYED_PUBLISH_H_
#define RETRYQ_SRC_RETRY_CLIENT_DELAYED_PUBLISH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "loop/alive.h"
#include "loop/worker_pool.h"
#include "retry/policy/delay_steps.h"
#include "retry/publisher/publisher.h"
#include "retry/retrier/shared_state.h"
#include "retryq/outgoing_message.h"

namespace retryq {

// One message of a program's own on its way, now or later: looks whether its
// target is there, where that would otherwise show only after the delay,
// publishes it and says how that ended.
//
// One that does not get by with one delay queue says in its headers how much is left, for the
// consumer that it comes to; whose queue that is the publisher cannot know of a named exchange, so
// there is no `x-retry-queue`.
class DelayedPublish final : private PendingPublish, private BrokerListener {
 public:
  // `done` is called once, and may destroy it. The options are valid, and the message's headers can
  // be encoded.
  DelayedPublish(std::shared_ptr<SharedState> shared, OutgoingMessage message,
                 const PublishOptions& options, std::function<void(absl::Status)> done);
  ~DelayedPublish() override;

  void Start();

  // Says that it was not confirmed before `what`: the stop, ….
  void GiveUp(absl::StatusCode code, const char* what);

  // Who asked for it.
  const WorkOrigin& origin() const { return origin_; }

  // `done` is not called any more.
  void Mute() { state_ = State::kDone; }

 private:
  std::optional<DelayRoute> Route() const override;
  bool Fill(PublishParams* params) override;
  void OnSent(const SendResult& result) override;
  std::string_view Origin() const override { return message_.routing_key; }
  std::string_view Id() const override { return message_.message_id; }

  void OnReady() override;
  void OnLost(const absl::Status& why) override;
  void OnBlocked(bool /*blocked*/, std::string_view /*reason*/) override {}

  bool IsDelayed() const { return hop_.ttl > absl::ZeroDuration(); }
  bool IsForExchange() const { return !message_.exchange.empty(); }
  void Plan();
  void LookForTarget();
  void OnTarget(const absl::Status& there);
  std::string Target() const;
  // What stood in its way, for the error; empty where that is not known.
  std::string Problem() const;
  void Finish(absl::Status status);

  enum class State { kWaiting, kLooking, kSending, kDone };

  const std::shared_ptr<SharedState> shared_;
  const WorkOrigin origin_ = CurrentOrigin();
  const std::shared_ptr<const std::string> body_;
  const OutgoingMessage message_;  // all but the body
  const PublishOptions options_;
  absl::Duration delay_;  // as it is kept
  Hop hop_ = {};          // of no time: straight to its target
  const std::string id_;  // of all copies
  const std::string expiration_;
  std::string headers_;  // encoded
  State state_ = State::kWaiting;
  std::function<void(absl::Status)> done_;
  std::unique_ptr<Timer> deadline_;
  std::uint32_t failures_ = 0;  // to look for the target
  std::unique_ptr<Timer> again_;
  std::string problem_;  // the last one
  SharedState::ListenerId listener_ = 0;
  Lifeline<DelayedPublish> lifeline_{this};
};

// kInvalidArgument if a delay queue cannot keep a message as long as these options say. `now` is
// wall clock.
absl::Status ValidateDelay(const PublishOptions& options, absl::Time now,
                           const DelayQueueOptions& delay_queues);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_CLIENT_DELAYED_PUBLISH_H_
