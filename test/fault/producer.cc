#include "fault/producer.h"

#include "support/standard.h"

namespace retryq::fault {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(20);
constexpr std::size_t kAtOnce = 50;  // per tick, of the waiting messages
constexpr absl::Duration kPauseAfterRefusal = absl::Milliseconds(200);

}  // namespace

Producer::Producer(EventLoop& loop, amqp::ConnectionOptions options, Load load)
    : loop_(loop),
      load_(std::move(load)),
      last_tick_(absl::Now()),
      connection_(loop, std::move(options), this) {
  tick_ = loop_.After(kTick, [this] { OnTick(); });
}

void Producer::OnOpen() { OpenChannel(); }

void Producer::OpenChannel() {
  channel_ = connection_.OpenChannel(this);
  channel_->ConfirmSelect([this](const absl::Status& status) { ready_ = status.ok(); });
}

void Producer::OnLost(const absl::Status& /*why*/) {
  ready_ = false;
  blocked_ = false;
}

void Producer::OnBlocked(bool blocked, std::string_view /*reason*/) { blocked_ = blocked; }

void Producer::OnChannelClosed(const amqp::ChannelError& /*why*/) { ready_ = false; }

void Producer::OnTick() {
  tick_ = loop_.After(kTick, [this] { OnTick(); });
  const absl::Time now = absl::Now();
  // It continues to create messages while the broker is down, but does not catch up after it was
  // itself suspended.
  if (!paused_)
    due_ += load_.messages_a_second *
            absl::ToDoubleSeconds(std::min(now - last_tick_, absl::Seconds(1)));
  last_tick_ = now;
  for (; due_ >= 1; --due_) waiting_.push_back({.kind = load_.kind, .number = next_++});

  if (!ready_ && connection_.is_open() && (channel_ == nullptr || !channel_->is_open())) {
    OpenChannel();
  }
  if (paused_ || now < publishes_from_) return;
  for (std::size_t i = std::min(waiting_.size(), kAtOnce); i > 0 && ready_ && !blocked_; --i) {
    const MessageName name = waiting_.front();
    waiting_.pop_front();
    Publish(name);
  }
}

void Producer::Publish(const MessageName& name) {
  ++open_;
  const std::string body = name.Text();
  channel_->Publish(
      {.routing_key = load_.queue, .properties = {.delivery_mode = std::uint8_t{2}}, .body = body},
      [this, name](const PublishResult& result) {
        --open_;
        if (result.outcome == PublishOutcome::kConfirmed) return;
        // The next publish gets a new name only if this one may have arrived.
        const bool unknown = result.outcome == PublishOutcome::kUnknown;
        waiting_.push_back({name.kind, name.number, name.repetition + (unknown ? 1 : 0)});
        if (!unknown) publishes_from_ = absl::Now() + kPauseAfterRefusal;
      });
}

}  // namespace retryq::fault
