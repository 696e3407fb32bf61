#include "queue_subscription.h"

#include <amqp_framing.h>

#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "bytes.h"

namespace examples {
namespace {

constexpr amqp_channel_t kChannel = 1;
// On a channel of its own, whatever it is called.
constexpr const char* kConsumerTag = "retryq";

retryq::ConsumeParams WithConsumerTag(retryq::ConsumeParams params) {
  if (params.consumer_tag.empty()) params.consumer_tag = kConsumerTag;
  return params;
}

}  // namespace

QueueSubscription::QueueSubscription(const retryq::amqp::ConnectionOptions& options,
                                     const std::string& name,
                                     std::shared_ptr<retryq::Executor> loop,
                                     retryq::ConsumeParams params,
                                     retryq::SubscriptionListener* listener, Subscriptions& all)
    : params_(WithConsumerTag(std::move(params))),
      all_(all),
      listener_(listener),
      prefetch_(params_.prefetch),
      loop_(std::move(loop)),
      thread_(options, name, *this) {
  all_.insert(this);
  thread_.Start();
}

QueueSubscription::~QueueSubscription() { all_.erase(this); }

// --- on the loop's thread
// --------------------------------------------------------------------------

void QueueSubscription::OnConnected(std::uint64_t number) {
  connection_ = number;
  if (wanted_) StartConsumer();
}

void QueueSubscription::StartConsumer() {
  thread_.Post(connection_, [this, prefetch = prefetch_](Connection& connection) -> absl::Status {
    // It is that of consumers that are started after it is set.
    amqp_basic_qos(connection.get(), kChannel, /*prefetch_size=*/0, prefetch, /*global=*/0);
    if (absl::Status status = connection.Answer(kChannel); !status.ok()) return status;
    const absl::StatusOr<std::string> arguments = params_.arguments.Encode();
    if (!arguments.ok()) return arguments.status();
    const DecodedTable table(*arguments);
    if (!table.status().ok()) return table.status();
    amqp_basic_consume(connection.get(), kChannel, ToBytes(params_.queue),
                       ToBytes(params_.consumer_tag), /*no_local=*/0, /*no_ack=*/0,
                       /*exclusive=*/0, table.get());
    if (absl::Status status = connection.Answer(kChannel); !status.ok()) {
      return absl::Status(
          status.code(), absl::StrCat("consuming queue '", params_.queue, "': ", status.message()));
    }
    loop_.Post([this] {
      if (listener_ != nullptr) listener_->OnSubscribed();
    });
    return absl::OkStatus();
  });
}

void QueueSubscription::OnDisconnected(const absl::Status& why) {
  connection_ = 0;
  // Those who wait for the end of the consumer are called now. Any of these calls may destroy this.
  for (std::size_t left = cancelled_.size(); left > 0; --left) {
    loop_.Post([this] { OnCancelled(); });
  }
  if (listener_ != nullptr) listener_->OnInterrupted(why);
}

void QueueSubscription::Cancel(std::function<void()> cancelled) {
  wanted_ = false;
  cancelled_.push_back(std::move(cancelled));
  if (connection_ == 0) {
    loop_.Post([this] { OnCancelled(); });
    return;
  }
  thread_.Post(connection_, [this](Connection& connection) { return CancelConsumer(connection); });
}

void QueueSubscription::OnCancelled() {
  if (cancelled_.empty()) return;
  const std::function<void()> cancelled = std::move(cancelled_.front());
  cancelled_.pop_front();
  cancelled();
}

void QueueSubscription::Resume(std::uint16_t prefetch) {
  prefetch_ = prefetch;
  if (!std::exchange(wanted_, true) && connection_ != 0) StartConsumer();
}

void QueueSubscription::Close(std::function<void()> closed) {
  wanted_ = false;
  listener_ = nullptr;
  cancelled_.clear();
  thread_.Close([this, closed = std::move(closed)] { loop_.Post(closed); });
}

void QueueSubscription::Ack(retryq::amqp::DeliveryTag tag) {
  thread_.Post(tag.generation, [tag](Connection& connection) {
    return connection.Written(amqp_basic_ack(connection.get(), kChannel, tag.tag, /*multiple=*/0));
  });
}

void QueueSubscription::Reject(retryq::amqp::DeliveryTag tag, bool requeue) {
  thread_.Post(tag.generation, [tag, requeue](Connection& connection) {
    // From RabbitMQ 4.3 on a reject that requeues counts as a failure.
    return connection.Written(
        requeue ? amqp_basic_nack(connection.get(), kChannel, tag.tag, /*multiple=*/0, requeue)
                : amqp_basic_reject(connection.get(), kChannel, tag.tag, requeue));
  });
}

// --- on the connection's thread
// --------------------------------------------------------------------

absl::Status QueueSubscription::OnOpen(Connection& connection, std::uint64_t number) {
  number_ = number;
  delivery_ = IncomingContent();
  if (absl::Status status = connection.OpenChannel(kChannel); !status.ok()) return status;
  loop_.Post([this, number] { OnConnected(number); });
  return absl::OkStatus();
}

void QueueSubscription::OnLost(const absl::Status& why) {
  loop_.Post([this, why = Unshared(why)] { OnDisconnected(why); });
}

absl::Status QueueSubscription::OnFrame(Connection& connection, const amqp_frame_t& frame) {
  if (frame.frame_type == AMQP_FRAME_METHOD) return OnMethod(connection, frame.payload.method);
  if (retryq::amqp::MessagePtr message = delivery_.Add(frame)) {
    loop_.Post([this, message = std::move(message)] {
      if (listener_ != nullptr) listener_->OnDelivery(message);
    });
  }
  return absl::OkStatus();
}

absl::Status QueueSubscription::OnMethod(Connection& connection, const amqp_method_t& method) {
  switch (method.id) {
    case AMQP_BASIC_DELIVER_METHOD: {
      const auto& deliver = *static_cast<const amqp_basic_deliver_t*>(method.decoded);
      retryq::amqp::Message& message = delivery_.Begin();
      message.delivery_tag = {.generation = number_, .tag = deliver.delivery_tag};
      message.redelivered = deliver.redelivered != 0;
      message.SetEnvelope(ToText(deliver.exchange), ToText(deliver.routing_key));
      return absl::OkStatus();
    }
    case AMQP_BASIC_CANCEL_METHOD:
      return absl::AbortedError(absl::StrCat(
          "consuming queue '", params_.queue,
          "': the broker ended the consumer, as it does when the queue is deleted or moves"));
    case AMQP_CHANNEL_CLOSE_METHOD: {
      const auto& close = *static_cast<const amqp_channel_close_t*>(method.decoded);
      const absl::Status why = connection.ChannelClosed(kChannel, close);
      return absl::Status(why.code(),
                          absl::StrCat("consuming queue '", params_.queue, "': ", why.message()));
    }
    default:
      return absl::OkStatus();
  }
}

// What came before the broker's answer lies with rabbitmq-c, and goes to the listener before it
// hears that nothing more comes.
absl::Status QueueSubscription::CancelConsumer(Connection& connection) {
  amqp_basic_cancel(connection.get(), kChannel, ToBytes(params_.consumer_tag));
  if (absl::Status status = connection.Answer(kChannel); !status.ok()) return status;
  while (amqp_frames_enqueued(connection.get())) {
    const absl::StatusOr<std::optional<amqp_frame_t>> frame = connection.ReadFrame();
    if (!frame.ok()) return frame.status();
    if (!frame->has_value()) break;
    if (absl::Status status = OnFrame(connection, **frame); !status.ok()) return status;
    connection.Release((*frame)->channel);
  }
  loop_.Post([this] { OnCancelled(); });
  return absl::OkStatus();
}

}  // namespace examples
