// A broker in memory for `test/bench/run instructions`: delivers messages to the first consumer, up
// to its prefetch at a time, and confirms all publishes. Prints its URL, and runs until it is
// killed.
//
//   bench_delivering_broker MESSAGES BODY_SIZE
//
// It is a process of its own, so that only the client's instructions are counted.

#include <iostream>

#include "absl/strings/numbers.h"
#include "amqp/codec/methods.h"
#include "bench/baselines/workload.h"
#include "retryq/event_loop.h"
#include "support/standard.h"
#include "unit/amqp/fake_server.h"

namespace retryq::bench {
namespace {

class DeliveringBroker {
 public:
  DeliveringBroker(EventLoop& loop, std::uint64_t messages, std::size_t body_size)
      : loop_(loop), messages_(messages), body_(body_size, 'x'), server_(loop) {
    server_.obliging = true;
    server_.on_method = [this](std::uint16_t channel, const amqp::ClientMethod& method) {
      OnMethod(channel, method);
      return false;
    };
  }

  std::string url() const { return absl::StrCat("amqp://127.0.0.1:", server_.port()); }

 private:
  void OnMethod(std::uint16_t channel, const amqp::ClientMethod& method) {
    if (const auto* qos = std::get_if<amqp::method::BasicQos>(&method)) {
      prefetch_ = qos->prefetch_count;
    } else if (const auto* consume = std::get_if<amqp::method::BasicConsume>(&method)) {
      channel_ = channel;
      consumer_tag_ = consume->consumer_tag;
      DeliverSoon();
    } else if (const auto* ack = std::get_if<amqp::method::BasicAck>(&method)) {
      unacked_ -= ack->multiple ? ack->delivery_tag - acked_ : 1;
      acked_ = std::max(acked_, ack->delivery_tag);
      DeliverSoon();
    }
  }

  // Delivers after the reply to basic.consume, and once for all acks that arrive together.
  void DeliverSoon() {
    if (timer_ != nullptr) return;
    timer_ = loop_.After(absl::ZeroDuration(), [this] {
      timer_.reset();
      Deliver();
    });
  }

  void Deliver() {
    std::string bytes;
    for (; unacked_ < prefetch_ && delivered_ < messages_; ++unacked_) {
      const std::string id = absl::StrCat(kIdPrefix, absl::Dec(++delivered_, absl::kZeroPad10));
      amqp::AppendMethodFrame(channel_,
                              amqp::method::BasicDeliver{.consumer_tag = consumer_tag_,
                                                         .delivery_tag = delivered_,
                                                         .exchange = "",
                                                         .routing_key = "bench.work"},
                              &bytes);
      amqp::AppendContentHeaderFrame(
          channel_, body_.size(),
          {.content_type = "application/json", .delivery_mode = 2, .message_id = id}, &bytes);
      amqp::AppendBodyFrames(channel_, body_, 131072, &bytes);
    }
    server_.heard.clear();
    server_.heard_bytes.clear();
    server_.content.clear();
    server_.Address(absl::StrCat(channel_, " basic.consume"));
    server_.SayBytes(bytes);
  }

  EventLoop& loop_;
  const std::uint64_t messages_;
  const std::string body_;
  amqp::FakeServer server_;
  std::uint16_t channel_ = 0;
  std::string consumer_tag_;
  std::uint64_t prefetch_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t acked_ = 0;
  std::uint64_t unacked_ = 0;
  std::unique_ptr<Timer> timer_;
};

int Main(const std::vector<std::string>& words) {
  std::uint64_t messages = 0;
  std::size_t body_size = 0;
  if (words.size() != 2 || !absl::SimpleAtoi(words[0], &messages) ||
      !absl::SimpleAtoi(words[1], &body_size)) {
    std::cerr << "usage: bench_delivering_broker MESSAGES BODY_SIZE\n";
    return 64;
  }
  EventLoop loop;
  const DeliveringBroker broker(loop, messages, body_size);
  std::cout << broker.url() << std::endl;
  return loop.RunUntilSignal().ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace retryq::bench

int main(int argc, char** argv) { return retryq::bench::Main({argv + 1, argv + argc}); }
