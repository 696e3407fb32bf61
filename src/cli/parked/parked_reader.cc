#include "cli/parked/parked_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/parked/parked_message.h"
#include "cli/text/escaped_text.h"

namespace retryq::cli {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(100);
// No delivery for so long: perhaps there is none.
constexpr absl::Duration kQuiet = absl::Milliseconds(400);
constexpr absl::Duration kQuietAtTheEnd = absl::Milliseconds(50);
constexpr int kEmptyLooks = 2;
// No delivery for so long, although messages are there.
constexpr absl::Duration kPatience = absl::Seconds(60);
// For what has been sent already to arrive before a consumer is cancelled.
constexpr absl::Duration kFill = absl::Seconds(5);
// For the broker to put back what was unacked, and how often to ask.
constexpr absl::Duration kReturn = absl::Seconds(5);
constexpr absl::Duration kReturnLook = absl::Milliseconds(20);
constexpr absl::Duration kClose = absl::Seconds(5);

amqp::ConnectionOptions Named(amqp::ConnectionOptions options) {
  options.connection_name = "retryq parked";
  return options;
}

// An error that ends everything, with what to do about it. `reached`: the broker was.
absl::Status WithRemedy(const absl::Status& error, bool reached) {
  const absl::string_view message = error.message();
  std::string remedy;
  if (absl::IsUnavailable(error) && !reached) {
    remedy = kUnreachableRemedy;
  } else if (absl::IsPermissionDenied(error) && absl::StrContains(message, "access to queue")) {
    remedy = "grant the user 'read' on the queue (rabbitmqctl set_permissions)";
  } else if (absl::IsPermissionDenied(error) && absl::StrContains(message, "access to exchange")) {
    remedy = "grant the user 'write' on the exchange (rabbitmqctl set_permissions)";
  }
  if (remedy.empty()) return error;
  return {error.code(), absl::StrCat(message, "; remedy: ", remedy)};
}

}  // namespace

ParkedReader::ParkedReader(EventLoop& loop, Options options, ParkedVisitor& visitor,
                           Progress& progress)
    : loop_(loop),
      options_(std::move(options)),
      visitor_(visitor),
      progress_(progress),
      connection_(loop, Named(options_.connection), this) {}

ParkedReader::~ParkedReader() = default;

absl::Status ParkedReader::Run() {
  const std::shared_ptr<void> drain = loop_.OnDrain([this](const EventLoop::DrainDone&) {
    const absl::Status interrupted = absl::CancelledError("interrupted");
    channel_ != nullptr ? Abandon(interrupted) : Abort(interrupted);
  });
  waiting_.emplace(loop_, amqp::Describe(options_.connection));
  Tick();
  absl::Status run = loop_.RunUntilSignal();
  waiting_.reset();
  tick_.reset();
  progress_.End();
  return WithRemedy(error_.ok() ? run : error_, channel_ != nullptr);
}

void ParkedReader::OnOpen() {
  if (channel_ != nullptr) return;
  publisher_.emplace(loop_, connection_, [this](const absl::Status& why) { Abandon(why); });
  channel_ = connection_.OpenChannel(this);
  channel_->Qos(options_.window, [](const absl::Status&) {});
  channel_->DeclareQueue({.name = options_.queue, .passive = true},
                         [this](const absl::StatusOr<DeclareOk>& queue) { Begin(queue); });
}

void ParkedReader::OnLost(const absl::Status& why) {
  Abort(absl::Status(
      why.code(),
      absl::StrCat(std::string(why.message()),
                   channel_ == nullptr ? "" : "; what was not acked is in the queue again")));
}

void ParkedReader::OnBlocked(bool blocked, std::string_view reason) {
  is_blocked_ = blocked;
  progress_.Say(
      blocked
          ? absl::StrCat("the broker takes no messages for now: ", EscapedText(reason), "; waiting")
          : "the broker takes messages again");
}

void ParkedReader::Begin(const absl::StatusOr<DeclareOk>& queue) {
  if (absl::IsNotFound(queue.status())) {
    return Abort(absl::NotFoundError(
        absl::StrCat("there is no queue '", options_.queue,
                     "': --queue is the work queue, whose messages are parked in QUEUE.parked "
                     "unless --parked names another queue; its vhost is the one in the --url")));
  }
  if (!queue.ok()) return Abort(queue.status());
  waiting_.reset();
  began_ = true;
  total_ = queue->message_count;
  other_consumers_ = queue->consumer_count > 0;
  last_delivery_ = Now();
  if (total_ == 0) Stop();
  Step();
}

void ParkedReader::StartConsumer() {
  consumer_ = Consumer::kStarting;
  unacked_ = 0;
  held_ = 0;
  // No tag of ours: a quorum queue takes a consumer of the same tag for the same one.
  channel_->Consume({.queue = options_.queue}, [this](const absl::StatusOr<std::string>& tag) {
    if (!tag.ok()) return;  // OnChannelClosed follows
    consumer_ = Consumer::kActive;
    consumer_tag_ = *tag;
    Step();
  });
}

void ParkedReader::CancelConsumer() {
  consumer_ = Consumer::kCancelling;
  channel_->Cancel(consumer_tag_, [this](const absl::Status& cancelled) {
    if (!cancelled.ok()) return;
    consumer_ = Consumer::kNone;
    Step();
  });
}

void ParkedReader::OnDelivery(std::string_view, amqp::MessagePtr message) {
  last_delivery_ = Now();
  empty_looks_ = 0;
  ++unacked_;
  if (ending_) {
    // To take one of them now would bring the next one.
    bystanders_.push_back(std::move(message));
    return Step();
  }
  ++undecided_;
  if (++seen_ >= total_) nothing_left_ = true;
  visitor_.OnMessage(std::move(message));
  if (nothing_left_) Stop();
  Step();
}

