#include <event2/event.h>

#include "absl/strings/match.h"
#include "amqp/codec/method_codec.h"
#include "retryq/amqp/connection.h"
#include "support/test.h"
#include "unit/amqp/codec/allocated_bytes.h"
#include "unit/amqp/fake_server.h"
#include "unit/amqp/hostile/handshake_violations.h"
#include "unit/amqp/hostile/open_violations.h"
#include "unit/amqp/run_until.h"

// What a server can do to a client. Whatever it is, the client neither crashes nor hangs nor grows,
// tells its user once, says to the server which frame was wrong and in what way, and works with the
// next one.
namespace retryq::amqp::hostile_server_test {

using hostile::Verdict;
using hostile::Violation;
using hostile::When;

// A frame may take 16 MiB, and is there twice while it is put together.
constexpr std::size_t kMostMemory = std::size_t{48} << 20;

constexpr std::size_t kMostFlood = std::size_t{64} << 20;
constexpr std::uint64_t kToleratedRounds = 50;
constexpr std::size_t kMostTrickled = 500;

// A client, and the server to which it happens.
class Scene : public ConnectionListener, public ChannelListener {
 public:
  // `trickles`: the server says it byte by byte.
  Scene(const Violation& violation, bool trickles) : violation_(violation), trickles_(trickles) {}

  void Run() {
    Reach(violation_.when);
    const std::size_t allocated_before = AllocatedBytes();
    Commit();
    if (violation_.when == When::kConnectionCloses) {
      ExpectEndOfClosing();
    } else if (violation_.verdict == Verdict::kTolerates) {
      ExpectTolerance();
    } else if (violation_.verdict == Verdict::kClosesChannel) {
      ExpectEndOfChannel();
    } else {
      ExpectEndOfConnection();
    }
    ExpectToWork();
    if (violation_.verdict != Verdict::kTolerates) {
      EXPECT_EQ(answers_, expected_answers_);
    }
    if (violation_.verdict == Verdict::kTolerates ||
        violation_.verdict == Verdict::kClosesChannel) {
      EXPECT_THAT(lost_, IsEmpty());
    }
    EXPECT_LT(most_allocated_, allocated_before + kMostMemory);

    channel_.reset();
    connection_.reset();
    server_.reset();
    RunUntil([this] { return PendingEvents() <= events_before_; });
  }

 private:
  // ---- the way to where it happens

  void Reach(When when) {
    switch (when) {
      case When::kInsteadOfStart:
        return ReachStep(FakeServer::Step::kProtocolHeader);
      case When::kInsteadOfTune:
        return ReachStep(FakeServer::Step::kStartOk);
      case When::kInsteadOfOpenOk:
        return ReachStep(FakeServer::Step::kOpen);
      case When::kConnectionIsOpen:
        return Connect();
      case When::kChannelIsOpening:
        Connect();
        server_->obliging = false;
        channel_ = connection_->OpenChannel(this);
        return RunUntilHeard("1 channel.open");
      case When::kChannelIsOpen:
        return OpenChannel();
      case When::kDeclaring:
        OpenChannel();
        server_->obliging = false;
        channel_->DeclareQueue({.name = "q"}, Expected<absl::StatusOr<DeclareOk>>());
        return RunUntilHeard("1 queue.declare");
      case When::kPublishing:
        OpenChannel();
        server_->obliging = false;
        for (const char* key : {"a", "b"}) {
          channel_->Publish({.routing_key = key, .body = key}, Expected<const PublishResult&>());
        }
        return RunUntil([this] {
          return std::count(server_->heard.begin(), server_->heard.end(), "1 basic.publish") == 2;
        });
      case When::kConsuming:
        return Consume();
      case When::kAmidContent:
        Consume();
        server_->SayBytes(hostile::Deliver(1) + hostile::Header(10) +
                          hostile::BodyFrame(1, "1234"));
        return;
      case When::kChannelIsClosing:
        Consume();
        server_->obliging = false;
        channel_->Close([this] { ++channel_closed_; });
        return RunUntilHeard("1 channel.close");
      case When::kConnectionCloses:
        Consume();
        server_->obliging = false;
        connection_->Close(absl::Milliseconds(300), [this] { ++closed_; });
        return RunUntilHeard("0 connection.close 200");
    }
  }

