#ifndef RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_QUEUE_SUBSCRIPTION_H_
#define RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_QUEUE_SUBSCRIPTION_H_

#include <amqp.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "blocking_connection.h"
#include "connection_thread.h"
#include "content.h"
#include "loop_calls.h"
#include "retryq/broker.h"
#include "retryq/executor.h"

namespace examples {

class QueueSubscription;
using Subscriptions = std::set<QueueSubscription*>;

// A consumer on a connection of its own: a broker with an alarm stops reading from those who
// publish, and acks must still get through. Whatever ends it, the broker requeues what is unacked,
// and another connection takes over. Functions are called on the loop's thread, except those of
// ConnectionUser.
class QueueSubscription final : public retryq::Subscription, private ConnectionUser {
 public:
  // It is in `all` while it lives. `listener` and `all` must outlive it.
  QueueSubscription(const retryq::amqp::ConnectionOptions& options, const std::string& name,
                    std::shared_ptr<retryq::Executor> loop, retryq::ConsumeParams params,
                    retryq::SubscriptionListener* listener, Subscriptions& all);
  ~QueueSubscription() override;

  void Cancel(std::function<void()> cancelled) override;
  void Resume(std::uint16_t prefetch) override;
  void Close(std::function<void()> closed) override;

  // Deliveries of another connection than the present one are ignored: the broker has requeued
  // them.
  void Ack(retryq::amqp::DeliveryTag tag);
  void Reject(retryq::amqp::DeliveryTag tag, bool requeue);

 private:
  // On the loop's thread.
  void StartConsumer();
  void OnConnected(std::uint64_t number);
  void OnDisconnected(const absl::Status& why);
  void OnCancelled();

  // On the connection's.
  absl::Status OnOpen(Connection& connection, std::uint64_t number) override;
  absl::Status OnFrame(Connection& connection, const amqp_frame_t& frame) override;
  void OnLost(const absl::Status& why) override;
  absl::Status OnMethod(Connection& connection, const amqp_method_t& method);
  absl::Status CancelConsumer(Connection& connection);

  const retryq::ConsumeParams params_;  // all except the prefetch, see prefetch_
  Subscriptions& all_;

  // Of the loop's thread.
  retryq::SubscriptionListener* listener_;  // null once closed
  bool wanted_ = true;                      // not after Cancel
  std::uint16_t prefetch_;
  std::uint64_t connection_ = 0;  // the number of the one that is open, or 0
  std::deque<std::function<void()>> cancelled_;

  // Of the connection's.
  std::uint64_t number_ = 0;
  IncomingContent delivery_;

  const LoopCalls loop_;
  ConnectionThread thread_;  // the first to go
};

}  // namespace examples

#endif  // RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_QUEUE_SUBSCRIPTION_H_
