#ifndef RETRYQ_SRC_RETRY_DELAYED_PUBLISH_H_
#define RETRYQ_SRC_RETRY_DELAYED_PUBLISH_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retry/alive.h"
#include "retry/hub.h"
#include "retry/publisher.h"
#include "retryq/outgoing_message.h"

namespace retryq {

// One message of somebody's own on its way, now or later: looks whether its
// target is there, where that would otherwise show only after the delay,
// publishes it and says how that ended.
class DelayedPublish final : private Parcel, private BrokerListener {
 public:
  // `done` is called once, and may destroy it. `delay` is zero or whole
  // milliseconds; `headers` the message's, encoded.
  DelayedPublish(std::shared_ptr<Hub> hub, OutgoingMessage message, std::string headers,
                 absl::Duration delay, absl::Duration deadline,
                 std::function<void(absl::Status)> done);
  ~DelayedPublish() override;

  void Start();

 private:
  std::optional<DelayRoute> Route() const override;
  bool Fill(PublishParams* params) override;
  void OnSent(const SendResult& result) override;
  std::string_view Origin() const override { return message_.routing_key; }
  std::string_view Id() const override { return message_.message_id; }

  void OnReady() override;
  void OnLost(const absl::Status& why) override;
  void OnBlocked(bool /*blocked*/, std::string_view /*reason*/) override {}

  void LookForTarget();
  void OnTarget(const absl::Status& there);
  std::string Target() const;
  void Finish(absl::Status status);

  enum class State { kWaiting, kLooking, kSending, kDone };

  const std::shared_ptr<Hub> hub_;
  const std::shared_ptr<const std::string> body_;
  const OutgoingMessage message_;  // all but the body
  const std::string headers_;
  const absl::Duration delay_;
  State state_ = State::kWaiting;
  std::function<void(absl::Status)> done_;
  std::unique_ptr<Timer> deadline_;
  Lifeline<DelayedPublish> lifeline_{this};
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELAYED_PUBLISH_H_
