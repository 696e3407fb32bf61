#include "retryq/amqp/connection.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "amqp/channel/channel_impl.h"
#include "amqp/codec/frame.h"
#include "amqp/connection/handshake.h"
#include "amqp/connection/session.h"
#include "amqp/transport/process_name.h"
#include "amqp/transport/read_pace.h"
#include "amqp/transport/resolver.h"
#include "amqp/transport/tls_context.h"
#include "loop/call_after.h"
#include "loop/pauses.h"

namespace retryq::amqp {
namespace {

// How long a close waits for a broker that has accepted the connection but has not sent a byte: the
// broker would log an earlier end as an error of the client.
constexpr absl::Duration kFirstReply = absl::Milliseconds(200);
// The largest secret; it fits into the smallest frame_max with its method.
constexpr std::size_t kMaxSecret = 8000;
constexpr std::size_t kSecretOverhead = 64;  // of its frame, including the reason
constexpr absl::Duration kShortestRenewal = absl::Seconds(1);

// Whether the error would be the same at another endpoint, or soon again.
bool IsRefusal(const absl::Status& status) {
  return absl::IsUnauthenticated(status) || absl::IsPermissionDenied(status) ||
         absl::IsNotFound(status) || absl::IsInvalidArgument(status);
}

// Shuffles so that all orders are equally likely (Fisher and Yates). The bias of the remainder is
// not measurable for lists that fit into memory.
void Shuffle(std::vector<Endpoint>* endpoints, Random& random) {
  for (std::size_t left = endpoints->size(); left > 1; --left) {
    std::swap((*endpoints)[random.Next() % left], (*endpoints)[left - 1]);
  }
}

}  // namespace

// Makes sessions, one after the other. A round tries every address of every endpoint; after a round
// without success there is a pause.
class Connection::Impl final : public std::enable_shared_from_this<Impl>, public SessionOwner {
 public:
  Impl(EventLoop& loop, ConnectionOptions options, ConnectionListener* listener,
       OptionsSource source)
      : loop_(loop),
        options_(std::move(options)),
        source_(std::move(source)),
        listener_(listener),
        pauses_(options_.reconnect_initial, options_.reconnect_max),
        pace_(std::make_shared<ReadPace>(options_.read_coalescing)),
        resolver_(loop_, loop_.executor()) {
    if (options_.connection_name.empty()) options_.connection_name = ProcessName();
  }

  void Start() {
    const absl::Status usable = Validate(options_);
    if (usable.ok()) return BeginRoundAfter(absl::ZeroDuration());
    // The options are invalid, so there is no retry.
    timer_ = loop_.After(absl::ZeroDuration(), [this, usable] { listener_->OnLost(usable); });
  }

  void Destroy() {
    destroyed_ = true;
    Shutdown();
  }

  void Shutdown() {
    listener_ = nullptr;
    timer_.reset();
    renewal_.reset();
    resolver_.Forget();
    if (session_ != nullptr) std::exchange(session_, nullptr)->Abandon();
  }

  void Close(absl::Duration deadline, std::function<void()> closed) {
    listener_ = nullptr;
    closed_.push_back(std::move(closed));
    const absl::Duration now = loop_.clock().SinceBoot();
    if (is_open()) {
      session_->Close();
    } else if (close_by_ && *close_by_ <= now + deadline) {
      return;
    } else if (!close_by_ && (session_ == nullptr || !session_->is_shaking_hands())) {
      Shutdown();
      deadline = absl::ZeroDuration();
    } else if (session_ != nullptr && !session_->has_heard_broker()) {
      deadline = std::min(deadline, kFirstReply);
    }
    close_by_ = now + deadline;
    timer_ = loop_.After(deadline, [this] { FinishClose(); });
  }

  void Reconnect(const absl::Status& why) {
    if (!is_open()) return;
    loop_.executor()->Post([weak = std::weak_ptr(session_), why] {
      const auto session = weak.lock();
      if (session != nullptr && session->is_open()) session->GiveUp(why);
    });
  }

  void RestartPauses() { pauses_.Restart(); }

  void UpdateSecret(std::string secret, std::function<void(absl::Status)> done) {
    absl::Status answer;
    if (secret.size() > kMaxSecret) {
      answer = absl::InvalidArgumentError(
          absl::StrCat("the new secret is longer than ", kMaxSecret, " bytes"));
    } else if (secret.find('\0') != std::string::npos) {
      answer = absl::InvalidArgumentError("the new secret must not contain NUL");
    } else if (is_open() && secret.size() + kSecretOverhead > frame_max_) {
      answer = absl::InvalidArgumentError(absl::StrCat(
          "the new secret has ", secret.size(),
          " bytes, which do not fit into a frame: the connection's frame_max is ", frame_max_));
    } else {
      options_.password = std::move(secret);
      if (is_open()) return session_->UpdateSecret(options_.password, std::move(done));
    }
    loop_.executor()->Post([weak = weak_from_this(), answer, done = std::move(done)] {
      const auto self = weak.lock();
      if (self != nullptr && self->listener_ != nullptr) done(answer);
    });
  }

