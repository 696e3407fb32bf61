#include <random>

#include "absl/strings/str_cat.h"
#include "base/escaped_text.h"
#include "base/remedy.h"
#include "base/retry_id.h"
#include "cli/messages/message_text.h"
#include "cli/messages/queue_reader.h"
#include "retryq/amqp/table.h"

namespace retryq::cli {
namespace {

// The pause between attempts while the network is too slow.
constexpr absl::Duration kPublishAgain = absl::Milliseconds(5);

// Half of the connection's limit, which leaves room for a large body.
constexpr std::size_t kMaxUnsent = amqp::Connection::kMaxUnsentBytes / 2;

std::string NewId() {
  std::random_device random;
  const auto bits = [&random] { return std::uint64_t{random()} << 32 | random(); };
  return std::string(RetryId(bits(), bits()).text());
}

// Adds the headers that a worker sets when it parks. A message without retry headers was published
// to the work queue through the default exchange.
void AddParkedHeaders(const amqp::Message& message, const CopyPlan& plan,
                      amqp::TableWriter& writer) {
  writer.SetInt64("x-retry-parked", absl::ToUnixMillis(plan.parked));
  const MessageHistory facts(message);
  if (facts.queue) return;
  writer.SetInt64("x-retry-count", 0);
  writer.SetString("x-retry-queue", plan.work_queue);
  writer.SetString("x-retry-exchange", "");
  writer.SetString("x-retry-routing-key", plan.work_queue);
  const auto& id = facts.retry_id ? facts.retry_id : message.properties.message_id;
  writer.SetString("x-retry-id", id && !id->empty() ? std::string(*id) : NewId());
}

}  // namespace

amqp::Properties PropertiesOfCopy(const amqp::Message& message, const CopyPlan& plan,
                                  std::string* headers) {
  const bool is_parked = plan.parked != absl::InfinitePast();
  // A message that was published with a delay has no retry headers yet, so it gets the headers that
  // a worker would set.
  const bool is_new = is_parked && !MessageHistory(message).queue;
  amqp::Properties properties =
      CopyProperties(message.properties, is_new ? CopyPath::kRetry : plan.path, headers);
  amqp::TableWriter writer(headers);
  if (plan.edited != absl::InfinitePast()) {
    writer.SetInt64("x-retry-edited", absl::ToUnixMillis(plan.edited));
  }
  if (is_parked) AddParkedHeaders(message, plan, writer);
  if (message.properties.headers || !headers->empty()) {
    properties.headers = amqp::TableView(*headers);
  }
  return properties;
}

std::string Describe(const CopyTarget& target) {
  if (target.first.empty()) return absl::StrCat("queue ", EscapedText(target.second));
  return absl::StrCat("exchange ", EscapedText(target.first), " with routing key ",
                      EscapedText(target.second));
}

CopyPublisher::CopyPublisher(EventLoop& loop, amqp::Connection& connection,
                             std::function<void(const absl::Status&)> on_closed)
    : loop_(loop),
      connection_(connection),
      on_closed_(std::move(on_closed)),
      channel_(connection.OpenChannel(this)) {
  channel_->ConfirmSelect([](const absl::Status&) {});  // a refusal closes the channel
}

void CopyPublisher::Publish(MessageCopy copy, Done done) {
  line_.emplace_back(std::move(copy), std::move(done));
  Advance();
}

void CopyPublisher::Advance() {
  again_.reset();
  while (!line_.empty()) {
    if (connection_.unsent_bytes() > kMaxUnsent) {
      again_ = loop_.After(kPublishAgain, [this] { Advance(); });
      return;
    }
    auto [copy, done] = std::move(line_.front());
    line_.pop_front();
    std::string headers;
    const amqp::Properties properties = PropertiesOfCopy(*copy.message, copy.plan, &headers);
    channel_->Publish({.exchange = copy.target.first,
                       .routing_key = copy.target.second,
                       .mandatory = true,
                       .properties = properties,
                       .body = copy.message->body,
                       .body_owner = copy.message},
                      std::move(done));
  }
}

void CopyPublisher::OnChannelClosed(const amqp::ChannelError& why) {
  on_closed_(absl::IsPermissionDenied(why.status)
                 ? WithRemedy(why.status, "give the user the right to write to the target")
                 : why.status);
  Advance();  // ends each waiting copy with the result "not sent"
}

}  // namespace retryq::cli
