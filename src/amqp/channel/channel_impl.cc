#include "amqp/channel/channel_impl.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "amqp/codec/overloaded.h"
#include "amqp/codec/properties_codec.h"
#include "amqp/codec/protocol_error.h"
#include "amqp/codec/text.h"
#include "base/escaped_text.h"
#include "base/name_size.h"
#include "retryq/amqp/connection.h"

namespace retryq::amqp {
namespace {

// Limit of unread methods that the broker made this client send; no correct broker needs so many.
constexpr int kMostForcedAnswers = 10'000;

std::uint64_t NextGeneration() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

bool FitsShortString(const std::optional<std::string_view>& text) {
  return !text || text->size() <= kMaxNameSize;
}

bool FitShortStrings(const Properties& p, std::size_t header_size) {
  const std::size_t beside_headers = header_size - (p.headers ? p.headers->bytes().size() : 0);
  // Usually the total length of all names is below the limit of one.
  if (beside_headers <= kMaxNameSize) return true;
  return FitsShortString(p.content_type) && FitsShortString(p.content_encoding) &&
         FitsShortString(p.correlation_id) && FitsShortString(p.reply_to) &&
         FitsShortString(p.expiration) && FitsShortString(p.message_id) &&
         FitsShortString(p.type) && FitsShortString(p.user_id) && FitsShortString(p.app_id) &&
         FitsShortString(p.cluster_id);
}

}  // namespace

std::shared_ptr<Channel::Impl> Channel::Impl::Open(ChannelHost* host, std::uint16_t number,
                                                   ChannelListener* listener,
                                                   std::shared_ptr<Executor> executor) {
  auto channel = std::make_shared<Impl>(host, number, listener, std::move(executor));
  channel->Call<method::ChannelOpenOk>(method::ChannelOpen{}, "opening a channel", [](auto) {});
  return channel;
}

std::shared_ptr<Channel::Impl> Channel::Impl::Closed(absl::Status why, ChannelListener* listener,
                                                     std::shared_ptr<Executor> executor) {
  auto channel = std::make_shared<Impl>(nullptr, 0, listener, std::move(executor));
  channel->state_ = State::kFinished;
  channel->closed_why_ = std::move(why);
  channel->Defer([](Impl& self) { self.listener_->OnChannelClosed({.status = self.closed_why_}); });
  return channel;
}

Channel::Impl::Impl(ChannelHost* host, std::uint16_t number, ChannelListener* listener,
                    std::shared_ptr<Executor> executor)
    : host_(host),
      vhost_(host == nullptr ? "" : host->vhost()),
      number_(number),
      generation_(NextGeneration()),
      listener_(listener),
      executor_(std::move(executor)) {}

void Channel::Impl::Defer(std::function<void(Impl&)> work) {
  executor_->Post([weak = weak_from_this(), work = std::move(work)] {
    const auto self = weak.lock();
    if (self != nullptr && self->listener_ != nullptr) work(*self);
  });
}

absl::Status Channel::Impl::CheckArguments(TableView arguments) const {
  if (absl::Status finite = arguments.CheckFinite(); !finite.ok()) return finite;
  // A method has at most four names in addition to its arguments.
  constexpr std::size_t kBeside = kFrameOverhead + 64 + 4 * (kMaxNameSize + 1);
  const std::size_t limit = host_->frame_max();
  if (arguments.bytes().size() + kBeside <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("its arguments take ", arguments.bytes().size(),
                   " bytes, which do not fit into a frame: the connection's frame_max is ", limit));
}

void Channel::Impl::Refuse(absl::Status why, OnReply done) {
  Defer([why = std::move(why), done = std::move(done)](Impl&) { done(why); });
}

absl::Status Channel::Impl::OnMethod(const ServerMethod& method) {
  if (state_ == State::kClosing) return OnMethodWhileClosing(method);
  if (incoming_.expected()) return MethodAmidMessage();
  return std::visit(Overloaded{
                        [this](const method::BasicDeliver& m) { return OnDeliver(m); },
                        [this](const method::BasicReturn& m) { return OnReturn(m); },
                        [this](const method::BasicCancel& m) { return OnCancel(m); },
                        [this](const method::ChannelFlow& m) { return OnFlow(m); },
                        [this](const method::ChannelClose& m) { return OnClose(m); },
                        [this](const method::BasicAck& m) { return OnAck(m); },
                        [this](const method::BasicNack& m) {
                          return OnSettled(m.delivery_tag, m.multiple, PublishOutcome::kNacked);
                        },
                        [&](const auto& reply) { return OnAnswer(method, reply.kId); },
                    },
                    method);
}

absl::Status Channel::Impl::OnMethod(const method::BasicDeliver& deliver) {
  if (state_ == State::kClosing) return absl::OkStatus();
  return incoming_.expected() ? MethodAmidMessage() : OnDeliver(deliver);
}

absl::Status Channel::Impl::OnMethod(const method::BasicAck& ack) {
  if (state_ == State::kClosing) return absl::OkStatus();
  return incoming_.expected() ? MethodAmidMessage() : OnAck(ack);
}

absl::Status Channel::Impl::MethodAmidMessage() {
  return ProtocolError(ReplyCode::kUnexpectedFrame,
                       "it arrived before the content of a message was complete");
}

absl::Status Channel::Impl::OnMethodWhileClosing(const ServerMethod& method) {
  if (std::holds_alternative<method::ChannelCloseOk>(method)) Finish();
  if (std::holds_alternative<method::ChannelClose>(method)) {
    if (absl::Status status = CountForcedAnswer(); !status.ok()) return status;
    host_->Write().AddMethod(number_, method::ChannelCloseOk{});
  }
  return absl::OkStatus();
}

absl::Status Channel::Impl::OnAnswer(const ServerMethod& method, const method::Id& id) {
  // A quorum queue replies to basic.consume and basic.cancel in any order (F60 in
  // doc/rabbitmq_facts.md).
  const bool in_any_order = id == method::BasicConsumeOk::kId || id == method::BasicCancelOk::kId;
  std::size_t place = 0;
  while (in_any_order && place < calls_.size() && calls_[place].reply != id) ++place;
  if (place >= calls_.size() || calls_[place].reply != id) {
    return ProtocolError(ReplyCode::kCommandInvalid, "no call awaits this reply");
  }
  if (const auto* ok = std::get_if<method::BasicConsumeOk>(&method)) {
    AddConsumer(ok->consumer_tag);
    std::erase(starting_, ok->consumer_tag);
  } else if (const auto* cancelled = std::get_if<method::BasicCancelOk>(&method)) {
    std::erase(consumers_, cancelled->consumer_tag);
  }
  ++answers_;
  for (; place > 0; --place) std::swap(calls_[place], calls_[place - 1]);
  calls_.pop_front().done(&method);
  return absl::OkStatus();
}

absl::Status Channel::Impl::OnAck(const method::BasicAck& ack) {
  return OnSettled(ack.delivery_tag, ack.multiple, PublishOutcome::kConfirmed);
}

absl::Status Channel::Impl::OnSettled(std::uint64_t tag, bool multiple, PublishOutcome outcome) {
  if (confirms_.Settle(tag, multiple, outcome)) return absl::OkStatus();
  return ProtocolError(ReplyCode::kPreconditionFailed,
                       absl::StrCat("no publish has the delivery tag ", tag));
}

absl::Status Channel::Impl::OnCancel(const method::BasicCancel& cancel) {
  const std::string consumer_tag(cancel.consumer_tag);
  if (!cancel.nowait) {
    if (absl::Status status = CountForcedAnswer(); !status.ok()) return status;
    host_->Write().AddMethod(number_, method::BasicCancelOk{.consumer_tag = consumer_tag});
  }
  const bool was_there = std::erase(consumers_, consumer_tag) > 0;
  if (was_there) cancelled_.push_back(consumer_tag);
  if (was_there) listener_->OnConsumerCancelled(consumer_tag);
  return absl::OkStatus();
}

absl::Status Channel::Impl::OnFlow(const method::ChannelFlow& flow) {
  if (absl::Status status = CountForcedAnswer(); !status.ok()) return status;
  host_->Write().AddMethod(number_, method::ChannelFlowOk{.active = flow.active});
  return absl::OkStatus();
}

void Channel::Impl::AddConsumer(std::string_view consumer_tag) {
  std::erase(cancelled_, consumer_tag);
  if (!consumer_tag.empty() && FindConsumer(consumer_tag) == nullptr)
    consumers_.emplace_back(consumer_tag);
}

const std::string* Channel::Impl::FindConsumer(std::string_view consumer_tag) const {
  // A channel usually has one consumer, for which the unrolled loop of std::find costs more.
  for (const std::string& tag : consumers_) {
    if (tag == consumer_tag) return &tag;
  }
  return nullptr;
}

absl::Status Channel::Impl::CountForcedAnswer() {
  if (host_->unsent_bytes() == 0) forced_answers_ = 0;
  if (++forced_answers_ <= kMostForcedAnswers) return absl::OkStatus();
  return ProtocolError(ReplyCode::kResourceError, "it demands replies faster than it reads them");
}

absl::Status Channel::Impl::OnDeliver(const method::BasicDeliver& deliver) {
  consumer_ = FindConsumer(deliver.consumer_tag);
  incoming_.Begin(deliver.exchange, deliver.routing_key, max_body_,
                  {.generation = generation_, .tag = deliver.delivery_tag}, deliver.redelivered);
  return absl::OkStatus();
}

absl::Status Channel::Impl::OnReturn(const method::BasicReturn& returned) {
  returned_ = {.code = returned.reply_code, .text = EscapedText(returned.reply_text)};
  incoming_.Begin(returned.exchange, returned.routing_key, adds_bodies_ ? 0 : kMaxBodySize);
  return absl::OkStatus();
}

absl::Status Channel::Impl::OnContent(const FrameView& frame) {
  if (state_ != State::kOpen) return absl::OkStatus();
  absl::Status status = frame.type == FrameType::kHeader ? incoming_.OnHeader(frame.payload)
                                                         : incoming_.OnBody(frame.payload);
  if (!status.ok()) return status;
  if (incoming_.missing() > 0) {
    const bool is_delivery = frame.type == FrameType::kHeader && !returned_;
    const bool is_announced = incoming_.missing() >= ChannelListener::kLeastAnnounced ||
                              incoming_.message()->left_out > 0;
    if (is_delivery && is_announced && consumer_ != nullptr) {
      incoming_.DivertTo(listener_->OnBody(incoming_.message(), incoming_.missing()));
    }
    return absl::OkStatus();
  }
  std::shared_ptr<Message> message = incoming_.Take();
  if (returned_) return OnReturned(*message, *std::exchange(returned_, std::nullopt));
  return OnDelivered(std::move(message));
}

absl::Status Channel::Impl::OnReturned(const Message& message, const Returned& returned) {
  const auto fingerprint = Fingerprint::Of(message.exchange, message.routing_key,
                                           message.properties, message.header, message.body);
  if (confirms_.Return(fingerprint, returned.code, returned.text)) return absl::OkStatus();
  // If this were ignored, the ack that follows would count as a success.
  return ProtocolError(ReplyCode::kInternalError, "it returns a message that was not published");
}

absl::Status Channel::Impl::OnDelivered(std::shared_ptr<Message>&& message) {
  const std::uint64_t tag = message->delivery_tag.tag;
  if (!acks_.OnDelivered(tag)) {
    return ProtocolError(ReplyCode::kPreconditionFailed,
                         absl::StrCat("its delivery tag is out of order: ", tag));
  }
  if (consumer_ == nullptr) {
    // Quorum queues may deliver after cancel-ok; requeue the message for other consumers.
    if (absl::Status status = CountForcedAnswer(); !status.ok()) return status;
    Reject(tag, /*requeue=*/true);
    return absl::OkStatus();
  }
  ++delivered_;
  listener_->OnDelivery(*consumer_, std::move(message));
  return absl::OkStatus();
}

Arrivals Channel::Impl::TakeArrivals() {
  const std::size_t answers = std::exchange(answers_, 0);
  const std::size_t delivered = std::exchange(delivered_, 0);
  const std::size_t confirmed = confirms_.TakeAnswered();
  const auto part = [](std::size_t come, std::size_t all) {
    return all == 0 ? 0.0 : static_cast<double>(come) / static_cast<double>(all);
  };
  return {.count = answers + delivered + confirmed,
          .used_up = acks_.TakeMostOpen() >= prefetch_ ? prefetch_ : 0,
          .unconfirmed = confirms_.size(),
          .share = std::max({answers == 0 ? 0.0 : 1.0, part(delivered, prefetch_),
                             part(confirmed, confirmed + confirms_.size())})};
}

void Channel::Impl::Break(const method::ChannelClose& close) {
  FlushAcks();
  host_->Write().AddMethod(number_, close);
  state_ = State::kClosing;
  incoming_ = IncomingContent();
  const std::string text(close.reply_text);
  Fail({.status = absl::UnavailableError(text)}, text);
}

absl::Status Channel::Impl::OnClose(const method::ChannelClose& close) {
  host_->Write().AddMethod(number_, method::ChannelCloseOk{});
  state_ = State::kFinished;
  Fail({.status = ChannelCloseStatus(close.reply_code, close.reply_text),
        .code = close.reply_code,
        .class_id = close.class_id,
        .method_id = close.method_id},
       EscapedText(close.reply_text));
  return absl::OkStatus();
}

void Channel::Impl::Cut(const absl::Status& why) {
  host_ = nullptr;
  if (state_ != State::kOpen) return;
  state_ = State::kCut;
  closed_why_ = why;
}

void Channel::Impl::Disconnect(const absl::Status& why, std::uint16_t code) {
  const bool is_to_tell = state_ == State::kCut && listener_ != nullptr;
  if (!is_to_tell) return Finish();
  state_ = State::kFinished;
  Fail({.status = why, .code = code}, std::string(why.message()));
}

void Channel::Impl::Finish() {
  state_ = State::kFinished;
  const auto self = shared_from_this();
  for (const std::function<void()>& closed : std::exchange(closed_, {})) {
    if (detached_) return;
    closed();
  }
}

void Channel::Impl::Discard() {
  host_ = nullptr;
  state_ = State::kFinished;
  closed_why_ = absl::UnavailableError("the connection was closed");
  if (!closed_.empty()) FinishLater();
}

void Channel::Impl::FinishLater() {
  executor_->Post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Finish();
  });
}