  void FollowPaceOf(const Impl& leader) { pace_->Follow(leader.pace_); }

  bool is_open() const { return session_ != nullptr && session_->is_open(); }

  std::shared_ptr<Channel::Impl> OpenChannel(ChannelListener* listener) {
    if (!is_open()) {
      return Channel::Impl::Closed(absl::UnavailableError("there is no connection"), listener,
                                   loop_.executor());
    }
    if (auto channel = session_->OpenChannel(listener)) return channel;
    // If the connection may have only one channel, waiting for another one to close does not help.
    return Channel::Impl::Closed(
        session_->channel_max() == 1
            ? absl::FailedPreconditionError(
                  "the connection may have one channel, and retrying needs several: raise "
                  "channel_max, in rabbitmq.conf and in the URL")
            : absl::UnavailableError("no channel is left: raise channel_max, on the broker too"),
        listener, loop_.executor());
  }

  std::size_t max_header_size() const {
    return (frame_max_ == 0 ? FrameMax(options_) : frame_max_) - kFrameOverhead;
  }
  const std::string& server_version() const { return server_version_; }
  std::size_t unsent_bytes() const { return session_ == nullptr ? 0 : session_->unsent_bytes(); }

 private:
  // The files may have been replaced since they were last read, or may be replaced at the moment.
  absl::Status ReadTlsFiles() {
    if (!options_.tls) return absl::OkStatus();
    absl::StatusOr<TlsContext> context = TlsContext::Create(*options_.tls);
    if (!context.ok()) return absl::UnavailableError(context.status().message());
    tls_ = *std::move(context);
    return absl::OkStatus();
  }

  absl::Duration NextPause() { return pauses_.Next(loop_.clock().SinceBoot(), loop_.random()); }

  void BeginRoundAfter(absl::Duration pause) {
    timer_ = loop_.After(pause, [this] { BeginRound(); });
  }

  void BeginRound() {
    const auto self = shared_from_this();
    absl::Status ready = Renew();
    if (listener_ == nullptr) return;  // the source closed or destroyed the connection
    if (ready.ok()) ready = ReadTlsFiles();
    if (!ready.ok()) {
      BeginRoundAfter(IsRefusal(ready) ? pauses_.Longest(loop_.random()) : NextPause());
      return listener_->OnLost(ready);
    }
    if (options_.shuffle_endpoints) Shuffle(&options_.endpoints, loop_.random());
    endpoint_ = 0;
    failures_.clear();
    ResolveEndpoint();
  }

  // Adopts the options that may change.
  absl::Status Renew() {
    if (source_ == nullptr) return absl::OkStatus();
    absl::StatusOr<ConnectionOptions> now = source_();
    if (!now.ok()) {
      return absl::UnavailableError(
          absl::StrCat("the source of the connection's options: ", now.status().message()));
    }
    ConnectionOptions renewed = options_;
    renewed.endpoints = now->endpoints;
    renewed.user = now->user;
    renewed.password = now->password;
    renewed.password_expires = now->password_expires;
    now->connection_name = renewed.connection_name;
    if (*now != renewed) {
      return absl::InvalidArgumentError(
          "the source of the connection's options changes more than endpoints, user and password; "
          "start anew for that");
    }
    if (absl::Status usable = Validate(renewed); !usable.ok()) return usable;
    options_ = std::move(renewed);
    return absl::OkStatus();
  }

  // While the connection is open: asks for the next password before this one expires. If there is
  // no next password, the broker ends the connection, and the next attempt reports the reason.
  void RenewPasswordInTime() {
    renewal_.reset();
    if (source_ == nullptr || options_.password_expires == absl::InfiniteFuture()) return;
    const absl::Duration left = options_.password_expires - loop_.clock().Now();
    CallAfter(loop_, std::max(left * 4 / 5, kShortestRenewal), renewal_, [this] {
      const auto self = shared_from_this();
      absl::StatusOr<ConnectionOptions> now = source_();
      if (listener_ == nullptr) return;  // the source closed or destroyed the connection
      if (now.ok()) {
        options_.password_expires = now->password_expires;
        if (now->password != options_.password) {
          UpdateSecret(std::move(now->password), [](const absl::Status&) {});
        }
      }
      RenewPasswordInTime();
    });
  }

  void ResolveEndpoint() {
    const absl::Duration begun = loop_.clock().SinceBoot();
    resolver_.Resolve(options_.endpoints[endpoint_], options_.connection_timeout,
                      [this, begun](SocketAddresses addresses) {
                        address_ = 0;
                        if (!addresses.ok()) {
                          addresses_.clear();
                          return TryNext(addresses.status());
                        }
                        addresses_ = *std::move(addresses);
                        ConnectToAddress(loop_.clock().SinceBoot() - begun);
                      });
  }

