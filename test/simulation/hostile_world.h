#ifndef RETRYQ_TEST_SIMULATION_HOSTILE_WORLD_H_
#define RETRYQ_TEST_SIMULATION_HOSTILE_WORLD_H_

#include "amqp/codec/method_codec.h"
#include "retryq/amqp/make_broker.h"
#include "retryq/event_loop.h"
#include "retryq/testing/seeded_random.h"
#include "simulation/name_server.h"
#include "simulation/odd_values.h"
#include "simulation/random_caller.h"
#include "support/certificates.h"
#include "support/temporary_directory.h"
#include "support/test.h"
#include "unit/amqp/fake_server.h"
#include "unit/amqp/hex.h"
#include "unit/amqp/hostile/open_violations.h"

namespace retryq::simulation {

// What a server and its clients need for TLS; one for all worlds.
struct Certificates {
  const testing::Identity authority{
      {.common_name = "Our authority", .names = "", .is_authority = true}};
  const testing::Identity server{{.common_name = "rabbit", .names = "DNS:rabbit.test"}, authority};
  const testing::ServerContext context = testing::MakeServerContext(server);
  const testing::TemporaryDirectory files;
  const std::string ca_file = files.Write("ca.pem", authority.certificate());

  static const Certificates& Instance() {
    static const Certificates certificates;
    return certificates;
  }
};

// Real connections to a server on loopback that violates the protocol; in one of four worlds it
// uses TLS. Its host name is rabbit.test.
class HostileWorld final : public World {
 public:
  explicit HostileWorld(std::uint64_t seed)
      : random_(seed),
        has_tls_(random_.OneIn(4)),
        server_(loop_, has_tls_ ? Certificates::Instance().context.get() : nullptr) {
    server_.obliging = true;
    server_.on_method = [this](std::uint16_t channel, const amqp::ClientMethod& method) {
      return Answer(channel, method);
    };
    server_.on_step = [this](amqp::FakeServer::Step) {
      server_.tune.frame_max = OneOf<std::uint32_t>(random_, {4096, 8192, 131072, 131072, 0});
      return !peaceful_ && random_.OneIn(40);
    };
    for (const auto& violations :
         {amqp::hostile::ConnectionViolations(), amqp::hostile::ChannelViolations(),
          amqp::hostile::ContentViolations()}) {
      for (const amqp::hostile::Violation& violation : violations) {
        if (!violation.bytes.empty()) lies_.push_back(violation.bytes);
      }
    }
    AddHugeLengths();
  }

  Environment EnvironmentFor(Observer* observer) override {
    return {.clock = &loop_.clock(),
            .timers = &loop_,
            .random = &loop_.random(),
            .executor = loop_.executor(),
            .observer = observer};
  }
  // One in four is missed for longer than leases allow for.
  std::unique_ptr<Broker> MakeBroker() override {
    amqp::ConnectionOptions mine = options();
    if (random_.OneIn(4)) mine.heartbeat = OneOf(random_, kSlowHeartbeats);
    return amqp::MakeBroker(loop_, mine);
  }
  EventLoop* loop() override { return &loop_; }
  std::string url() override {
    return has_tls_ ? absl::StrCat("amqps://rabbit.test:", server_.port(),
                                   "?cacertfile=", Certificates::Instance().ca_file)
                    : absl::StrCat("amqp://127.0.0.1:", server_.port());
  }
  bool has_tls() const { return has_tls_; }

  // That lead to the server, and wait for nothing long.
  amqp::ConnectionOptions options() const {
    amqp::ConnectionOptions options;
    options.endpoints = {{.host = "rabbit.test", .port = server_.port()}};
    if (has_tls_) options.tls = {.ca_file = Certificates::Instance().ca_file};
    options.connection_timeout = absl::Milliseconds(50);
    options.tls_timeout = absl::Milliseconds(50);
    options.handshake_timeout = absl::Milliseconds(50);
    options.reconnect_initial = absl::Milliseconds(1);
    options.reconnect_max = absl::Milliseconds(5);
    return options;
  }

  // A busy machine has as many turns as another.
  void Pass(absl::Duration time) override {
    const absl::Duration end = loop_.clock().SinceBoot() + std::min(time, kLongestStep);
    int turns = 0;
    bool over = false;
    std::unique_ptr<Timer> timer;
    const std::function<void()> look = [&] {
      over = ++turns >= kTurns && loop_.clock().SinceBoot() >= end;
      if (over) return loop_.Stop();
      timer = loop_.After(absl::ZeroDuration(), look);
    };
    timer = loop_.After(absl::ZeroDuration(), look);
    // A client on the loop may end it, and so may a drain.
    while (!over) (void)loop_.Run();
    EXPECT_EQ(server_.excess, 0) << "a frame was sent that is larger than agreed on";
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
    if (random_.OneIn(4)) server_.SayBytes(amqp::hostile::Frame(8, 0, ""));
    if (!peaceful_ && random_.OneIn(8)) {
      const std::string lie = OneOf(random_, huge_lengths_);
      server_.Say(channel, amqp::method::BasicDeliver{.consumer_tag = tag, .delivery_tag = 1});
      server_.SayContent(channel, {.headers = amqp::TableView(lie)}, "");
    }
  }

  void Trouble(bool amid) override {
    if (!random_.OneIn(4)) return;
    switch (random_.Below(6)) {
      case 5:
        return loop_.Drain();
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
  // The server closes all connections.
  void CutAll() { server_.HangUp(); }
  // Hours would have to pass.
  bool ends_everything() const override { return false; }

 private:
  // Claims the largest size that 32 bits can hold, without sending the bytes.
  void AddHugeLengths() {
    for (std::uint16_t channel = 0; channel < 2; ++channel) {
      for (std::uint8_t type = 1; type <= 3; ++type) {
        lies_.push_back(amqp::hostile::FrameHead(type, channel, 0xffffffff));
      }
    }
    for (const char* const headers :
         {"0161 53 ffffffff 78", "0161 53 ffffffff", "0161 46 ffffffff 78",
          "0161 41 00000006 53 ffffffff 78", "0161 46 00000008 0162 53 ffffffff 78"}) {
      huge_lengths_.push_back(amqp::FromHex(headers));
    }
  }

  // A step lasts this long in real time, unless the loop needs more for its turns.
  static constexpr absl::Duration kLongestStep = absl::Milliseconds(4);
  static constexpr int kTurns = 40;

  inline static const std::vector<absl::Duration> kSlowHeartbeats = {
      absl::Minutes(1), absl::Seconds(65535), absl::ZeroDuration()};

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

  // Usually replies like a broker; otherwise refuses, does not reply, sends wrong replies or closes
  // the connection.
  bool Answer(std::uint16_t channel, const amqp::ClientMethod& method) {
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

  const NameServer::Slowness slowness_;
  EventLoop loop_;
  testing::SeededRandom random_;
  const bool has_tls_;
  amqp::FakeServer server_;
  std::vector<std::string> lies_;
  std::vector<std::string> huge_lengths_;  // headers
  std::vector<Consuming> consumers_;
  std::uint64_t last_tag_ = 0;
  bool peaceful_ = false;
};

}  // namespace retryq::simulation

#endif  // RETRYQ_TEST_SIMULATION_HOSTILE_WORLD_H_
