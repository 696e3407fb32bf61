#include "amqp/broker/relay.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "amqp/codec/properties_codec.h"
#include "loop/call_after.h"

namespace retryq::amqp {
namespace {

// The limit of unsent bytes, above which reading stops.
constexpr std::size_t kMostUnsent = std::size_t{1} << 20;

// The longest time without progress. RabbitMQ closes a connection that reads no data for 15 s.
constexpr absl::Duration kLongestStall = absl::Seconds(10);
constexpr absl::Duration kConfirmTimeout = absl::Minutes(1);
constexpr absl::Duration kIdle = absl::Seconds(5);

}  // namespace

// One message under way.
class Relay::Copy final : public BodySink {
 public:
  Copy(Relay* owner, const MessagePtr& original, const PublishParams& params)
      : relay(owner),
        message(original),
        exchange(params.exchange),
        routing_key(params.routing_key),
        header(ContentHeaderSize(params.properties), '\0'),
        missing(original->left_out),
        progress_at(owner->clock_.SinceBoot()) {
    WriteContentHeader(missing, params.properties, header.data());
  }

  bool IsFull() override { return relay != nullptr && !has_ended && relay->IsFull(*this); }
  void Add(std::string_view part) override {
    if (relay != nullptr && !has_ended) relay->Add(*this, part);
  }

  // The message, to set its result; no other object has it yet.
  Message& outcome() const { return *std::const_pointer_cast<Message>(message); }

