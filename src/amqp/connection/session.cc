#include "amqp/connection/session.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "amqp/channel/reply_status.h"
#include "amqp/codec/overloaded.h"
#include "amqp/codec/protocol_error.h"
#include "amqp/codec/text.h"
#include "amqp/codec/wire.h"
#include "base/escaped_text.h"
#include "base/name_size.h"
#include "loop/thrown.h"

namespace retryq::amqp {
namespace {

// The longest time for handling received data in one turn. Slow handlers would otherwise delay
// heartbeats, and the acks of all messages before theirs.
constexpr absl::Duration kLongestTurn = absl::Milliseconds(20);

// The clock is read once for this number of frames: a delivery has three.
constexpr std::size_t kFramesPerLook = 8;

// A frame is moved to its message early only if at least this many bytes of it have not arrived:
// copying a smaller rest later is cheap.
constexpr std::size_t kLargeRest = std::size_t{8} << 10;

// From this average size on, messages count as large: copying one takes longer than reading twice.
constexpr std::size_t kLargeMessage = std::size_t{32} << 10;

// Number of large messages that are read in one turn, each with its part of kLongestTurn.
constexpr int kMostMessagesReadOn = ReadPace::kFull / kLargeMessage;

// Pause while a part of a body cannot be taken: a mebibyte per pause is as fast as data arrives.
constexpr absl::Duration kLookAgain = absl::Milliseconds(2);

// Whether the broker closes a connection with this code because it cannot parse the data that was
// sent, or because its own code fails on this data. Other codes report limits, or come from an
// operator.
bool IsCausedByClient(std::uint16_t code) {
  switch (static_cast<ReplyCode>(code)) {
    case ReplyCode::kFrameError:
    case ReplyCode::kSyntaxError:
    case ReplyCode::kCommandInvalid:
    case ReplyCode::kNotImplemented:
    case ReplyCode::kInternalError:
      return true;
    default:
      return false;
  }
}

// The limit before one is negotiated.
constexpr std::size_t kHandshakeFrameMax = 131072;

// The number of channels if neither end limits it: the channel number of a frame has two bytes.
constexpr std::size_t kMostChannels = 65535;

bool IsOfConnection(const method::Id& id) {
  return id.class_id == method::ConnectionClose::kId.class_id;
}

bool IsOfConnection(const ServerMethod& method) {
  return std::visit([](const auto& m) { return IsOfConnection(m.kId); }, method);
}

// The frame that violated the protocol.
struct FaultyFrame {
  std::string name;  // "method frame basic.deliver on channel 3"
  std::uint16_t channel = 0;
  std::uint16_t class_id = 0;   // of a method frame, else 0
  std::uint16_t method_id = 0;  // likewise
};

std::string TypeName(std::uint8_t type) {
  switch (FrameType{type}) {
    case FrameType::kMethod:
      return "method frame";
    case FrameType::kHeader:
      return "content header frame";
    case FrameType::kBody:
      return "content body frame";
    case FrameType::kHeartbeat:
      return "heartbeat frame";
  }
  return absl::StrCat("frame of type ", type);
}

// Describes the frame that begins with `bytes`, which may be any bytes, as far as possible.
FaultyFrame DescribeFrame(std::string_view bytes) {
  WireReader reader(bytes);
  const auto type = reader.Integer<std::uint8_t>();
  const auto channel = reader.Integer<std::uint16_t>();
  const bool has_channel = reader.ok();
  const auto size = reader.Integer<std::uint32_t>();
  WireReader payload(reader.rest().substr(0, size));

  FaultyFrame frame = {.name = TypeName(type), .channel = channel};
  if (FrameType{type} == FrameType::kMethod) {
    const auto class_id = payload.Integer<std::uint16_t>();
    const auto method_id = payload.Integer<std::uint16_t>();
    if (payload.ok()) {
      frame.class_id = class_id;
      frame.method_id = method_id;
      const std::string name = MethodName(class_id, method_id);
      absl::StrAppend(&frame.name, " ", absl::StripPrefix(name, "method "));
    }
  }
  if (has_channel) absl::StrAppend(&frame.name, " on channel ", channel);
  return frame;
}

template <typename Method>
absl::Status Give(std::string_view payload, Channel::Impl& channel) {
  Method method;
  if (absl::Status status = ReadMethod(payload, &method); !status.ok()) return status;
  return channel.OnMethod(method);
}

}  // namespace

Session::Session(EventLoop& loop, const ConnectionOptions& options, const TlsContext* tls,
                 const Endpoint& endpoint, const SocketAddress& address, absl::Duration spent,
                 std::shared_ptr<ReadPace> pace, SessionOwner* owner)
    : loop_(loop),
      options_(options),
      tls_(tls),
      endpoint_(endpoint),
      owner_(owner),
      handshake_(options, endpoint),
      link_(std::make_unique<Link>(loop.base(), address, this)),
      pace_(std::move(pace)),
      handle_rest_(evtimer_new(
          loop.base(),
          [](evutil_socket_t, short, void* self) {
            CallFromC("a callback of the AMQP connection",
                      [self] { static_cast<Session*>(self)->HandleInput(); });
          },
          this)),
      channels_(1) {
  pace_->Reset();
  EndAfter(options.connection_timeout, "does not accept the connection", spent);
}

Session::~Session() = default;

std::shared_ptr<Channel::Impl> Session::OpenChannel(ChannelListener* listener) {
  std::size_t number = 1;
  const auto is_taken = [this](std::size_t taken) {
    return channels_[taken] != nullptr && !channels_[taken]->finished();
  };
  while (number < channels_.size() && is_taken(number)) ++number;
  const std::size_t limit = handshake_.tuning().channel_max;
  if (number > (limit == 0 ? kMostChannels : limit)) return nullptr;
  if (number == channels_.size()) channels_.emplace_back();
  channels_[number] =
      Channel::Impl::Open(this, static_cast<std::uint16_t>(number), listener, loop_.executor());
  return channels_[number];
}

Outbox& Session::Write() { return link_->Write(); }

void Session::OnConnected() {
  if (tls_ == nullptr) {
    pace_->Reset(link_->RoundTrip());
    link_->StartPlain();
    return ShakeHands();
  }
  state_ = State::kSecuring;
  EndAfter(options_.tls_timeout, "does not finish the TLS handshake");
  const absl::Status started = link_->StartTls(*tls_, endpoint_.host);
  if (!started.ok()) OnTlsFailed(started);
}

void Session::OnSecured() { ShakeHands(); }

void Session::ShakeHands() {
  state_ = State::kShakingHands;
  EndAfter(options_.handshake_timeout, "accepts the connection but does not reply");
  handshake_.Begin(Write().bytes());
}

void Session::EndAfter(absl::Duration limit, const char* why, absl::Duration spent) {
  deadline_ = loop_.After(limit - spent, [this, limit, why] {
    End(absl::UnavailableError(absl::StrCat(Describe(endpoint_), " ", why, " within ",
                                            absl::FormatDuration(limit),
                                            ": is it the right host and port?")));
  });
}

void Session::BeforeFlush() {
  for (const auto& channel : channels_) {
    if (channel != nullptr) channel->FlushAcks();
  }
  if (heartbeat_ && !Write().empty()) heartbeat_->OnSent();
}

void Session::OnHungUp(const std::string& why) {
  const auto self = shared_from_this();
  if (state_ == State::kConnecting) {
    const bool is_ours = why == std::strerror(EMFILE) || why == std::strerror(ENFILE);
    return End(
        absl::UnavailableError(absl::StrCat("cannot connect to ", Describe(endpoint_), ": ", why,
                                            is_ours ? "" : "; is RabbitMQ running on that host?")));
  }
  if (state_ == State::kShakingHands) return End(handshake_.OnHungUp());
  End(absl::UnavailableError(absl::StrCat("connection to ", Describe(endpoint_), " lost: ", why)));
}

void Session::OnTlsFailed(const absl::Status& why) {
  const auto self = shared_from_this();
  End(WithContext(Describe(endpoint_), why));
}

bool Session::OnInput(std::size_t body_size) {
  if (heartbeat_) heartbeat_->OnReceived();
  const auto self = shared_from_this();
  const absl::Duration end = loop_.clock().SinceBoot() + kLongestTurn / kMostMessagesReadOn;
  InputBuffer& input = *link_->input();
  const auto head = body_size > 0 ? FrontBody(input) : std::nullopt;
  if (head) OnBodyTaken(input, *head, body_size, /*copied=*/false);
  HandleInput();
  return state_ != State::kEnded && !rest_is_due_ && loop_.clock().SinceBoot() < end;
}

void Session::HandleInput() {
  const auto self = shared_from_this();
  const std::shared_ptr<InputBuffer> input = link_->input();
  if (std::exchange(rest_is_due_, false)) {
    event_del(handle_rest_.get());
    link_->ResumeReading();
  }
  const std::size_t handled = HandleFrames(input->bytes());
  input->Consumed(handled);
  handled_bytes_ += handled;
  if (state_ == State::kEnded || rest_is_due_) return;
  TakeLargeBody(*input);
  SetPace();
}

std::span<char> Session::BodyRoom() {
  // Only data directly after the head is payload.
  const InputBuffer& input = *link_->input();
  if (input.bytes().size() != kFrameHeadSize) return {};
  const std::optional<FrameHead> head = FrontBody(input);
  return head ? BodyRoom(*head) : std::span<char>();
}

void Session::TakeLargeBody(InputBuffer& input) {
  const std::optional<FrameHead> head = FrontBody(input);
  if (!head || head->frame_size() < input.bytes().size() + kLargeRest) return;
  const std::span<char> room = BodyRoom(*head);
  const std::size_t size = input.bytes().substr(kFrameHeadSize).copy(room.data(), room.size());
  if (size > 0) OnBodyTaken(input, *head, size, /*copied=*/true);
}

std::optional<FrameHead> Session::FrontBody(const InputBuffer& input) const {
  if (state_ != State::kOpen) return std::nullopt;
  const absl::StatusOr<std::optional<FrameHead>> head = PeekFrame(input.bytes(), frame_limit());
  if (!head.ok() || !*head || (*head)->type != FrameType::kBody) return std::nullopt;
  return **head;
}

std::span<char> Session::BodyRoom(const FrameHead& head) const {
  Channel::Impl* const channel = FindChannel(head.channel);
  return channel == nullptr ? std::span<char>() : channel->BodyRoom(head.payload_size);
}

void Session::OnBodyTaken(InputBuffer& input, const FrameHead& head, std::size_t size,
                          bool copied) {
  FindChannel(head.channel)->BodyAdded(size);
  handled_bytes_ += size;
  std::string rest;
  AppendFrameHead(head.type, head.channel, head.payload_size - size, &rest);
  input.Replace(kFrameHeadSize + (copied ? size : 0), rest);
}

void Session::SetPace() {
  Arrivals arrivals = {.bytes = std::exchange(handled_bytes_, 0)};
  for (const auto& channel : channels_) {
    if (channel != nullptr) arrivals.Add(channel->TakeArrivals());
  }
  if (arrivals.count > 0) link_->ExpectLarge(arrivals.bytes / arrivals.count >= kLargeMessage);
  link_->Gather(pace_->After(arrivals, loop_.clock().SinceBoot()));
}

std::size_t Session::frame_limit() const {
  return frame_max() == 0 ? kHandshakeFrameMax : frame_max();
}

std::size_t Session::HandleFrames(std::string_view bytes) {
  const absl::Duration end = loop_.clock().SinceBoot() + kLongestTurn;
  const std::size_t limit = frame_limit();
  std::string_view rest = bytes;
  FrameView frame;
  for (std::size_t frames = 1; state_ != State::kEnded; ++frames) {
    if (frames % kFramesPerLook == 0 && !rest.empty() && loop_.clock().SinceBoot() > end) {
      HandleRestAfter(absl::ZeroDuration());
      break;
    }
    if (!ReadFrame(rest, limit, &frame)) {
      const absl::Status fault = NextFrame(rest, limit).status();
      if (!fault.ok()) OnProtocolError(rest, fault);
      break;
    }
    Channel::Impl* const channel = state_ == State::kClosing ? nullptr : FindChannel(frame.channel);
    if (frame.type == FrameType::kBody && channel != nullptr && channel->IsFull()) {
      if (heartbeat_) heartbeat_->OnReceived();  // the next data of the peer stays in the socket
      HandleRestAfter(kLookAgain);
      break;
    }
    const absl::Status status = channel == nullptr ? OnFrameWithoutChannel(frame)
                                : frame.type == FrameType::kMethod
                                    ? OnChannelMethod(frame, *channel)
                                    : channel->OnContent(frame);
    if (!status.ok()) OnProtocolError(rest, status);
    rest.remove_prefix(frame.frame_size());
  }
  return bytes.size() - rest.size();
}

// If reading continued, the input could grow without limit.
void Session::HandleRestAfter(absl::Duration pause) {
  link_->PauseReading();
  rest_is_due_ = true;
  StartTimer(handle_rest_.get(), pause);
}

absl::Status Session::OnConnectionFrame(const FrameView& frame) {
  if (frame.type == FrameType::kHeartbeat) return absl::OkStatus();
  if (frame.type != FrameType::kMethod) {
    return ProtocolError(ReplyCode::kChannelError, "channel 0 carries no content");
  }
  const absl::StatusOr<ServerMethod> method = DecodeServerMethod(frame.payload);
  return method.ok() ? OnMethod(*method) : method.status();
}

Channel::Impl* Session::FindChannel(std::uint16_t number) const {
  return number < channels_.size() ? channels_[number].get() : nullptr;
}

absl::Status Session::OnFrameWithoutChannel(const FrameView& frame) {
  if (frame.channel == 0) return OnConnectionFrame(frame);
  if (state_ == State::kClosing) return absl::OkStatus();
  return ProtocolError(ReplyCode::kChannelError, "the channel is not open");
}

absl::Status Session::OnChannelMethod(const FrameView& frame, Channel::Impl& channel) {
  const std::string_view payload = frame.payload;
  // The two methods that are sent for each message are checked first.
  if (IsMethod<method::BasicDeliver>(payload)) return Give<method::BasicDeliver>(payload, channel);
  if (IsMethod<method::BasicAck>(payload)) return Give<method::BasicAck>(payload, channel);
  const absl::StatusOr<ServerMethod> method = DecodeServerMethod(payload);
  if (!method.ok()) return method.status();
  if (IsOfConnection(*method)) {
    return ProtocolError(ReplyCode::kCommandInvalid, "it must be on channel 0");
  }
  // If it is closed, the channels that are opened in its callbacks may take its number.
  const std::shared_ptr<Channel::Impl> kept = channels_[frame.channel];
  absl::Status status = channel.OnMethod(*method);
  const bool is_over = state_ != State::kEnded && channel.finished();
  if (is_over && channels_[frame.channel] == kept) channels_[frame.channel] = nullptr;
  return status;
}

absl::Status Session::OnMethod(const ServerMethod& method) {
  if (state_ == State::kShakingHands) return OnHandshakeMethod(method);
  return std::visit(
      Overloaded{
          [this](const method::ConnectionClose& m) {
            Write().AddMethod(0, method::ConnectionCloseOk{});
            End(absl::UnavailableError(absl::StrCat(Describe(endpoint_), " closed the connection: ",
                                                    m.reply_code, " ", EscapedText(m.reply_text))),
                IsCausedByClient(m.reply_code) ? m.reply_code : std::uint16_t{0});
            return absl::OkStatus();
          },
          [this](const method::ConnectionCloseOk&) {
            if (state_ != State::kClosing) {
              return ProtocolError(ReplyCode::kCommandInvalid, "no call awaits this reply");
            }
            End(absl::UnavailableError("closed on request"));
            return absl::OkStatus();
          },
          [this](const method::ConnectionBlocked& m) {
            if (is_open()) owner_->OnSessionBlocked(true, EscapedText(m.reason));
            return absl::OkStatus();
          },
          [this](const method::ConnectionUnblocked&) {
            if (is_open()) owner_->OnSessionBlocked(false, "");
            return absl::OkStatus();
          },
          [this](const method::ConnectionUpdateSecretOk&) {
            if (new_secrets_.empty()) {
              return ProtocolError(ReplyCode::kCommandInvalid, "no call awaits this reply");
            }
            new_secrets_.pop_front()(absl::OkStatus());
            return absl::OkStatus();
          },
          [](const auto& m) {
            return ProtocolError(ReplyCode::kCommandInvalid,
                                 IsOfConnection(m.kId) ? "it arrived out of order"
                                                       : "it must be on a channel other than 0");
          },
      },
      method);
}

absl::Status Session::OnHandshakeMethod(const ServerMethod& method) {
  const absl::StatusOr<bool> open = handshake_.OnMethod(method, Write().bytes());
  if (absl::IsInternal(open.status())) return open.status();
  if (!open.ok()) {
    End(open.status());
  } else if (*open) {
    state_ = State::kOpen;
    deadline_.reset();
    heartbeat_.emplace(
        loop_, handshake_.tuning().heartbeat,
        Heartbeat::Callbacks{
            .send = [this] { Write().AddHeartbeat(); },
            .dead =
                [this] {
                  End(absl::UnavailableError(absl::StrCat(
                      "connection to ", Describe(endpoint_), " lost: nothing received for ",
                      absl::FormatDuration(2 * handshake_.tuning().heartbeat))));
                },
        });
    owner_->OnSessionOpen();
  }
  return absl::OkStatus();
}

void Session::UpdateSecret(std::string_view secret, std::function<void(absl::Status)> done) {
  Write().AddMethod(
      0, method::ConnectionUpdateSecret{.new_secret = {secret}, .reason = "it would expire"});
  new_secrets_.push_back(std::move(done));
}

void Session::Close() {
  new_secrets_.clear();
  BeforeFlush();
  SendClose({.reply_code = static_cast<std::uint16_t>(ReplyCode::kSuccess)});
  state_ = State::kClosing;
}

void Session::OnProtocolError(std::string_view bytes, const absl::Status& error) {
  if (state_ == State::kEnded) return;
  const ReplyCode code = ReplyCodeOf(error);
  const FaultyFrame frame = DescribeFrame(bytes);
  const std::string text = absl::StrCat(frame.name, ": ", error.message());
  const auto fill = [&](auto close) {
    close.reply_code = static_cast<std::uint16_t>(code);
    close.reply_text = std::string_view(text).substr(0, kMaxNameSize);
    close.class_id = frame.class_id;
    close.method_id = frame.method_id;
    return close;
  };
  if (EndsChannelOnly(code)) return channels_[frame.channel]->Break(fill(method::ChannelClose()));
  // If no limits have been negotiated yet, the connection is closed without a message.
  if (frame_max() != 0 && state_ != State::kClosing) SendClose(fill(method::ConnectionClose()));
  // Possibly only the first byte has arrived.
  const std::string_view begins = link_->input()->bytes().substr(0, 4);
  if (state_ == State::kShakingHands && !begins.empty() &&
      std::string_view("HTTP").starts_with(begins)) {
    return End(absl::UnavailableError(
        absl::StrCat(Describe(endpoint_),
                     " answers in HTTP and not in AMQP: is it a RabbitMQ, and its port for "
                     "AMQP?")));
  }
  End(absl::UnavailableError(
      absl::StrCat(Describe(endpoint_), " violates the protocol with a ", text)));
}

void Session::SendClose(const method::ConnectionClose& close) { Write().AddMethod(0, close); }

void Session::End(const absl::Status& why, std::uint16_t code) {
  const auto self = shared_from_this();
  const auto channels = TakeChannels();
  Ring<std::function<void(absl::Status)>> new_secrets = std::exchange(new_secrets_, {});
  for (const auto& channel : channels) {
    if (channel != nullptr) channel->Cut(why);
  }
  std::exchange(owner_, nullptr)->OnSessionEnded(why);
  while (!new_secrets.empty()) new_secrets.pop_front()(why);
  for (const auto& channel : channels) {
    if (channel != nullptr) channel->Disconnect(why, code);
  }
}

void Session::GiveUp(const absl::Status& why) {
  BeforeFlush();
  SendClose({.reply_code = static_cast<std::uint16_t>(ReplyCode::kSuccess)});
  End(why);
}

void Session::Abandon() {
  if (state_ == State::kEnded) return;
  if (state_ == State::kOpen) Close();
  owner_ = nullptr;
  for (const auto& channel : TakeChannels()) {
    if (channel != nullptr) channel->Discard();
  }
}

std::vector<std::shared_ptr<Channel::Impl>> Session::TakeChannels() {
  state_ = State::kEnded;
  link_.reset();
  deadline_.reset();
  handle_rest_.reset();
  rest_is_due_ = false;
  heartbeat_.reset();
  // The channels are also kept here: the frame that ends the session may belong to one of them.
  return channels_;
}

}  // namespace retryq::amqp
