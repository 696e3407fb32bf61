#include "cli/messages/copy_publisher.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace retryq::cli {
namespace {

constexpr absl::Duration kLookAgain = absl::Milliseconds(5);

// Half of the connection's limit, which leaves room for a large body.
constexpr std::size_t kMaxUnsent = amqp::Connection::kMaxUnsentBytes / 2;

}  // namespace

CopyPublisher::CopyPublisher(EventLoop& loop, amqp::Connection& connection,
                             std::function<void(const absl::Status&)> on_closed)
    : loop_(loop),
      connection_(connection),
      on_closed_(std::move(on_closed)),
      channel_(connection.OpenChannel(this)) {
  channel_->ConfirmSelect([](const absl::Status&) {});  // a refusal closes the channel
}

void CopyPublisher::Publish(Copy copy, Done done) {
  line_.emplace_back(std::move(copy), std::move(done));
  Advance();
}

void CopyPublisher::Advance() {
  again_.reset();
  while (!line_.empty()) {
    if (connection_.unsent_bytes() > kMaxUnsent) {
      again_ = loop_.After(kLookAgain, [this] { Advance(); });
      return;
    }
    auto [copy, done] = std::move(line_.front());
    line_.pop_front();
    const MessageCopy patched(*copy.message, copy.plan);
    channel_->Publish({.exchange = copy.exchange,
                       .routing_key = copy.routing_key,
                       .mandatory = true,
                       .properties = patched.properties(),
                       .body = copy.message->body,
                       .body_owner = copy.message},
                      std::move(done));
  }
}

void CopyPublisher::OnChannelClosed(const amqp::ChannelError& why) {
  on_closed_(absl::IsPermissionDenied(why.status)
                 ? absl::PermissionDeniedError(
                       absl::StrCat(std::string(why.status.message()),
                                    "; remedy: give the user the right to write to where they go"))
                 : why.status);
  Advance();  // ends each waiting copy, as not sent
}

}  // namespace retryq::cli
