#ifndef RETRYQ_TEST_UNIT_ALLOCATIONS_DELIVERING_SERVER_H_
#define RETRYQ_TEST_UNIT_ALLOCATIONS_DELIVERING_SERVER_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "amqp/codec/methods.h"
#include "amqp/transport/process_name.h"
#include "retryq/event_loop.h"
#include "unit/amqp/fake_server.h"

namespace retryq::amqp {

// The server of a client's connections, on its own thread, so that its allocations are not counted.
// It delivers batch after batch to the consumer, each at once: the next batch when the last message
// of the previous one is acked.
class DeliveringServer {
 public:
  // The first batch is the largest, so that all buffers reach their final size.
  static constexpr std::uint64_t kFirstBatch = 400;
  static constexpr std::uint64_t kBatch = 50;

  explicit DeliveringServer(const Properties& properties, std::string_view body) {
    AppendContentHeaderFrame(1, body.size(), properties, &content_);
    AppendBodyFrames(1, body, 131072, &content_);
    std::promise<void> ready;
    std::future<void> is_ready = ready.get_future();
    thread_ = std::thread([this, &ready] { Run(ready); });
    is_ready.wait();
  }
  ~DeliveringServer() {
    executor_->Post([this] { loop_->Stop(); });
    thread_.join();
  }
  DeliveringServer(const DeliveringServer&) = delete;
  DeliveringServer& operator=(const DeliveringServer&) = delete;

  std::string url() const { return absl::StrCat("amqp://127.0.0.1:", port_); }

 private:
  void Run(std::promise<void>& ready) {
    EventLoop loop;
    FakeServer server(loop);
    server.obliging = true;
    loop_ = &loop;
    server_ = &server;
    executor_ = loop.executor();
    port_ = server.port();
    ready.set_value();
    Look();
    EXPECT_EQ(loop.Run(), absl::OkStatus());
    timer_.reset();
  }

  void Look() {
    const auto said = [this](std::string_view start) {
      return std::any_of(server_->heard.begin(), server_->heard.end(),
                         [start](const std::string& line) { return line.starts_with(start); });
    };
    const bool due =
        delivered_ == 0 ? said(kConsume) : said(absl::StrCat("1 basic.ack ", delivered_));
    // The client may have exited right after it has acked the last counted message.
    if (due && server_->HasClient(kConsume)) Deliver(delivered_ == 0 ? kFirstBatch : kBatch);
    timer_ = loop_->After(absl::Microseconds(100), [this] { Look(); });
  }

  void Deliver(std::uint64_t messages) {
    const std::string tag = absl::StrCat("retryq.", HostAndProcessName());
    std::string bytes;
    for (const std::uint64_t end = delivered_ + messages; delivered_ < end;) {
      AppendMethodFrame(1,
                        method::BasicDeliver{.consumer_tag = tag,
                                             .delivery_tag = ++delivered_,
                                             .exchange = "an exchange with a long name",
                                             .routing_key = "a routing key with a long name"},
                        &bytes);
      bytes += content_;
    }
    server_->Address(kConsume);
    server_->heard.clear();
    server_->heard_bytes.clear();
    server_->content.clear();
    server_->SayBytes(bytes);
  }

  static constexpr char kConsume[] = "1 basic.consume";

  std::string content_;
  EventLoop* loop_ = nullptr;
  FakeServer* server_ = nullptr;
  std::shared_ptr<Executor> executor_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Timer> timer_;
  std::uint64_t delivered_ = 0;
  std::thread thread_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_TEST_UNIT_ALLOCATIONS_DELIVERING_SERVER_H_
