#ifndef RETRYQ_SRC_RETRY_CLIENT_DELAYED_PUBLISH_H_
#define RETRYQ_SRC_RETRY_CLIENT_DELAYED_PUBLISH_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "loop/alive.h"
#include "retry/client/pending_call.h"
#include "retry/policy/delay_steps.h"
#include "retry/publisher/publisher.h"
#include "retry/retrier/shared_state.h"
#include "retryq/outgoing_message.h"

namespace retryq {

// A message that a program publishes, now or after a delay. Publishes the message and reports the
// result. Checks first that the target exists if a missing target would otherwise be noticed only
// after the delay.
//
// If the message needs several delay queues, its headers state the rest of the delay for the
// consumer that receives it. They have no `x-retry-queue`, because the publisher does not know the
// queues behind a named exchange.
class DelayedPublish final : public PendingCall, private PendingPublish {
 public:
  // The options must be valid, and it must be possible to encode the message's headers.
  DelayedPublish(std::shared_ptr<SharedState> shared, OutgoingMessage message,
                 const PublishOptions& options, Done done);

 private:
  // Looks for the target, then publishes.
  void Try() override;
  std::string Unanswered(const std::string& when) const override;

  std::optional<DelayRoute> Route() const override;
  bool Fill(PublishParams* params, absl::Time now) override;
  void OnSent(const SendResult& result) override;
  void OnUnconfirmed(std::string_view why) override { problem_ = why; }
  std::string_view Origin() const override { return message_.routing_key; }
  std::string_view Id() const override { return message_.message_id; }

  bool IsDelayed() const { return hop_.ttl > absl::ZeroDuration(); }
  bool IsForExchange() const { return !message_.exchange.empty(); }
  void Plan();
  void OnTarget(const absl::Status& there);
  std::string Target() const;

  const std::shared_ptr<const std::string> body_;
  const OutgoingMessage message_;  // without its body
  const PublishOptions options_;
  absl::Duration delay_;  // after rounding
  Hop hop_ = {};          // zero: directly to the target
  const std::string id_;  // the same for all copies
  const std::string expiration_;
  std::string headers_;  // encoded
  Lifeline<DelayedPublish> lifeline_{this};
};

// Returns kInvalidArgument if no delay queue can hold a message for the delay in these options.
// `now` is wall clock.
absl::Status ValidateDelay(const PublishOptions& options, absl::Time now,
                           const DelayQueueOptions& delay_queues);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_CLIENT_DELAYED_PUBLISH_H_