  // `spent`: the part of connection_timeout that has passed.
  void ConnectToAddress(absl::Duration spent = absl::ZeroDuration()) {
    session_ = std::make_shared<Session>(loop_, options_, tls_ ? &*tls_ : nullptr,
                                         options_.endpoints[endpoint_], addresses_[address_], spent,
                                         pace_, this);
  }

  // Continues after an address, or all addresses of an endpoint, that could not be connected to.
  void TryNext(const absl::Status& why) {
    failures_.emplace_back(why.message().data(), why.message().size());
    if (++address_ < addresses_.size()) return ConnectToAddress();
    if (++endpoint_ < options_.endpoints.size()) return ResolveEndpoint();
    BeginRoundAfter(NextPause());
    listener_->OnLost(absl::UnavailableError(absl::StrJoin(failures_, "; ")));
  }

  void OnSessionOpen() override {
    resolver_.Forget();
    // RabbitMQ logs an error for a client that closes the socket during the handshake.
    if (listener_ == nullptr) return session_->Close();
    pauses_.Succeeded(loop_.clock().SinceBoot());
    was_open_ = true;
    frame_max_ = session_->frame_max();
    server_version_ = session_->server_version();
    RenewPasswordInTime();
    listener_->OnOpen();
  }

  void OnSessionBlocked(bool blocked, std::string_view reason) override {
    if (listener_ != nullptr) listener_->OnBlocked(blocked, reason);
  }

  void OnSessionEnded(const absl::Status& why) override {
    const auto self = shared_from_this();
    session_ = nullptr;
    renewal_.reset();
    if (listener_ == nullptr) return FinishClose();
    const bool was_open = std::exchange(was_open_, false);
    if (!was_open && !IsRefusal(why)) return TryNext(why);
    BeginRoundAfter(was_open ? NextPause() : pauses_.Longest(loop_.random()));
    listener_->OnLost(why);
  }

  void FinishClose() {
    const auto self = shared_from_this();
    close_by_.reset();
    const std::vector<std::function<void()>> all = std::exchange(closed_, {});
    Shutdown();
    for (const std::function<void()>& closed : all) {
      if (destroyed_) return;
      if (closed) closed();
    }
  }

  EventLoop& loop_;
  ConnectionOptions options_;
  const OptionsSource source_;  // may be null
  std::optional<TlsContext> tls_;
  ConnectionListener* listener_;               // null once closing
  std::vector<std::function<void()>> closed_;  // callbacks of `Close`
  std::optional<absl::Duration> close_by_;     // time limit of closing, if any
  bool destroyed_ = false;

  Pauses pauses_;
  const std::shared_ptr<ReadPace> pace_;
  std::unique_ptr<Timer> timer_;    // of the next round, or of closing
  std::unique_ptr<Timer> renewal_;  // of the password
  Resolver resolver_;
  std::size_t endpoint_ = 0;  // of this round
  std::vector<SocketAddress> addresses_;
  std::size_t address_ = 0;
  std::vector<std::string> failures_;  // of this round

  std::shared_ptr<Session> session_;  // null between attempts
  bool was_open_ = false;
  std::size_t frame_max_ = 0;  // of the last session
  std::string server_version_;
};

Connection::Connection(EventLoop& loop, ConnectionOptions options, ConnectionListener* listener,
                       OptionsSource source)
    : impl_(std::make_shared<Impl>(loop, std::move(options), listener, std::move(source))) {
  impl_->Start();
}

Connection::~Connection() { impl_->Destroy(); }

void Connection::Close(Duration deadline, std::function<void()> closed) {
  impl_->Close(deadline, std::move(closed));
}

void Connection::Reconnect(const absl::Status& why) { impl_->Reconnect(why); }

void Connection::RestartPauses() { impl_->RestartPauses(); }

void Connection::UpdateSecret(std::string secret, std::function<void(absl::Status)> done) {
  impl_->UpdateSecret(std::move(secret), std::move(done));
}

void Connection::FollowPaceOf(const Connection& leader) { impl_->FollowPaceOf(*leader.impl_); }

bool Connection::is_open() const { return impl_->is_open(); }
std::unique_ptr<Channel> Connection::OpenChannel(ChannelListener* listener) {
  return std::make_unique<Channel>(impl_->OpenChannel(listener));
}
std::size_t Connection::max_header_size() const { return impl_->max_header_size(); }
std::string Connection::server_version() const { return impl_->server_version(); }
std::size_t Connection::unsent_bytes() const { return impl_->unsent_bytes(); }

}  // namespace retryq::amqp