  // Stops at a step of the first connection's handshake.
  void ReachStep(FakeServer::Step stop_at) {
    bool reached = false;
    server_->on_step = [&](FakeServer::Step step) {
      if (server_->connections > 1 || step != stop_at) return false;
      reached = true;
      return true;
    };
    if (violation_.names == hostile::kStalls) options_.handshake_timeout = absl::Milliseconds(800);
    MakeConnection();
    RunUntil([&] { return reached; });
    server_->on_step = nullptr;
  }

  void MakeConnection() {
    options_.endpoints = {{.host = "127.0.0.1", .port = server_->port()}};
    options_.connection_name = "test";
    options_.reconnect_initial = absl::Milliseconds(1);
    connection_ = std::make_unique<Connection>(loop_, options_, this);
  }
  void Connect() {
    server_->obliging = true;
    MakeConnection();
    RunUntil([this] { return opened_ == 1; });
  }
  void OpenChannel() {
    Connect();
    channel_ = connection_->OpenChannel(this);
    bool confirms = false;
    channel_->ConfirmSelect([&](const absl::Status& status) { confirms = status.ok(); });
    RunUntil([&] { return confirms; });
  }
  void Consume() {
    OpenChannel();
    bool consumes = false;
    channel_->Consume({.queue = "q", .consumer_tag = "me"},
                      [&](const absl::StatusOr<std::string>& tag) { consumes = tag.ok(); });
    RunUntil([&] { return consumes; });
    server_->obliging = false;
  }

  // A callback that has to come.
  template <typename Answer>
  std::function<void(Answer)> Expected() {
    ++expected_answers_;
    return [this](Answer) { ++answers_; };
  }

  // ---- what happens

  void Commit() {
    opened_before_ = opened_;
    server_->obliging = false;
    if (violation_.stops_reading) server_->StopReading();
    if (trickles_) {
      std::size_t said = 0;
      RunUntil([&] {
        if (!lost_.empty() || closed_ > 0) return true;
        if (said < violation_.bytes.size()) server_->SayBytes(violation_.bytes.substr(said++, 1));
        return said == violation_.bytes.size();
      });
    } else {
      server_->SayBytes(violation_.bytes);
    }
    if (violation_.hangs_up) {
      RunUntil([this] { return server_->unsent() == 0; });
      server_->HangUp();
    }
  }

  // Says more and more until `condition` holds.
  void RunUntilFlooded(const std::function<bool()>& condition) {
    const std::uint64_t most_rounds =
        violation_.verdict == Verdict::kTolerates ? kToleratedRounds : ~std::uint64_t{0};
    std::uint64_t round = 0;
    std::size_t flooded = 0;
    RunUntil([&] {
      if (condition()) return true;
      const bool more = violation_.flood && round < most_rounds && flooded < kMostFlood;
      if (!more) return violation_.flood && violation_.verdict == Verdict::kTolerates;
      if (server_->unsent() > 0) return false;
      const std::string bytes = violation_.flood(round++);
      flooded += bytes.size();
      server_->SayBytes(bytes);
      return false;
    });
    EXPECT_LT(flooded, kMostFlood);
  }

  void ExpectEndOfConnection() {
    RunUntilFlooded([this] { return !lost_.empty(); });
    EXPECT_THAT(std::string(lost_.at(0).message()), HasSubstr(violation_.names));
    EXPECT_EQ(closed_channels_.size(), channel_ == nullptr || channel_closed_ > 0 ? 0U : 1U);
    if (violation_.stops_reading) {
      server_->HangUp();
    } else if (violation_.verdict == Verdict::kClosesConnection) {
      RunUntilHeard(absl::StrCat("0 connection.close ", violation_.code));
      ExpectComplaint();
    } else {
      EXPECT_THAT(server_->heard, Not(Contains(StartsWith("0 connection.close"))));
    }
    RunUntil([&] { return opened_ == opened_before_ + 1; });
    // Each connection that ended was told of, and only that.
    EXPECT_EQ(lost_.size(), static_cast<std::size_t>(server_->connections - 1));
  }

  void ExpectEndOfChannel() {
    RunUntilFlooded([this] { return !closed_channels_.empty(); });
    EXPECT_THAT(std::string(closed_channels_[0].status.message()), HasSubstr(violation_.names));
    EXPECT_TRUE(absl::IsUnavailable(closed_channels_[0].status));
    EXPECT_EQ(closed_channels_[0].code, 0);
    RunUntilHeard(absl::StrCat("1 channel.close ", violation_.code));
    ExpectComplaint();
    EXPECT_FALSE(channel_->is_open());
  }

