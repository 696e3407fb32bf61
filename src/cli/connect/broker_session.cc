#include "cli/connect/broker_session.h"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/text/io.h"
#include "retryq/amqp/table.h"

namespace retryq::cli {
namespace {

// A string where the broker requires a number.
constexpr char kNoNumber[] = "no number";

// If the broker refuses the arguments, all earlier checks have passed.
absl::Status OkIfArgumentsAreRefused(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) ? absl::OkStatus() : status;
}

absl::Status StatusOf(const PublishResult& result) {
  constexpr std::uint16_t kAccessRefused = 403;
  constexpr std::uint16_t kNotFound = 404;
  const std::string text = absl::StrCat(result.code, " ", std::string(result.text));
  switch (result.outcome) {
    case PublishOutcome::kConfirmed:
    case PublishOutcome::kReturned:
      return absl::OkStatus();
    case PublishOutcome::kNacked:
      return absl::UnavailableError("the broker has refused a publish (basic.nack)");
    case PublishOutcome::kUnknown:
      break;
  }
  if (result.code == kAccessRefused) return absl::PermissionDeniedError(text);
  if (result.code == kNotFound) return absl::NotFoundError(text);
  return absl::UnavailableError(result.code == 0 ? "the connection was lost" : text);
}

}  // namespace

void SayGoodbye(EventLoop& loop, amqp::Connection& connection) {
  bool is_closed = false;
  connection.Close(kGoodbye, [&] {
    is_closed = true;
    loop.Stop();
  });
  while (!is_closed) loop.Run().IgnoreError();  // the status of the command is known
}

void SayGoodbye(EventLoop& loop) {
  bool is_over = false;
  const std::unique_ptr<Timer> over = loop.After(kGoodbye, [&] {
    is_over = true;
    loop.Stop();
  });
  loop.Drain();
  // If Fail was called before, Run only returns its error, so the loop runs a second time.
  if (!loop.Run().ok() && !is_over) loop.Run().IgnoreError();
}

HeldSignals::HeldSignals(EventLoop& loop, Afterwards afterwards) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction current = {};
    sigaction(number, nullptr, &current);
    if (current.sa_handler == SIG_IGN) continue;  // by nohup, for example
    // libevent saves this action and restores it at the end.
    if (afterwards == Afterwards::kIgnored) std::signal(number, SIG_IGN);
    EventPtr& event = held_.emplace_back(evsignal_new(
        loop.base(), number, [](evutil_socket_t, short, void*) {}, nullptr));
    event_add(event.get(), nullptr);
  }
}

amqp::ConnectionOptions WithPatience(amqp::ConnectionOptions options, absl::Duration patience) {
  const auto endpoints =
      static_cast<std::int64_t>(std::max<std::size_t>(1, options.endpoints.size()));
  for (absl::Duration* step :
       {&options.connection_timeout, &options.tls_timeout, &options.handshake_timeout}) {
    *step = std::min(*step, patience / endpoints);
  }
  return options;
}

BrokerSession::BrokerSession(EventLoop& loop, amqp::ConnectionOptions options,
                             absl::Duration patience)
    : loop_(loop),
      broker_(amqp::Describe(options)),
      patience_(patience),
      connection_(loop, WithPatience(std::move(options), patience), this) {}

BrokerSession::~BrokerSession() { SayGoodbye(loop_, connection_); }

absl::Status BrokerSession::Open() {
  const Waiting waiting(loop_, broker_);
  const std::unique_ptr<Timer> timer =
      loop_.After(patience_ + absl::Milliseconds(500), [this] { loop_.Stop(); });
  while (!opened_) {
    loop_.Run().IgnoreError();  // nothing here fails a loop
    if (!opened_) opened_ = absl::UnavailableError("the broker does not answer");
  }
  return *opened_;
}

void BrokerSession::OnOpen() {
  if (!opened_) opened_ = absl::OkStatus();
  loop_.Stop();
}

void BrokerSession::OnLost(const absl::Status& why) {
  if (opened_) return;
  opened_ = why;
  loop_.Stop();
}

void BrokerSession::OnBlocked(bool blocked, std::string_view /*reason*/) {
  blocked_ = blocked;
  if (blocked) loop_.Stop();  // no more replies follow
}

