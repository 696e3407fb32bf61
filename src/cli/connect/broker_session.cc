#include "cli/connect/broker_session.h"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <random>

#include "absl/strings/str_cat.h"
#include "cli/flags/shared_flags.h"

namespace retryq::cli {
namespace {

// An argument that is a string although the broker requires a number.
constexpr char kNoNumber[] = "no number";

// The broker refuses the arguments only after all earlier checks have passed.
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
    case PublishOutcome::kNotSent:
      break;
  }
  if (result.code == kAccessRefused) return absl::PermissionDeniedError(text);
  if (result.code == kNotFound) return absl::NotFoundError(text);
  return absl::UnavailableError(result.code == 0 ? "the connection was lost" : text);
}

constexpr std::int64_t kShortestTtl = 315'359'000'000;  // milliseconds
constexpr std::int64_t kLongestTtl = 315'359'999'999;

// The broker never frees the memory for names of quorum queues, so all temporary queues use the
// same TTL.
absl::Duration TtlOf(QueueType type) {
  if (type == QueueType::kQuorum) return absl::Milliseconds(kLongestTtl);
  std::random_device random;
  return absl::Milliseconds(
      std::uniform_int_distribution<std::int64_t>(kShortestTtl, kLongestTtl)(random));
}

// The beginning of RabbitMQ's error for a missing permission (403).
constexpr std::string_view kRefusedText = "ACCESS_REFUSED";

// Parses an error that a status printed: "NOT_FOUND: no such vhost".
absl::Status StatusFrom(std::string_view error) {
  const std::size_t end = error.find(": ");
  for (int code = 1; end != std::string_view::npos && code <= 16; ++code) {
    const auto candidate = static_cast<absl::StatusCode>(code);
    if (absl::StatusCodeToString(candidate) != error.substr(0, end)) continue;
    return absl::Status(candidate, std::string(error.substr(end + 2)));
  }
  return absl::UnknownError(std::string(error));
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
    loop_.Run().IgnoreError();  // nothing here calls EventLoop::Fail
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
    channel.ConfirmSelect([](const absl::Status& /*answer*/) {});  // the publish fails too
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

ThrowAwayQueue::ThrowAwayQueue(BrokerSession& session, const DelayQueueOptions& options,
                               const DelayTarget& target, absl::Duration lease)
    : session_(session),
      params_(DelayQueueDeclaration(TtlOf(options.queue_type), target, options)) {
  params_.queue.arguments.Set("x-expires", absl::ToInt64Milliseconds(lease));
}

ThrowAwayQueue::~ThrowAwayQueue() {
  // A queue that cannot be deleted expires.
  if (!declared_) return;
  session_.DeleteQueue(params_.queue.name).IgnoreError();
  session_.DeleteExchange(params_.exchange->name).IgnoreError();
}

absl::Status ThrowAwayQueue::Declare() {
  absl::Status status = session_.DeclareQueue(params_.queue).status();
  declared_ = declared_ || status.ok();
  return status;
}

absl::Status ThrowAwayQueue::Look() {
  return session_.DeclareQueue({.name = params_.queue.name, .passive = true}).status();
}

DeclareParams ThrowAwayForRights(const DelayQueueOptions& options, const DelayTarget& target,
                                 absl::Duration lease) {
  DeclareParams params = DelayQueueDeclaration(TtlOf(QueueType::kClassic), target, options);
  params.queue.arguments = {{"x-queue-type", "classic"},
                            {"x-dead-letter-exchange", target.dead_letter_exchange},
                            {"x-expires", absl::ToInt64Milliseconds(lease)}};
  return params;
}

bool IsThrowAway(const DelayQueueName& name) {
  return name.ttl >= absl::Milliseconds(kShortestTtl) &&
         name.ttl <= absl::Milliseconds(kLongestTtl);
}

void AddBrokerFlags(FlagParser& parser, ClientOptions* client, absl::Duration* wait) {
  AddUrlFlags(parser, "Connect to amqp://user:password@host:port/vhost. Repeatable.", client);
  parser.Add("--wait", "DURATION", wait,
             "Wait this long for a broker that cannot be reached. Default: 1s500ms");
}

BrokerWatch::BrokerWatch(EventLoop& loop, const ClientOptions& client, absl::Duration wait,
                         std::string then, Refused refused)
    : loop_(loop),
      broker_(amqp::Describe(ConnectionOf(client))),
      then_(std::move(then)),
      refused_(std::move(refused)) {
  Begin("no answer yet");
  timer_ = loop.After(wait, [this] {
    const std::unique_ptr<Timer> fired = std::move(timer_);
    is_overdue_ = true;
    // The current attempt may still succeed, because it takes several round trips.
    if (!problem_.empty()) GiveUp();
  });
}

absl::Status BrokerWatch::Run(const absl::Status& result) {
  absl::Status run = loop_.Run();
  if (has_connected_) SayGoodbye(loop_);
  return run.ok() ? result : run;
}

void BrokerWatch::Begin(std::string_view why) {
  if (!waiting_) waiting_.emplace(loop_, broker_);
  waiting_->Because(why);
}

void BrokerWatch::OnEvent(const Event& event) {
  switch (event.kind) {
    case EventKind::kConnected:
      has_connected_ = true;
      timer_.reset();
      [[fallthrough]];
    case EventKind::kUnblocked:
      then_.empty() ? waiting_.reset() : Begin(then_);
      if (begin_ != nullptr) std::exchange(begin_, nullptr)();
      return;
    case EventKind::kBlocked:
      return Begin(absl::StrCat("the broker has an alarm and accepts no messages: ",
                                std::string(event.error)));
    case EventKind::kDisconnected:
      return OnDisconnected(event.error);
    case EventKind::kDeclareFailed:
      if (event.error.find(kRefusedText) != std::string_view::npos) {
        const absl::Status why = absl::PermissionDeniedError(std::string(event.error));
        return refused_ == nullptr ? loop_.Fail(why) : refused_(why);
      }
      [[fallthrough]];
    default:
      if (!event.error.empty() && waiting_) {
        waiting_->Because(std::string(StatusFrom(event.error).message()));
      }
      return;
  }
}

void BrokerWatch::OnDisconnected(std::string_view error) {
  const absl::Status why = StatusFrom(error);
  problem_ = std::string(why.message());
  Begin(problem_);
  if (has_connected_) return;
  if (!absl::IsUnavailable(why)) return loop_.Fail(why);
  if (is_overdue_) GiveUp();
}

void BrokerWatch::GiveUp() {
  loop_.Fail(absl::UnavailableError(absl::StrCat(
      problem_, "; remedy: ", UnreachableRemedy(problem_), ", or wait for it with --wait 1m")));
}

}  // namespace retryq::cli