void ParkedReader::Keep(const amqp::MessagePtr& message) {
  --undecided_;
  if (options_.move_at && error_.ok() && ParkedMessage(*message).returns >= *options_.move_at) {
    Move(message);
  } else {
    ++held_;
    ++kept_;
  }
  Step();
}

void ParkedReader::Take(const amqp::MessagePtr& message) {
  --undecided_;
  --unacked_;
  channel_->Ack(message->delivery_tag.tag);
  Step();
}

void ParkedReader::Move(const amqp::MessagePtr& message) {
  ++moving_;
  publisher_->Publish(
      {.message = message,
       .purpose = ParkedCopy::Purpose::kMove,
       .exchange = "",
       .routing_key = options_.queue},
      [this, message](const PublishResult& result) {
        --moving_;
        if (result.outcome == PublishOutcome::kConfirmed) {
          --unacked_;
          ++moved_;
          channel_->Ack(message->delivery_tag.tag);
          return Step();
        }
        ++held_;
        ++kept_;
        Abandon(absl::FailedPreconditionError(absl::StrCat(
            "a message of queue '", options_.queue,
            "' has been taken back so often that its delivery limit may soon drop it, and it could "
            "not be put behind the others",
            result.text.empty() ? "" : absl::StrCat(" (", std::string(result.text), ")"),
            ": nothing more is read; remedy: a delivery limit of -1, by a policy")));
      });
}

void ParkedReader::Stop() {
  if (std::exchange(ending_, true)) return;
  ending_since_ = Now();
  empty_looks_ = 0;
  Step();
}

void ParkedReader::Abandon(const absl::Status& why) {
  if (finished_) return;
  if (error_.ok()) error_ = why;
  Stop();
  visitor_.OnAbandoned();
  Step();
}

// What is on its way when a consumer is cancelled goes back unseen, and counts as taken back. So a
// consumer is cancelled when it has got all that it may have; or when all has been seen: what
// comes behind that was hardly ever delivered before.
bool ParkedReader::MayCancel() const {
  if (!ending_) return held_ >= options_.window;
  return nothing_left_ || unacked_ >= options_.window || Now() - ending_since_ > kFill;
}

void ParkedReader::Step() {
  if (channel_ == nullptr || finished_) return;
  switch (consumer_) {
    case Consumer::kStarting:
    case Consumer::kCancelling:
      return;
    case Consumer::kActive:
      if (MayCancel()) CancelConsumer();
      return;
    case Consumer::kNone:
      if (!ending_) return StartConsumer();
      break;
  }
  const std::vector<amqp::MessagePtr> bystanders = std::exchange(bystanders_, {});
  undecided_ += bystanders.size();
  for (const amqp::MessagePtr& message : bystanders) Keep(message);
  if (undecided_ == 0 && moving_ == 0) CloseChannel();
}

void ParkedReader::CloseChannel() {
  finished_ = true;
  channel_->Close([this] {
    channel_ = connection_.OpenChannel(this);
    AwaitReturn(Now() + kReturn);
  });
}

// A quorum queue takes back a moment after the channel is closed. A look then, by this
// command or another, shall find all there.
void ParkedReader::AwaitReturn(absl::Duration deadline) {
  if (kept_ == 0 || other_consumers_) return Finish();
  channel_->DeclareQueue({.name = options_.queue, .passive = true},
                         [this, deadline](const absl::StatusOr<DeclareOk>& queue) {
                           if (!queue.ok() || queue->message_count >= kept_ || Now() > deadline)
                             return Finish();
                           return_ = loop_.After(kReturnLook,
                                                 [this, deadline] { AwaitReturn(deadline); });
                         });
}

void ParkedReader::Finish() {
  if (std::exchange(closing_, true)) return;
  connection_.Close(kClose, [this] { loop_.Stop(); });
}

void ParkedReader::OnConsumerCancelled(std::string_view) {
  Abort(absl::UnavailableError(absl::StrCat("the broker ended the consumer of queue '",
                                            options_.queue,
                                            "', as it does when the queue is deleted or moves")));
}

void ParkedReader::OnChannelClosed(const amqp::ChannelError& why) { Abort(why.status); }

void ParkedReader::Abort(const absl::Status& error) {
  if (finished_) return Finish();
  if (error_.ok()) error_ = error;
  finished_ = true;
  loop_.Stop();
}

void ParkedReader::Tick() {
  tick_ = loop_.After(kTick, [this] {
    if (began_) progress_.Update(seen_, total_, Now());
    LookForEnd();
    Step();
    Tick();
  });
}

// Another consumer may have taken what is missing.
void ParkedReader::LookForEnd() {
  if (consumer_ != Consumer::kActive || looking_ || is_blocked_ || nothing_left_) return;
  if (Now() - last_delivery_ < (ending_ ? kQuietAtTheEnd : kQuiet)) return;
  if (unacked_ >= options_.window) return;
  looking_ = true;
  channel_->DeclareQueue(
      {.name = options_.queue, .passive = true}, [this](const absl::StatusOr<DeclareOk>& queue) {
        looking_ = false;
        if (!queue.ok()) return;  // OnChannelClosed follows
        if (queue->message_count == 0 && ++empty_looks_ >= kEmptyLooks) {
          nothing_left_ = true;
          Stop();
          return Step();
        }
        if (queue->message_count == 0 || Now() - last_delivery_ < kPatience) return;
        Abandon(absl::FailedPreconditionError(absl::StrCat(
            queue->message_count, " messages wait in queue '", options_.queue,
            "', and the broker delivers none of them: another consumer may have the queue for "
            "itself (x-single-active-consumer); end that one")));
      });
}

}  // namespace retryq::cli