// A request that is refused by the end of the connection must not be repeated with each new one.
absl::Status Channel::Impl::ErrorOf(const OpenCall& call, const ChannelError& error) const {
  if (!HidesRefusal(error.code, absl::StrCat(call.what, vhost_))) {
    return WithContext(call.what, error.status);
  }
  const bool looks = call.passive.value_or(false);
  const char* const remedy =
      looks          ? "it probably does not exist"
      : call.passive ? "remedy: choose a shorter name, or delete what exists with other arguments"
                     : "the broker's log states the reason";
  return WithContext(
      call.what,
      absl::Status(looks ? absl::StatusCode::kNotFound : absl::StatusCode::kFailedPrecondition,
                   absl::StrCat(error.status.message(),
                                ", as it does instead of refusing a long name that is not ASCII; ",
                                remedy)));
}

void Channel::Impl::Fail(const ChannelError& error, std::string_view text) {
  closed_why_ =
      absl::UnavailableError(absl::StrCat("the channel is closed: ", error.status.message()));
  while (!calls_.empty()) {
    const OpenCall call = calls_.pop_front();
    call.done(ErrorOf(call, error));
  }
  confirms_.FailAll(error.code, text);
  if (listener_ != nullptr) listener_->OnChannelClosed(error);
}

void Channel::Impl::Detach() {
  detached_ = true;
  closed_.clear();
  Close(nullptr);
}