// The request has already received its reply.
void BrokerSession::OnChannelClosed(const amqp::ChannelError& /*why*/) {}

template <typename Answer>
Answer BrokerSession::Ask(
    const std::function<void(amqp::Channel&, std::function<void(Answer)>)>& ask) {
  if (blocked_) return absl::UnavailableError("the broker blocks this connection (an alarm)");
  if (silent_) return absl::DeadlineExceededError("the broker does not answer any more");
  std::optional<Answer> answer;
  const Waiting waiting(loop_, broker_);
  const std::unique_ptr<Timer> timer = loop_.After(patience_, [this] { loop_.Stop(); });
  const std::unique_ptr<amqp::Channel> channel = connection_.OpenChannel(this);
  ask(*channel, [this, &answer](Answer given) {
    answer.emplace(std::move(given));
    loop_.Stop();
  });
  loop_.Run().IgnoreError();
  if (answer) return *std::move(answer);
  if (blocked_) return absl::UnavailableError("the broker blocks this connection (an alarm)");
  silent_ = true;
  return absl::DeadlineExceededError(
      absl::StrCat("the broker has not answered within ", absl::FormatDuration(patience_)));
}

absl::StatusOr<DeclareOk> BrokerSession::DeclareQueue(const QueueDeclaration& queue) {
  return Ask<absl::StatusOr<DeclareOk>>(
      [&](amqp::Channel& channel, auto done) { channel.DeclareQueue(queue, std::move(done)); });
}

absl::Status BrokerSession::DeclareExchange(const ExchangeDeclaration& exchange) {
  return Ask<absl::Status>([&](amqp::Channel& channel, auto done) {
    channel.DeclareExchange(exchange, std::move(done));
  });
}

absl::Status BrokerSession::CheckExchange(std::string_view exchange) {
  return Ask<absl::Status>(
      [&](amqp::Channel& channel, auto done) { channel.CheckExchange(exchange, std::move(done)); });
}

absl::Status BrokerSession::Bind(std::string_view queue, std::string_view exchange) {
  return Ask<absl::Status>([&](amqp::Channel& channel, auto done) {
    channel.BindQueue(queue, exchange, /*routing_key=*/"", {}, std::move(done));
  });
}

absl::Status BrokerSession::DeleteQueue(std::string_view queue) {
  return Ask<absl::Status>([&](amqp::Channel& channel, auto done) {
    channel.DeleteQueue(queue, [done = std::move(done)](const absl::StatusOr<std::uint32_t>& gone) {
      done(gone.status());
    });
  });
}

absl::Status BrokerSession::DeleteExchange(std::string_view exchange) {
  return Ask<absl::Status>([&](amqp::Channel& channel, auto done) {
    channel.DeleteExchange(exchange, std::move(done));
  });
}

absl::Status BrokerSession::MayConfigure(std::string_view queue) {
  const absl::StatusOr<DeclareOk> declared =
      DeclareQueue({.name = std::string(queue), .arguments = {{"x-message-ttl", kNoNumber}}});
  return OkIfArgumentsAreRefused(declared.status());
}

absl::Status BrokerSession::MayConsume(std::string_view queue) {
  return OkIfArgumentsAreRefused(Ask<absl::Status>([&](amqp::Channel& channel, auto done) {
    channel.Consume({.queue = std::string(queue), .arguments = {{"x-priority", kNoNumber}}},
                    [done = std::move(done)](const absl::StatusOr<std::string>& consuming) {
                      done(consuming.status());
                    });
  }));
}

absl::Status BrokerSession::MayPublish(std::string_view exchange, std::string_view routing_key) {
  return Ask<absl::Status>([&](amqp::Channel& channel, auto done) {
    channel.ConfirmSelect([](const absl::Status& /*answer*/) {});  // the publish fails, too
    channel.Publish(
        {.exchange = exchange, .routing_key = routing_key},
        [done = std::move(done)](const PublishResult& result) { done(StatusOf(result)); });
  });
}

void BrokerSession::Wait(absl::Duration duration) {
  bool over = false;
  const std::unique_ptr<Timer> timer = loop_.After(duration, [&] {
    over = true;
    loop_.Stop();
  });
  while (!over) loop_.Run().IgnoreError();
}

}  // namespace retryq::cli
