#ifndef RETRYQ_TEST_FAULT_PRODUCER_H_
#define RETRYQ_TEST_FAULT_PRODUCER_H_

#include "fault/message_name.h"
#include "retryq/amqp/connection.h"
#include "retryq/event_loop.h"
#include "support/standard.h"

namespace retryq::fault {

// Publishes numbered messages directly to a work queue, persistent and mandatory, at a steady rate,
// and keeps each message until the broker has confirmed it, whatever happens meanwhile. Used on the
// loop's thread.
class Producer final : private amqp::ConnectionListener, private amqp::ChannelListener {
 public:
  // The messages to publish.
  struct Load {
    std::string queue;
    Kind kind = Kind::kOrder;
    int messages_a_second = 0;
  };

  Producer(EventLoop& loop, amqp::ConnectionOptions options, Load load)
      : loop_(loop),
        load_(std::move(load)),
        last_tick_(absl::Now()),
        connection_(loop, std::move(options), this) {
    tick_ = loop_.After(kTick, [this] { OnTick(); });
  }

  // Creates no more messages, and publishes none, until it is resumed.
  void Pause() { paused_ = true; }
  void Resume() { paused_ = false; }

  // Creates no more messages, but still publishes the existing ones.
  void Finish() { load_.messages_a_second = 0; }

  // Creates one more message, even after `Finish`.
  void SendOneMore() { waiting_.push_back({.kind = load_.kind, .number = next_++}); }

  // The number of created messages, which are numbered from 0.
  std::uint64_t sent() const { return next_; }
  // The messages that the broker has not confirmed yet.
  std::uint64_t unconfirmed() const { return open_ + waiting_.size(); }
  // The published messages without a reply.
  std::uint64_t open() const { return open_; }

 private:
  static constexpr absl::Duration kTick = absl::Milliseconds(20);
  static constexpr std::size_t kAtOnce = 50;  // per tick, of the waiting messages
  static constexpr absl::Duration kPauseAfterRefusal = absl::Milliseconds(200);

  void OnOpen() override { OpenChannel(); }
  void OnLost(const absl::Status& /*why*/) override {
    ready_ = false;
    blocked_ = false;
  }
  void OnBlocked(bool blocked, std::string_view /*reason*/) override { blocked_ = blocked; }
  void OnChannelClosed(const amqp::ChannelError& /*why*/) override { ready_ = false; }

  void OpenChannel() {
    channel_ = connection_.OpenChannel(this);
    channel_->ConfirmSelect([this](const absl::Status& status) { ready_ = status.ok(); });
  }
  void OnTick() {
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
  void Publish(const MessageName& name) {
    ++open_;
    const std::string body = name.Text();
    channel_->Publish(
        {.routing_key = load_.queue,
         .properties = {.delivery_mode = std::uint8_t{2}},
         .body = body},
        [this, name](const PublishResult& result) {
          --open_;
          if (result.outcome == PublishOutcome::kConfirmed) return;
          // The next publish gets a new name only if this one may have arrived.
          const bool unknown = result.outcome == PublishOutcome::kUnknown;
          waiting_.push_back({name.kind, name.number, name.repetition + (unknown ? 1 : 0)});
          if (!unknown) publishes_from_ = absl::Now() + kPauseAfterRefusal;
        });
  }

  EventLoop& loop_;
  Load load_;
  double due_ = 0;
  absl::Time last_tick_;
  std::uint64_t next_ = 0;
  std::uint64_t open_ = 0;
  std::deque<MessageName> waiting_;  // to be published, perhaps again
  absl::Time publishes_from_ = absl::InfinitePast();
  bool paused_ = false;
  bool ready_ = false;
  bool blocked_ = false;
  std::unique_ptr<Timer> tick_;
  amqp::Connection connection_;
  std::unique_ptr<amqp::Channel> channel_;
};

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_PRODUCER_H_