void Channel::Impl::Close(std::function<void()> closed) {
  if (closed != nullptr) closed_.push_back(std::move(closed));
  listener_ = nullptr;
  calls_.clear();
  confirms_.Abandon();
  if (state_ == State::kFinished && !closed_.empty()) FinishLater();
  if (state_ != State::kOpen) return;
  FlushAcks();
  RequeueAll();
  state_ = State::kClosing;
  incoming_ = IncomingContent();
  host_->Write().AddMethod(
      number_, method::ChannelClose{.reply_code = static_cast<std::uint16_t>(ReplyCode::kSuccess)});
}

void Channel::Impl::Publish(const PublishParams& params, PublishConfirms::Callback&& done,
                            std::uint64_t to_come) {
  const auto end_later = [&](PublishOutcome outcome, std::uint16_t code, const char* text) {
    Defer([outcome, code, text, done = std::move(done)](Impl&) {
      done({.outcome = outcome, .code = code, .text = text});
    });
  };
  const auto fail_later = [&](ReplyCode code, const char* text) {
    end_later(PublishOutcome::kUnknown, static_cast<std::uint16_t>(code), text);
  };
  if (!is_open()) return end_later(PublishOutcome::kUnknown, 0, "there is no connection");
  const std::size_t header_size = ContentHeaderSize(params.properties);
  if (params.exchange.size() > kMaxNameSize || params.routing_key.size() > kMaxNameSize ||
      !FitShortStrings(params.properties, header_size)) {
    return fail_later(ReplyCode::kSyntaxError, "a name or property is longer than 255 bytes");
  }
  // RabbitMQ accepts a frame that exceeds the limit by its own header and end (F53 in
  // doc/rabbitmq_facts.md).
  if (header_size > host_->frame_max()) {
    return fail_later(ReplyCode::kFrameError, "the headers do not fit into one frame");
  }
  if (host_->unsent_bytes() >= Connection::kMaxUnsentBytes) {
    return end_later(PublishOutcome::kNotSent, 0, "too many bytes wait to be sent");
  }
  if (unconfirmed() >= Channel::kMaxUnconfirmed) {
    return end_later(PublishOutcome::kNotSent, 0, "too many publishes are unconfirmed");
  }
  const std::string_view frames =
      host_->Write().AddPublish(number_, params, header_size, host_->frame_max(), to_come);
  adds_bodies_ = adds_bodies_ || to_come > 0;
  if (!params.mandatory) return confirms_.Add(Fingerprint(), std::move(done));
  confirms_.Add(params, frames, std::move(done));
}

