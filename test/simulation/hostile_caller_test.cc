// A caller that does anything at any time, whose other threads settle and handle messages, on real
// connections to a server that keeps to no rules. See random_caller.h for what must hold.
//
//   RETRYQ_CALLERS=N   30 times as many as programs; 300 by default
//   RETRYQ_SEED=N      that one alone, as far as threads and sockets do the same again

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "amqp/method_codec.h"
#include "retryq/amqp/make_broker.h"
#include "retryq/event_loop.h"
#include "retryq/testing/seeded_random.h"
#include "simulation/random_caller.h"
#include "unit/amqp/fake_server.h"
#include "unit/amqp/hostile/channel_violations.h"
#include "unit/amqp/hostile/connection_violations.h"
#include "unit/amqp/hostile/content_violations.h"

namespace retryq::simulation {
namespace hostile_caller_test {

using amqp::ClientMethod;
using amqp::FakeServer;
using testing::SeededRandom;

// Real time is short: a step lasts this long, where the loop does not need more for its turns.
constexpr absl::Duration kLongestStep = absl::Milliseconds(4);
constexpr int kTurns = 40;

class HostileWorld final : public World {
 public:
  explicit HostileWorld(std::uint64_t seed) : random_(seed) {
    server_.obliging = true;
    server_.on_method = [this](std::uint16_t channel, const ClientMethod& method) {
      return Answer(channel, method);
    };
    server_.on_step = [this](FakeServer::Step) { return !peaceful_ && random_.OneIn(40); };
    for (const auto& violations :
         {amqp::hostile::ConnectionViolations(), amqp::hostile::ChannelViolations(),
          amqp::hostile::ContentViolations()}) {
      for (const amqp::hostile::Violation& violation : violations) {
        if (!violation.bytes.empty()) lies_.push_back(violation.bytes);
      }
    }
  }

  Environment EnvironmentFor(Observer* observer) override {
    return {.clock = &loop_.clock(),
            .timers = &loop_,
            .random = &loop_.random(),
            .executor = loop_.executor(),
            .observer = observer};
  }
  std::unique_ptr<Broker> MakeBroker() override {
    amqp::ConnectionOptions options;
    options.endpoints = {{.host = "127.0.0.1", .port = server_.port()}};
    options.connection_timeout = absl::Milliseconds(50);
    options.handshake_timeout = absl::Milliseconds(50);
    options.reconnect_initial = absl::Milliseconds(1);
    options.reconnect_max = absl::Milliseconds(5);
    return amqp::MakeBroker(loop_, options);
  }

  // A busy machine has as many turns as another.
  void Pass(absl::Duration time) override {
    const absl::Duration end = loop_.clock().SinceBoot() + std::min(time, kLongestStep);
    int turns = 0;
    std::unique_ptr<Timer> timer;
    const std::function<void()> look = [&] {
      if (++turns >= kTurns && loop_.clock().SinceBoot() >= end) return loop_.Stop();
      timer = loop_.After(absl::ZeroDuration(), look);
    };
    timer = loop_.After(absl::ZeroDuration(), look);
    EXPECT_EQ(loop_.Run(), absl::OkStatus());
  }

  void Deliver(const std::string& /*queue*/, const std::string& message_id,
               const amqp::Table& headers) override {
    if (consumers_.empty()) return;
    const auto& [line, channel, tag] = consumers_[random_.Below(consumers_.size())];
    if (!server_.HasClient(line)) return;
    server_.Address(line);
    const std::string bytes = *headers.Encode();
    amqp::Properties properties{.message_id = message_id};
    if (!headers.empty()) properties.headers = amqp::TableView(bytes);
    for (std::uint64_t left = 1 + random_.Below(8); left > 0; --left) {
      server_.Say(channel, amqp::method::BasicDeliver{.consumer_tag = tag,
                                                      .delivery_tag = ++last_tag_,
                                                      .redelivered = random_.OneIn(3)});
      server_.SayContent(channel, properties, std::string(1 + random_.Below(4), 'b'));
    }
  }

  void Trouble(bool amid) override {
    if (!random_.OneIn(4)) return;
    switch (random_.Below(5)) {
      case 0:
        // What is on the stack may be reading from it.
        if (!amid) server_.HangUp();
        return;
      case 1:
        return server_.Say(0, amqp::method::ConnectionBlocked{.reason = "memory"});
      case 2:
        return server_.Say(0, amqp::method::ConnectionUnblocked{});
      case 3:
        return server_.SayBytes(lies_[random_.Below(lies_.size())]);
      default:
        return server_.Say(0, amqp::method::ConnectionClose{.reply_code = AnyCode()});
    }
  }
  void Repair() override { peaceful_ = true; }
  // Hours would have to pass.
  bool ends_everything() const override { return false; }

 private:
  struct Consuming {
    std::string line;  // what its client has said
    std::uint16_t channel;
    std::string tag;
  };

  std::uint16_t AnyCode() {
    constexpr std::uint16_t kCodes[] = {0,   200, 311, 320, 402, 403, 404,
                                        405, 406, 501, 505, 530, 541, 65535};
    return kCodes[random_.Below(std::size(kCodes))];
  }

  // Most often as a broker should; else refuses, says nothing, lies or hangs up.
  bool Answer(std::uint16_t channel, const ClientMethod& method) {
    if (const auto* consume = std::get_if<amqp::method::BasicConsume>(&method)) {
      consumers_.push_back({server_.heard.back(), channel, std::string(consume->consumer_tag)});
    }
    if (peaceful_ || !random_.OneIn(30)) return false;
    switch (random_.Below(5)) {
      case 0:
        server_.Say(channel, amqp::method::ChannelClose{.reply_code = AnyCode()});
        return true;
      case 1:
        server_.Say(0, amqp::method::ConnectionClose{.reply_code = AnyCode()});
        return true;
      case 2:
        return true;
      case 3:
        server_.SayBytes(lies_[random_.Below(lies_.size())]);
        return false;
      default:
        server_.HangUp();
        return true;
    }
  }

  EventLoop loop_;
  SeededRandom random_;
  FakeServer server_{loop_};
  std::vector<std::string> lies_;
  std::vector<Consuming> consumers_;
  std::uint64_t last_tag_ = 0;
  bool peaceful_ = false;
};

TEST(HostileCaller, MayDoAnythingAnywhereFromAnyThread) {
  int calls = 0;
  ForEachSeed(NumberFrom("RETRYQ_CALLERS", 300) / 30, [&calls](std::uint64_t seed) {
    HostileWorld world(seed + 1'000'000);
    calls += RandomCaller(
                 world,
                 {.steps = 150,
                  .pauses = {absl::ZeroDuration(), absl::Milliseconds(1), absl::Milliseconds(4)},
                  .threads = true},
                 seed)
                 .Run();
  });
  EXPECT_GT(calls, 0);
}

}  // namespace hostile_caller_test
}  // namespace retryq::simulation
