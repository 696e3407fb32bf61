#include "retry/client/delayed_publish.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/broker_version.h"
#include "base/header_names.h"
#include "retry/delay_queues/route_declaration.h"
#include "retry/publisher/copy.h"
#include "retryq/broker/copy_properties.h"

namespace retryq {
namespace {

constexpr std::uint8_t kTransient = 1;
constexpr std::uint8_t kPersistent = 2;

std::string ExpirationText(const OutgoingMessage& message) {
  if (!message.expiration) return "";
  const absl::Duration whole = absl::Ceil(*message.expiration, absl::Milliseconds(1));
  return std::to_string(absl::ToInt64Milliseconds(whole));
}

absl::StatusCode CodeOfRefusal(std::uint16_t reply_code) {
  switch (reply_code) {
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kNotFound;
    default:
      return absl::StatusCode::kInvalidArgument;
  }
}

// Returns the delay in whole milliseconds; zero to publish at once.
absl::Duration WholeDelay(const PublishOptions& options, absl::Time now) {
  const absl::Duration delay = options.at ? *options.at - now : absl::Duration(options.delay);
  return absl::Ceil(std::max(delay, absl::ZeroDuration()), absl::Milliseconds(1));
}

}  // namespace

absl::Status ValidateDelay(const PublishOptions& options, absl::Time now,
                           const DelayQueueOptions& delay_queues) {
  if (options.at && options.delay != absl::ZeroDuration()) {
    return absl::InvalidArgumentError("delay and at cannot be combined: set one of them");
  }
  const char* const field = options.at ? "at" : "delay";
  const absl::Duration delay = WholeDelay(options, now);
  const absl::Duration longest = options.round_up ? DelayGrid::kLongest : kMaxQueueLifetime;
  if (delay > longest) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " must be at most ", absl::FormatDuration(longest), " from now",
                     options.round_up ? " where it is rounded up, to hold for any consumer" : "",
                     ", but is ", absl::FormatDuration(delay)));
  }
  return ValidateLease(std::min(delay, DelayGrid::kLongest), delay_queues, field);
}

DelayedPublish::DelayedPublish(std::shared_ptr<SharedState> shared, OutgoingMessage message,
                               const PublishOptions& options, Done done)
    : PendingCall(std::move(shared), options.deadline, std::move(done)),
      body_(std::make_shared<const std::string>(std::move(message.body))),
      message_(std::move(message)),
      options_(options),
      id_(!options.round_up && message_.message_id.empty()
              ? NewRetryId(*shared_->environment().random)
              : message_.message_id),
      expiration_(ExpirationText(message_)) {}

std::string DelayedPublish::Unanswered(const std::string& when) const {
  return absl::StrCat("the publish to ", Target(), " was not confirmed", when,
                      "; the message may still arrive");
}

// Computes the delay again, because it may have taken a while to get a connection.
void DelayedPublish::Plan() {
  delay_ = WholeDelay(options_, shared_->environment().clock->Now());
  hop_ = {};
  if (delay_ > absl::ZeroDuration()) {
    if (options_.round_up) delay_ = shared_->delay_steps().grid().RoundUp(delay_);
    hop_ = options_.round_up ? Hop{.ttl = delay_} : shared_->delay_steps().First(delay_);
  }
  amqp::Table headers = message_.headers;
  if (hop_.left > absl::ZeroDuration()) {
    const absl::Time due = shared_->environment().clock->Now() + delay_;
    headers.Set(kRetryDelayHeader, absl::ToInt64Milliseconds(delay_));
    headers.Set(kRetryNotBeforeHeader, UnixMillisRoundedUp(options_.at.value_or(due)));
    headers.Set(kRetryRemainingHeader, absl::ToInt64Milliseconds(hop_.left));
    headers.Set(kRetryIdHeader, id_);
  }
  const std::string encoded = headers.Encode().value_or("");
  headers_.clear();
  if (delay_ > absl::ZeroDuration()) {
    const amqp::Properties own{.headers = amqp::TableView(encoded)};
    CopyProperties(own, CopyPath::kDelayedFirst, &headers_);
  } else {
    headers_ = encoded;
  }
}

