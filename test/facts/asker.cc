#include "facts/asker.h"

#include <cstdio>

#include "retryq/amqp/connection_options.h"
#include "support/test.h"

namespace retryq::testing {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);
constexpr absl::Duration kLook = absl::Milliseconds(1);

}  // namespace

Asker::Asker(EventLoop& loop, const std::string& url)
    : loop_(loop), connection_(loop, amqp::ParseUri(url).value(), this) {
  Until([this] { return connection_.is_open(); });
}

bool Asker::IsAtLeast(int major, int minor) const {
  int is_major = 0;
  int is_minor = 0;
  std::sscanf(connection_.server_version().c_str(), "%d.%d", &is_major, &is_minor);
  return is_major > major || (is_major == major && is_minor >= minor);
}

amqp::Channel& Asker::channel() {
  if (channel_ == nullptr || !channel_->is_open()) {
    Until([this] { return connection_.is_open(); });
    channel_ = connection_.OpenChannel(this);
    channel_->ConfirmSelect([](const absl::Status& /*answer*/) {});
  }
  return *channel_;
}

template <typename T>
T Asker::Wait(const std::function<void(std::function<void(T)>)>& ask) {
  std::optional<T> answer;
  ask([&answer](T given) { answer.emplace(std::move(given)); });
  Until([&answer] { return answer.has_value(); });
  return *std::move(answer);
}

absl::StatusOr<DeclareOk> Asker::DeclareQueue(const QueueDeclaration& queue) {
  return Wait<absl::StatusOr<DeclareOk>>(
      [&](auto done) { channel().DeclareQueue(queue, std::move(done)); });
}

absl::Status Asker::DeclareExchange(const ExchangeDeclaration& exchange) {
  return Wait<absl::Status>(
      [&](auto done) { channel().DeclareExchange(exchange, std::move(done)); });
}

absl::Status Asker::Bind(std::string_view queue, std::string_view exchange,
                         std::string_view routing_key) {
  return Wait<absl::Status>(
      [&](auto done) { channel().BindQueue(queue, exchange, routing_key, {}, std::move(done)); });
}

Asker::Answer Asker::Publish(const PublishParams& message) {
  PublishParams persistent = message;
  persistent.properties.delivery_mode = 2;
  return Wait<Answer>([&](const auto& done) {
    channel().Publish(persistent, [done](const PublishResult& result) {
      done({.outcome = result.outcome, .code = result.code});
    });
  });
}

bool Asker::PublishMany(const std::string& queue, int count) {
  int answered = 0;
  int confirmed = 0;
  for (int i = 0; i < count; ++i) {
    const std::string body = std::to_string(i);
    channel().Publish({.routing_key = queue, .properties = {.delivery_mode = 2}, .body = body},
                      [&](const PublishResult& result) {
                        ++answered;
                        if (result.outcome == PublishOutcome::kConfirmed) ++confirmed;
                      });
  }
  Until([&] { return answered == count; });
  return confirmed == count;
}

std::vector<amqp::MessagePtr> Asker::Consume(const std::string& queue, std::size_t count) {
  deliveries_.clear();
  const auto tag = Wait<absl::StatusOr<std::string>>(
      [&](auto done) { channel().Consume({.queue = queue}, std::move(done)); });
  if (!tag.ok()) throw std::runtime_error(tag.status().ToString());
  tag_ = *tag;
  Until([&] { return deliveries_.size() >= count; });
  return deliveries_;
}

void Asker::CancelAtDelivery() {
  bool is_cancelled = false;
  cancel_at_delivery_ = [&](std::string_view tag) {
    channel().Cancel(tag, [&](const absl::Status&) { is_cancelled = true; });
  };
  Until([&] { return is_cancelled; });
}

void Asker::OnDelivery(std::string_view consumer_tag, amqp::MessagePtr message) {
  deliveries_.push_back(std::move(message));
  if (cancel_at_delivery_ != nullptr) std::exchange(cancel_at_delivery_, nullptr)(consumer_tag);
}

std::vector<amqp::MessagePtr> Asker::Take(const std::string& queue, std::size_t count) {
  std::vector<amqp::MessagePtr> taken = Consume(queue, count);
  for (const auto& message : taken) channel().Ack(message->delivery_tag.tag);
  bool closed = false;
  channel_->Close([&] { closed = true; });
  Until([&] { return closed; });
  channel_ = nullptr;
  return taken;
}

void Asker::GiveBack(const amqp::Message& message) {
  channel().Reject(message.delivery_tag.tag, /*requeue=*/true);
}

void Asker::RejectForGood(const amqp::Message& message) {
  channel().Reject(message.delivery_tag.tag, /*requeue=*/false);
}

void Asker::Drop() {
  channel_ = nullptr;
  deliveries_.clear();
}

void Asker::Until(const std::function<bool()>& condition) {
  const absl::Duration end = loop_.clock().SinceBoot() + kPatience;
  std::unique_ptr<Timer> timer;
  const std::function<void()> look = [&] {
    if (condition() || loop_.clock().SinceBoot() > end) return loop_.Stop();
    timer = loop_.After(kLook, look);
  };
  timer = loop_.After(absl::ZeroDuration(), look);
  const absl::Status run = loop_.Run();
  if (!run.ok()) throw std::runtime_error(run.ToString());
  if (!condition()) throw std::runtime_error("the broker does not answer");
}

}  // namespace retryq::testing