void Channel::Impl::AddBody(std::string_view part) {
  if (!is_open()) return;
  AppendBodyFrames(number_, part, host_->frame_max(), host_->Write().bytes());
}

void Channel::Impl::Ack(std::uint64_t tag) {
  if (!is_open()) return;
  Settle(tag, AckCoalescer::Kind::kAck);
}

void Channel::Impl::Reject(std::uint64_t tag, bool requeue) {
  if (!is_open()) return;
  Settle(tag, requeue ? AckCoalescer::Kind::kRequeue : AckCoalescer::Kind::kReject);
}

void Channel::Impl::Settle(std::uint64_t tag, AckCoalescer::Kind kind) {
  if (!acks_.pending()) host_->Write();  // one flush sends all that is settled before it
  acks_.Settle(tag, kind);
}

// From 4.3 on, deliveries that a closed channel leaves unsettled count as failed, but those that
// were requeued before do not (F41). Consumers are cancelled first, because they would get the
// messages again at once; that includes consumers that the broker has cancelled for a timeout
// (F42). A consumer that has not started must not be cancelled: the broker would close the
// connection.
void Channel::Impl::RequeueAll() {
  if (acks_.open() == 0) return;
  Outbox& outbox = host_->Write();
  for (const std::list<std::string>* const tags : {&consumers_, &cancelled_}) {
    for (const std::string& tag : *tags) {
      if (std::count(starting_.begin(), starting_.end(), tag) > 0) continue;
      outbox.AddMethod(number_, method::BasicCancel{.consumer_tag = tag, .nowait = true});
    }
  }
  outbox.AddMethod(number_, method::BasicNack{.multiple = true, .requeue = true});
}

void Channel::Impl::FlushAcks() {
  if (!is_open() || !acks_.pending()) return;
  Outbox& outbox = host_->Write();
  acks_.Flush([&](std::uint64_t tag, AckCoalescer::Kind kind, bool multiple) {
    if (kind == AckCoalescer::Kind::kAck) {
      outbox.AddMethod(number_, method::BasicAck{.delivery_tag = tag, .multiple = multiple});
    } else {
      // From 4.3 on, a reject with requeue counts as a failure, but a nack does not (F41 in
      // doc/rabbitmq_facts.md).
      outbox.AddMethod(number_, method::BasicNack{.delivery_tag = tag,
                                                  .multiple = multiple,
                                                  .requeue = kind == AckCoalescer::Kind::kRequeue});
    }
  });
}

}  // namespace retryq::amqp