void DelayedPublish::Try() {
  state_ = State::kTrying;
  if (WholeDelay(options_, shared_->environment().clock->Now()) ==
      absl::ZeroDuration()) {  // the publish itself will show whether the target exists
    OnTarget(absl::OkStatus());
    return;
  }
  shared_->target_checks().Look(
      {.exchange = message_.exchange, .queue = IsForExchange() ? "" : message_.routing_key},
      [self = lifeline_.ptr()](const absl::Status& there) {
        if (self) self->OnTarget(there);
      });
}

void DelayedPublish::OnTarget(const absl::Status& there) {
  if (state_ == State::kDone) return;
  if (absl::IsUnavailable(there)) {
    problem_ = std::string(there.message());
    TryAgainAfterPause();
  } else if (!there.ok()) {
    Finish(there);
  } else {
    Plan();
    if (IsDelayed() && IsForExchange() && HasOwnDelayQueues(shared_->options()) &&
        !shared_->AdmitDestination(message_.exchange, message_.routing_key)) {
      Finish(absl::ResourceExhaustedError(absl::StrCat(
          "the delayed publish to ", Target(),
          " is refused: this client has published with a delay to ", SharedState::kMostDestinations,
          " other destinations (exchange and routing key), and each has quorum delay queues of its "
          "own; remedy: publish to the queue, or let destinations share delay queues (share, "
          "--share-delay-queues), or use classic ones")));
      return;
    }
    shared_->publisher().Send(*this);
  }
}

std::optional<DelayRoute> DelayedPublish::Route() const {
  if (!IsDelayed()) return std::nullopt;
  DelayRoute route{.ttl = hop_.ttl,
                   .dead_letter_exchange = message_.exchange,
                   .priority = PriorityLevel(
                       message_.priority, BrokerVersion::Parse(shared_->broker().server_version()),
                       shared_->options())};
  if (HasOwnDelayQueues(shared_->options())) {
    route.owner = IsForExchange() ? message_.exchange : message_.routing_key;
    if (IsForExchange()) route.owner_key = message_.routing_key;
  }
  return route;
}

bool DelayedPublish::Fill(PublishParams* params, absl::Time /*now*/) {
  if (!IsDelayed()) params->exchange = message_.exchange;
  params->routing_key = message_.routing_key;
  params->body = *body_;
  params->body_owner = body_;
  amqp::Properties& properties = params->properties;
  properties = {};
  properties.delivery_mode = message_.transient ? kTransient : kPersistent;
  if (!headers_.empty()) properties.headers = amqp::TableView(headers_);
  const auto set = [](const std::string& text, std::optional<std::string_view>* property) {
    if (!text.empty()) *property = text;
  };
  set(message_.content_type, &properties.content_type);
  set(message_.content_encoding, &properties.content_encoding);
  set(message_.correlation_id, &properties.correlation_id);
  set(message_.reply_to, &properties.reply_to);
  set(expiration_, &properties.expiration);
  set(message_.message_id, &properties.message_id);
  set(message_.type, &properties.type);
  set(message_.user_id, &properties.user_id);
  set(message_.app_id, &properties.app_id);
  properties.priority = message_.priority;
  if (message_.timestamp) {
    properties.timestamp = static_cast<std::uint64_t>(absl::ToUnixSeconds(*message_.timestamp));
  }
  return true;
}

void DelayedPublish::OnSent(const SendResult& result) {
  switch (result.kind) {
    case SendResult::Kind::kSent:
      shared_->Report({.kind = EventKind::kPublished,
                       .time = {},
                       .queue = message_.routing_key,
                       .delay = delay_,
                       .delay_queue = result.delay_queue,
                       .id = message_.message_id,
                       .confirmed_after = result.confirmed_after});
      Finish(absl::OkStatus());
      return;
    case SendResult::Kind::kReturned:
      Finish(absl::NotFoundError(absl::StrCat("no queue receives the message to ", Target(), ": ",
                                              std::string(result.text))));
      return;
    case SendResult::Kind::kRefused:
      Finish(absl::Status(CodeOfRefusal(result.code),
                          absl::StrCat("the broker refuses the message to ", Target(), ": ",
                                       std::string(result.text))));
      return;
    case SendResult::Kind::kTooLarge:
      Finish(absl::InvalidArgumentError("the message's headers are larger than one frame"));
      return;
  }
}

std::string DelayedPublish::Target() const {
  if (message_.exchange.empty()) return absl::StrCat("queue '", message_.routing_key, "'");
  return absl::StrCat("exchange '", message_.exchange, "' with routing key '", message_.routing_key,
                      "'");
}

}  // namespace retryq