  Relay* relay;  // null once the relay is destroyed
  const MessagePtr message;
  const std::string exchange, routing_key;
  std::string header;     // payload of a content header
  std::uint64_t missing;  // bytes of the body that are not published yet
  bool has_begun = false;
  bool has_ended = false;    // the outcome is known
  bool has_arrived = false;  // all of the message has arrived
  absl::Duration progress_at;
  std::size_t unsent = 0;  // at that time
  std::unique_ptr<Timer> confirm_timer;
};

Relay::Relay(EventLoop& loop, Timers& timers, const Clock& clock, Target target, Done done)
    : loop_(loop),
      timers_(timers),
      clock_(clock),
      target_(std::move(target)),
      done_(std::move(done)) {}

Relay::~Relay() {
  for (const std::shared_ptr<Copy>& copy : copies_) copy->relay = nullptr;
  Disconnect();
}

std::shared_ptr<BodySink> Relay::Begin(const MessagePtr& message, const PublishParams& copy) {
  copies_.push_back(std::make_shared<Copy>(this, message, copy));
  idle_.reset();
  Advance();
  return copies_.back();
}

bool Relay::Take(const MessagePtr& message) {
  const auto it = std::find_if(copies_.begin(), copies_.end(),
                               [&](const auto& copy) { return copy->message == message; });
  if (it == copies_.end()) return false;
  Copy& copy = **it;
  copy.has_arrived = true;
  copy.confirm_timer = timers_.After(copy.has_ended ? absl::ZeroDuration() : kConfirmTimeout,
                                     [this, &copy] { Cancel(copy, "no confirm in time"); });
  return true;
}

void Relay::Advance() {
  const auto next = std::find_if(copies_.begin(), copies_.end(),
                                 [](const auto& copy) { return !copy->has_ended; });
  if (next == copies_.end() || (*next)->has_begun) return;
  if (connection_ == nullptr) {
    ConnectionListener* const listener = this;
    connection_ = std::make_unique<Connection>(loop_, target_.options, listener, target_.source);
  }
  if (!connection_->is_open()) return;
  if (channel_ == nullptr) {
    channel_ = connection_->OpenChannel(this);
    channel_->ConfirmSelect(nullptr);
  }
  Copy& copy = **next;
  const absl::StatusOr<ContentHeader> header = DecodeContentHeader(copy.header);
  if (!header.ok()) return;
  const PublishParams params = {.exchange = copy.exchange,
                                .routing_key = copy.routing_key,
                                .properties = header->properties};
  copy.has_begun = true;
  copy.progress_at = clock_.SinceBoot();
  channel_->BeginPublish(params, copy.missing, [this, kept = *next](const PublishResult& result) {
    OnResult(*kept, result);
  });
}

bool Relay::IsFull(Copy& copy) {
  const std::size_t unsent = connection_ == nullptr ? 0 : connection_->unsent_bytes();
  if (copy.has_begun && unsent < kMostUnsent) return false;
  const absl::Duration now = clock_.SinceBoot();
  if (!copy.has_begun || unsent >= copy.unsent) {
    if (now - copy.progress_at < kLongestStall) return true;
    Cancel(copy, "the broker has not accepted any part of it for ten seconds");
    return false;
  }
  copy.unsent = unsent;
  copy.progress_at = now;
  return true;
}

void Relay::Add(Copy& copy, std::string_view part) {
  channel_->AddBody(part);
  copy.missing -= part.size();
  copy.unsent = connection_->unsent_bytes();
  copy.progress_at = clock_.SinceBoot();
}

void Relay::OnResult(Copy& copy, const PublishResult& result) {
  copy.has_ended = true;
  Message& outcome = copy.outcome();
  switch (result.outcome) {
    case PublishOutcome::kConfirmed:
      outcome.passed_on = copy.missing == 0;
      break;
    case PublishOutcome::kReturned:
      outcome.not_passed_on =
          absl::StrCat("it was not routed to a queue: ", std::string(result.text));
      break;
    case PublishOutcome::kNacked:
      outcome.not_passed_on = "the broker nacked the publish";
      break;
    case PublishOutcome::kUnknown:
      outcome.not_passed_on = std::string(result.text);
      outcome.refused = result.code != 0;
      break;
    case PublishOutcome::kNotSent:
      outcome.not_passed_on = std::string(result.text);
      break;
  }
  FinishEnded();
}

void Relay::Cancel(Copy& copy, const std::string& why) {
  if (!std::exchange(copy.has_ended, true)) {
    copy.outcome().not_passed_on = why;
    if (copy.has_begun) Disconnect();
  }
  FinishEnded();
}

void Relay::CancelAll(const std::string& why) {
  Disconnect();
  for (const std::shared_ptr<Copy>& copy : copies_) {
    if (!std::exchange(copy->has_ended, true)) copy->outcome().not_passed_on = why;
  }
  FinishEnded();
}

void Relay::OnLost(const absl::Status& why) { CancelAll(std::string(why.message())); }

void Relay::OnBlocked(bool blocked, std::string_view reason) {
  if (blocked) CancelAll(absl::StrCat("the broker accepts no publishes: ", std::string(reason)));
}

// Publishes on the channel have been answered before.
void Relay::OnChannelClosed(const ChannelError& /*why*/) {
  channel_.reset();
  Advance();
}

void Relay::Disconnect() {
  connection_.reset();
  channel_.reset();  // after the connection, so that it sends nothing
}

void Relay::CloseConnection() {
  if (connection_ == nullptr) return;
  channel_.reset();
  closing_ = std::move(connection_);
  closing_->Close(kIdle, [this] { closing_.reset(); });
}

// Runs in a later turn, because this is called inside other calls.
void Relay::FinishEnded() {
  if (finish_ != nullptr) return;
  CallAfter(timers_, absl::ZeroDuration(), finish_, [this] {
    std::deque<std::shared_ptr<Copy>> ended;
    std::erase_if(copies_, [&](const auto& copy) {
      const bool is_over = copy->has_ended && copy->has_arrived;
      if (is_over) ended.push_back(copy);
      return is_over;
    });
    Advance();
    if (copies_.empty()) idle_ = timers_.After(kIdle, [this] { CloseConnection(); });
    const Done done = done_;
    for (const std::shared_ptr<Copy>& copy : ended) done(copy->message);
  });
}

}  // namespace retryq::amqp