  void ExpectComplaint() {
    const FakeServer::Complaint& complaint = server_->complaint;
    EXPECT_THAT(complaint.text, HasSubstr(violation_.names.substr(0, 150)));
    const bool names_method = absl::StartsWith(complaint.text, "method frame ") &&
                              !absl::StartsWith(complaint.text, "method frame on");
    EXPECT_EQ(complaint.class_id != 0, names_method) << complaint.text;
  }

  void ExpectTolerance() {
    RunUntilFlooded(
        [&] { return !violation_.flood && (violation_.names.empty() || Heard(violation_.names)); });
    if (!violation_.names.empty()) RunUntilHeard(violation_.names);
  }

  void ExpectEndOfClosing() {
    RunUntilFlooded([this] { return closed_ > 0; });
    RunUntil([this] { return closed_ > 0; });
    if (!violation_.names.empty()) RunUntilHeard(violation_.names);
    EXPECT_EQ(closed_, 1);
    opened_ = 0;
    Connect();
  }

  // The connection, this one or the next, is good for everything.
  void ExpectToWork() {
    server_->obliging = true;
    const auto channel = connection_->OpenChannel(this);
    bool declared = false;
    channel->DeclareQueue({.name = "works"},
                          [&](const absl::StatusOr<DeclareOk>& ok) { declared = ok.ok(); });
    RunUntil([&] { return declared; });
  }

  void RunUntil(const std::function<bool()>& condition) {
    amqp::RunUntil(loop_, [&] {
      most_allocated_ = std::max(most_allocated_, AllocatedBytes());
      return condition();
    });
  }
  bool Heard(const std::string& line) const {
    return std::count(server_->heard.begin(), server_->heard.end(), line) > 0;
  }
  void RunUntilHeard(const std::string& line) {
    RunUntil([&] { return Heard(line); });
  }
  int PendingEvents() const {
    return event_base_get_num_events(loop_.base(), EVENT_BASE_COUNT_ADDED);
  }

  void OnOpen() override { ++opened_; }
  void OnLost(const absl::Status& why) override { lost_.push_back(why); }
  void OnDelivery(std::string_view, MessagePtr) override {}
  void OnChannelClosed(const ChannelError& why) override { closed_channels_.push_back(why); }

  const Violation& violation_;
  const bool trickles_;
  EventLoop loop_;
  const int events_before_ = PendingEvents();
  std::size_t most_allocated_ = 0;
  std::unique_ptr<FakeServer> server_ = std::make_unique<FakeServer>(loop_);
  ConnectionOptions options_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Channel> channel_;

  int opened_ = 0;
  int opened_before_ = 0;  // it happened
  std::vector<absl::Status> lost_;
  int closed_ = 0;
  std::vector<ChannelError> closed_channels_;
  int channel_closed_ = 0;
  int expected_answers_ = 0;
  int answers_ = 0;
};

class HostileServerTest : public ::testing::TestWithParam<Violation> {};

TEST_P(HostileServerTest, IsSurvived) { Scene(GetParam(), /*trickles=*/false).Run(); }

TEST_P(HostileServerTest, IsSurvivedByteByByte) {
  if (GetParam().bytes.empty() || GetParam().bytes.size() > kMostTrickled) return;
  Scene(GetParam(), /*trickles=*/true).Run();
}

std::string NameOf(const ::testing::TestParamInfo<Violation>& test) { return test.param.name; }

INSTANTIATE_TEST_SUITE_P(Handshake, HostileServerTest,
                         ::testing::ValuesIn(hostile::HandshakeViolations()), NameOf);
INSTANTIATE_TEST_SUITE_P(Connection, HostileServerTest,
                         ::testing::ValuesIn(hostile::ConnectionViolations()), NameOf);
INSTANTIATE_TEST_SUITE_P(Channel, HostileServerTest,
                         ::testing::ValuesIn(hostile::ChannelViolations()), NameOf);
INSTANTIATE_TEST_SUITE_P(Content, HostileServerTest,
                         ::testing::ValuesIn(hostile::ContentViolations()), NameOf);

}  // namespace retryq::amqp::hostile_server_test
