// Publishes numbered messages to a queue and consumes them, with retryq's AMQP client alone. It
// shows confirms, back-pressure, acks, and how to continue after a lost connection.
//
//   amqp_client QUEUE [COUNT]      RETRYQ_URL names the broker; the queue must exist
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/amqp/connection.h"
#include "retryq/event_loop.h"

namespace {

namespace amqp = retryq::amqp;

// Limits the memory, and the number of messages that a lost connection leaves in doubt.
constexpr std::size_t kMaxUnconfirmed = 100;
constexpr std::uint16_t kPrefetch = 100;

class Roundtrip final : private amqp::ConnectionListener, private amqp::ChannelListener {
 public:
  Roundtrip(retryq::EventLoop& loop, amqp::ConnectionOptions options, std::string queue, int count)
      : loop_(loop), queue_(std::move(queue)), connection_(loop, std::move(options), this) {
    for (int number = 0; number < count; ++number) {
      unsent_.insert(number);
      missing_.insert(number);
    }
  }

  std::size_t missing() const { return missing_.size(); }
  int duplicates() const { return duplicates_; }

 private:
  // A lost connection reconnects by itself, but its channels do not: each connection needs new
  // ones.
  void OnOpen() override {
    channel_ = connection_.OpenChannel(this);
    channel_->ConfirmSelect([](const absl::Status&) {});
    channel_->Qos(kPrefetch, [](const absl::Status&) {});
    channel_->Consume({.queue = queue_}, [](const auto&) {});  // a refusal closes the channel
    blocked_ = false;
    PublishMore();
  }

  void OnLost(const absl::Status& why) override {
    std::cerr << "amqp_client: " << why << "; reconnecting\n";
  }

  void OnChannelClosed(const amqp::ChannelError& why) override {
    if (why.code != 0) loop_.Fail(why.status);  // 0: connection lost, it reconnects
  }

  // During an alarm the broker does not read, so that published messages would wait in memory.
  void OnBlocked(bool blocked, std::string_view reason) override {
    blocked_ = blocked;
    if (blocked) std::cerr << "amqp_client: the broker is blocked: " << reason << '\n';
    if (!blocked) PublishMore();
  }

  void PublishMore() {
    while (!blocked_ && !unsent_.empty() && channel_->unconfirmed() < kMaxUnconfirmed) {
      const int number = *unsent_.begin();
      unsent_.erase(unsent_.begin());
      channel_->Publish(
          {.routing_key = queue_,
           .properties = {.delivery_mode = 2},
           .body = std::to_string(number)},
          [this, number](const retryq::PublishResult& result) { OnPublished(number, result); });
    }
  }

  // Called exactly once for each publish.
  void OnPublished(int number, const retryq::PublishResult& result) {
    switch (result.outcome) {
      case retryq::PublishOutcome::kConfirmed:  // the message is in a queue
        break;
      case retryq::PublishOutcome::kReturned:  // no queue took the message
        loop_.Fail(absl::NotFoundError("no queue '" + queue_ + "'; declare it first"));
        return;
      case retryq::PublishOutcome::kNacked:   // the broker refused the message
      case retryq::PublishOutcome::kUnknown:  // no reply: publish again, maybe twice
      case retryq::PublishOutcome::kNotSent:  // too many wait: publish again
        unsent_.insert(number);
        break;
    }
    if (channel_->is_open()) PublishMore();
  }

  void OnDelivery(std::string_view /*consumer_tag*/, amqp::MessagePtr message) override {
    int number = -1;
    std::from_chars(message->body.data(), message->body.data() + message->body.size(), number);
    if (missing_.erase(number) == 0) ++duplicates_;
    channel_->Ack(message->delivery_tag.tag);
    if (!missing_.empty()) return;
    channel_->Close([this] {  // the broker replies after the acks
      connection_.Close(absl::Seconds(5), [this] { loop_.Stop(); });
    });
  }

  retryq::EventLoop& loop_;
  const std::string queue_;
  std::set<int> unsent_;
  std::set<int> missing_;
  int duplicates_ = 0;
  bool blocked_ = false;
  amqp::Connection connection_;
  std::unique_ptr<amqp::Channel> channel_;  // of the current connection
};

int Fail(const absl::Status& status) {
  std::cerr << "amqp_client: " << status << '\n';
  return retryq::ExitCode(status);
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 2 ? std::atoi(argv[2]) : 1000;
  if (argc < 2 || argc > 3 || count < 1) {
    return Fail(absl::InvalidArgumentError("usage: amqp_client QUEUE [COUNT]"));
  }
  const char* url = std::getenv("RETRYQ_URL");
  absl::StatusOr<amqp::ConnectionOptions> options =
      amqp::ParseUri(url != nullptr ? url : "amqp://localhost");
  if (!options.ok()) return Fail(options.status());

  retryq::EventLoop loop;
  Roundtrip roundtrip(loop, *std::move(options), argv[1], count);
  const absl::Status end = loop.RunUntilSignal();
  if (!end.ok()) return Fail(end);
  std::cout << count << " messages: " << roundtrip.missing() << " missing, "
            << roundtrip.duplicates() << " duplicates\n";
  return roundtrip.missing() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
