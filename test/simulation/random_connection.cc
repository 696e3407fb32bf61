#include "simulation/random_connection.h"

#include <cmath>

#include "amqp/codec/frame.h"
#include "amqp/codec/properties_codec.h"
#include "simulation/name_server.h"
#include "support/test.h"

namespace retryq::simulation {
namespace {

constexpr int kSteps = 200;
constexpr int kDeepestAct = 3;
constexpr std::size_t kMostLines = 3;  // at a time
constexpr std::size_t kMostLanes = 8;
// The real time in which all calls must be answered that can still be answered.
constexpr absl::Duration kPatience = absl::Seconds(60);

bool HasNul(std::string_view text) { return text.find('\0') != std::string_view::npos; }
bool HasControl(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; });
}

// Whether they break a limit that retryq/amqp/connection_options.h states.
bool MustBeRefused(const amqp::ConnectionOptions& options) {
  const auto is_size = [](std::uint32_t size, std::uint32_t least) {
    return size == 0 || (size >= least && size <= 1 << 20);
  };
  return HasControl(options.user) || HasNul(options.password) || options.vhost.size() > 255 ||
         std::any_of(options.endpoints.begin(), options.endpoints.end(),
                     [](const amqp::Endpoint& one) { return HasControl(one.host); }) ||
         options.heartbeat < absl::ZeroDuration() || options.heartbeat > absl::Seconds(65535) ||
         options.connection_timeout <= absl::ZeroDuration() ||
         options.handshake_timeout <= absl::ZeroDuration() ||
         options.read_coalescing < absl::ZeroDuration() ||
         options.read_coalescing > absl::Milliseconds(20) ||
         options.reconnect_max < options.reconnect_initial || !is_size(options.frame_max, 8192) ||
         !is_size(options.initial_frame_max, 4096);
}

bool Succeeded(const absl::Status& answer) { return answer.ok(); }
template <typename T>
bool Succeeded(const absl::StatusOr<T>& answer) {
  return answer.ok();
}
bool Succeeded(const PublishResult& result) { return result.outcome == PublishOutcome::kConfirmed; }

}  // namespace

// Of a declare and the like, or the headers of a message.
struct RandomConnection::Arguments {
  amqp::Table table;
  bool is_finite = true;
};

// Marks that a call is under way; no callback may be called inside it.
class RandomConnection::Calling {
 public:
  explicit Calling(RandomConnection& caller) : caller_(caller) { ++caller_.calling_; }
  ~Calling() { --caller_.calling_; }
  Calling(const Calling&) = delete;
  Calling& operator=(const Calling&) = delete;

 private:
  RandomConnection& caller_;
};

class RandomConnection::Line final : public amqp::ConnectionListener {
 public:
  explicit Line(RandomConnection& owner) : caller(owner) {}

  void OnOpen() override {
    EXPECT_FALSE(must_not_open) << "options beyond the limits, or another's certificate, were used";
    EXPECT_TRUE(hears) << "a connection that is gone or closed was opened";
    caller.Called();
  }
  void OnLost(const absl::Status& why) override {
    EXPECT_TRUE(hears) << "a connection that is gone or closed was lost";
    EXPECT_FALSE(why.ok());
    caller.Called();
  }
  void OnBlocked(bool /*blocked*/, std::string_view /*reason*/) override {
    EXPECT_TRUE(hears) << "a connection that is gone or closed was blocked";
    caller.Called();
  }

  RandomConnection& caller;
  std::optional<amqp::Connection> connection;
  bool must_not_open = false;  // as its options are
  bool must_open = false;      // where nothing is wrong with the server
  bool hears = true;           // neither destroyed nor closed
  int unanswered = 0;          // updates of its secret
  int closes = 0;
  int closed = 0;
};

class RandomConnection::Lane final : public amqp::ChannelListener {
 public:
  Lane(RandomConnection& owner, const Line& of) : caller(owner), line(of) {}

  void OnDelivery(std::string_view /*consumer_tag*/, amqp::MessagePtr message) override {
    EXPECT_TRUE(hears && !ended) << "a channel that is gone, closed or ended delivers";
    EXPECT_EQ(message->delivery_tag.generation, channel->generation());
    tags.push_back(message->delivery_tag.tag);
    const std::string body(message->body);
    caller.Called();
    EXPECT_EQ(message->body, body);
  }
  void OnConsumerCancelled(std::string_view consumer_tag) override {
    EXPECT_TRUE(hears && !ended) << "a channel that is gone, closed or ended has a consumer";
    EXPECT_FALSE(consumer_tag.empty());
    caller.Called();
  }
  void OnChannelClosed(const amqp::ChannelError& why) override {
    EXPECT_TRUE(hears) << "a channel that is gone or closed was closed";
    EXPECT_FALSE(ended) << "a channel was closed twice";
    EXPECT_FALSE(why.status.ok());
    EXPECT_EQ(unanswered, answered_later) << "a channel ended before its calls were answered";
    ended = true;
    caller.Called();
  }

  RandomConnection& caller;
  const Line& line;
  std::unique_ptr<amqp::Channel> channel;
  std::vector<std::uint64_t> tags;  // not settled yet
  bool hears = true;                // neither destroyed nor closed
  bool ended = false;
  int unanswered = 0;
  int answered_later = 0;  // of those, asked of a channel that was not open
  int closes = 0;
  int closed = 0;
};

RandomConnection::RandomConnection(HostileWorld& world, std::uint64_t seed)
    : world_(world), random_(seed) {}
RandomConnection::~RandomConnection() { Clear(); }

int RandomConnection::Run() {
  for (int step = 0; step < kSteps; ++step) {
    Act();
    world_.Pass(OneOf<absl::Duration>(
        {absl::ZeroDuration(), absl::Milliseconds(1), absl::Milliseconds(4)}));
    if (::testing::Test::HasFailure()) return calls_;
  }
  ending_ = true;
  ExpectAnswered();
  Clear();
  world_.Pass(absl::Milliseconds(4));
  return calls_;
}

// The end of the connection answers all calls that the broker has not answered.
void RandomConnection::ExpectAnswered() {
  world_.Repair();
  const auto all_answered = [this] {
    for (const Line& line : lines_) {
      if (line.hears && line.unanswered > 0) return false;
      if (line.connection && line.closed < line.closes) return false;
    }
    for (const Lane& lane : lanes_) {
      if (lane.hears && lane.line.hears && lane.unanswered > 0) return false;
      if (lane.channel != nullptr && lane.closed < lane.closes) return false;
    }
    return true;
  };
  const absl::Duration end = world_.loop()->clock().SinceBoot() + kPatience;
  while (!all_answered() && world_.loop()->clock().SinceBoot() < end) {
    world_.CutAll();
    world_.Pass(absl::Milliseconds(4));
  }
  EXPECT_TRUE(all_answered()) << "a call was not answered";
  const auto all_open = [this] {
    return std::all_of(lines_.begin(), lines_.end(), [](const Line& line) {
      return !line.must_open || !line.hears || line.connection->is_open();
    });
  };
  while (!all_open() && world_.loop()->clock().SinceBoot() < end) {
    world_.Pass(absl::Milliseconds(4));
  }
  EXPECT_TRUE(all_open()) << "a connection was not made, with nothing in its way";
  EXPECT_LE(NameServer::Instance().TakeMostAtOnce(), 1)
      << "more than one thread looked up the name of one connection";
}

void RandomConnection::Clear() {
  ending_ = true;
  for (Lane& lane : lanes_) {
    if (lane.channel != nullptr && random_.OneIn(2)) DestroyLane(lane);
  }
  for (Line& line : lines_) {
    if (line.connection) DestroyLine(line);
  }
  // They may outlive their connection.
  for (Lane& lane : lanes_) {
    if (lane.channel != nullptr) DestroyLane(lane);
  }
}

RandomConnection::Arguments RandomConnection::AnyArguments() {
  Arguments arguments;
  amqp::Table& table = arguments.table;
  if (random_.OneIn(4)) table.Set(OddText(), OddText());
  if (random_.OneIn(4)) {
    const double fraction = OddFraction(random_);
    arguments.is_finite = std::isfinite(fraction);
    table.Set("n", AtAnyDepth(random_, fraction));
  }
  if (random_.OneIn(8)) {
    table.Set("h", std::string(OneOf<std::size_t>({200'000, 131'000, 8'100, 4'050}), 'h'));
  }
  if (random_.OneIn(8)) table.Set("u", AtAnyDepth(random_, OddNumber(random_)));
  may_be_refused_ |= !table.empty();
  return arguments;
}

void RandomConnection::Called() {
  EXPECT_EQ(calling_, 0) << "called back from inside a call";
  ++calls_;
  if (ending_ || depth_ >= kDeepestAct || !random_.OneIn(3)) return;
  ++depth_;
  Act();
  --depth_;
}

void RandomConnection::Act() {
  switch (random_.Below(12)) {
    case 0:
      return Connect();
    case 1:
      if (Line* const line = AnyLine()) ActOn(*line);
      return;
    case 2:
    case 3:
      if (Line* const line = AnyLine()) OpenChannel(*line);
      return;
    case 4:
      return world_.Trouble(/*amid=*/depth_ > 0);
    case 5:
      return world_.Deliver("one", "m", {});
    default:
      if (Lane* const lane = AnyLane()) ActOn(*lane);
  }
}

// ---- connections

RandomConnection::Line* RandomConnection::AnyLine() {
  std::vector<Line*> alive;
  for (Line& line : lines_) {
    if (line.connection) alive.push_back(&line);
  }
  return alive.empty() ? nullptr : OneOf(alive);
}

void RandomConnection::Connect() {
  std::size_t alive = 0;
  for (const Line& line : lines_) alive += line.connection ? 1U : 0U;
  if (alive >= kMostLines) return;
  amqp::ConnectionOptions options = world_.options();
  const std::uint16_t port = options.endpoints.front().port;
  std::string& host = options.endpoints.front().host;
  // All clients get the same, including certificates.
  host = OneOf<std::string>({host, "rabbit.test.", "RABBIT.test"});
  // Another name, which the server's certificate does not have, or no name, which no certificate
  // has.
  const bool is_another = world_.has_tls() && random_.OneIn(4);
  if (is_another && random_.OneIn(2)) {
    host = "another.test.";
  } else if (is_another) {
    options.tls->server_name = OneOf<std::string>({"another.test", ".", "%lo"});
  }
  // The server has an address of its own there, too, which is never found.
  if (random_.OneIn(4)) {
    options.endpoints.insert(options.endpoints.begin(),
                             {.host = absl::StrCat("slow", lines_.size(), ".test"), .port = port});
  }
  const bool may_be_odd = random_.OneIn(2);
  bool is_odd = false;
  const auto odd = [this, may_be_odd, &is_odd](std::uint64_t chances) {
    const bool odd_now = may_be_odd && random_.OneIn(chances);
    is_odd |= odd_now;
    return odd_now;
  };
  const std::string nul("127.0.0.1\0x", 11);
  if (odd(4)) {
    options.endpoints.push_back(
        {.host = OneOf<std::string>({OddText(), nul, "127.0.0.1\n"}), .port = port});
  }
  if (odd(8)) options.endpoints.clear();
  if (odd(8)) options.user = OddText();
  if (odd(4)) options.password = OneOf<std::string>({OddText(), nul});
  if (odd(8)) options.vhost = OddText();
  if (odd(8)) options.connection_name = OddText();
  if (odd(8)) options.heartbeat = OddDuration();
  if (odd(8)) options.connection_timeout = OddDuration();
  if (odd(8)) options.handshake_timeout = OddDuration();
  if (odd(16)) options.reconnect_max = OddDuration();
  if (odd(8)) options.read_coalescing = OddDuration();
  if (odd(8)) options.channel_max = OneOf<std::uint16_t>({0, 1, 2, 65535});
  if (odd(8)) options.frame_max = OneOf<std::uint32_t>({0, 1, 8192, 4294967295});
  if (odd(8)) options.initial_frame_max = OneOf<std::uint32_t>({1, 8192, 4294967295});
  if (odd(16)) options.tls.emplace().ca_file = "nowhere" + OddText();
  Line* const leader = AnyLine();
  Line& line = lines_.emplace_back(*this);
  line.must_not_open = MustBeRefused(options) || is_another;
  line.must_open = !is_another && !is_odd;
  const Calling calling(*this);
  line.connection.emplace(*world_.loop(), options, &line);
  if (leader != nullptr && random_.OneIn(3)) line.connection->FollowPaceOf(*leader->connection);
}

void RandomConnection::ActOn(Line& line) {
  switch (random_.Below(6)) {
    case 0:
      return DestroyLine(line);
    case 1:
      return CloseLine(line);
    case 2: {
      const Calling calling(*this);
      return line.connection->Reconnect(absl::UnavailableError(OddText()));
    }
    case 3:
      EXPECT_GT(line.connection->max_header_size(), 0);
      EXPECT_LT(line.connection->server_version().size(), 256);
      EXPECT_TRUE(line.hears || !line.connection->is_open());
      return (void)line.connection->unsent_bytes();
    default:
      return UpdateSecret(line);
  }
}

void RandomConnection::DestroyLine(Line& line) {
  line.hears = false;
  line.closes = line.closed;  // none comes any more
  const Calling calling(*this);
  line.connection.reset();
}

void RandomConnection::CloseLine(Line& line) {
  line.hears = false;
  ++line.closes;
  const Calling calling(*this);
  line.connection->Close(OddDuration(), [this, &line, called = false]() mutable {
    EXPECT_FALSE(std::exchange(called, true)) << "a connection was closed twice";
    EXPECT_LE(++line.closed, line.closes) << "a connection that is gone was closed";
    Called();
  });
}

void RandomConnection::UpdateSecret(Line& line) {
  ++line.unanswered;
  const std::string secret =
      random_.OneIn(3) ? std::string(OneOf<std::size_t>({20'000, 8'000, 4'090}), 's') : OddText();
  const bool is_bad = secret.size() > 8000 || HasNul(secret);
  if (secret.size() > 1000) line.must_open = false;  // the next login may not fit into a frame
  const Calling calling(*this);
  line.connection->UpdateSecret(
      secret, [this, &line, is_bad, called = false](const absl::Status& status) mutable {
        EXPECT_TRUE(line.hears) << "the secret of a connection that is gone was updated";
        EXPECT_FALSE(std::exchange(called, true)) << "a secret was updated twice";
        EXPECT_FALSE(is_bad && status.ok()) << "a secret was sent that cannot be";
        --line.unanswered;
        Called();
      });
}

// ---- channels

RandomConnection::Lane* RandomConnection::AnyLane() {
  std::vector<Lane*> alive;
  for (Lane& lane : lanes_) {
    if (lane.channel != nullptr) alive.push_back(&lane);
  }
  return alive.empty() ? nullptr : OneOf(alive);
}

void RandomConnection::OpenChannel(Line& line) {
  std::size_t alive = 0;
  for (const Lane& lane : lanes_) alive += lane.channel != nullptr ? 1U : 0U;
  if (alive >= kMostLanes) return;
  Lane& lane = lanes_.emplace_back(*this, line);
  const Calling calling(*this);
  lane.channel = line.connection->OpenChannel(&lane);
}

void RandomConnection::ActOn(Lane& lane) {
  switch (random_.Below(12)) {
    case 0:
      return DestroyLane(lane);
    case 1:
      if (random_.OneIn(3)) CloseLane(lane);
      return;
    case 2:
      EXPECT_GT(lane.channel->generation(), 0);
      EXPECT_LE(lane.channel->unconfirmed(), amqp::Channel::kMaxUnconfirmed);
      EXPECT_TRUE(lane.hears || !lane.channel->is_open());
      return;
    case 3:
    case 4:
    case 5:
      return Publish(lane);
    case 6:
    case 7:
      return Consume(lane);
    case 8:
    case 9:
      return SettleOn(lane);
    default:
      return Ask(lane);
  }
}

void RandomConnection::DestroyLane(Lane& lane) {
  lane.hears = false;
  lane.closes = lane.closed;
  const Calling calling(*this);
  lane.channel.reset();
}

void RandomConnection::CloseLane(Lane& lane) {
  lane.hears = false;
  ++lane.closes;
  const Calling calling(*this);
  lane.channel->Close([this, &lane, called = false]() mutable {
    EXPECT_FALSE(std::exchange(called, true)) << "a channel was closed twice";
    EXPECT_LE(++lane.closed, lane.closes) << "a channel that is gone was closed";
    Called();
  });
}

std::function<void()> RandomConnection::Answered(Lane& lane) {
  // Calls on a closed channel, and calls that are not sent, are answered in a later turn.
  const bool later = std::exchange(may_be_refused_, false) || !lane.channel->is_open();
  ++lane.unanswered;
  if (later) ++lane.answered_later;
  return [&lane, later, called = false]() mutable {
    EXPECT_TRUE(lane.hears) << "a call was answered whose channel is gone or closed";
    EXPECT_FALSE(std::exchange(called, true)) << "a call was answered twice";
    --lane.unanswered;
    if (later) --lane.answered_later;
  };
}

template <typename T>
std::function<void(T)> RandomConnection::Done(Lane& lane, bool is_bad) {
  if (random_.OneIn(10)) return nullptr;
  return [this, is_bad, answered = Answered(lane)](T answer) {
    EXPECT_FALSE(is_bad && Succeeded(answer)) << "what must be refused was sent";
    answered();
    Called();
  };
}

void RandomConnection::Ask(Lane& lane) {
  using Counted = absl::StatusOr<std::uint32_t>;
  const Calling calling(*this);
  amqp::Channel& channel = *lane.channel;
  may_be_refused_ = false;
  const std::string name = OddText();
  const std::string other = OddText();
  const std::string key = OddText();
  const Arguments arguments = AnyArguments();
  const bool is_bad = !arguments.is_finite;
  switch (random_.Below(9)) {
    case 0:
      return channel.DeclareQueue(
          {.name = name, .passive = random_.OneIn(2), .arguments = arguments.table},
          Done<absl::StatusOr<DeclareOk>>(lane, is_bad));
    case 1:
      return channel.BindQueue(name, other, key, arguments.table, Done<absl::Status>(lane, is_bad));
    case 2:
      return channel.DeleteQueue(name, Done<Counted>(lane));
    case 3:
      return channel.PurgeQueue(name, Done<Counted>(lane));
    case 4:
      return channel.DeclareExchange({.name = name, .type = other}, Done<absl::Status>(lane));
    case 5:
      return channel.CheckExchange(name, Done<absl::Status>(lane));
    case 6:
      return channel.DeleteExchange(name, Done<absl::Status>(lane));
    case 7:
      return channel.Qos(OneOf<std::uint16_t>({0, 1, 65535}), Done<absl::Status>(lane));
    default:
      return channel.Cancel(name, Done<absl::Status>(lane));
  }
}

void RandomConnection::Publish(Lane& lane) {
  // Mostly as it should be.
  const Calling calling(*this);
  may_be_refused_ = false;
  if (random_.OneIn(3)) return lane.channel->ConfirmSelect(Done<absl::Status>(lane));
  const std::string exchange = OddText();
  const std::string key = OddText();
  const std::string type = OddText();
  amqp::Table table = AnyArguments().table;
  const bool is_near_limit = lane.channel->is_open() && lane.line.connection && random_.OneIn(6);
  // The largest size that fits into a frame, and one byte more (F53).
  const std::size_t most =
      is_near_limit ? lane.line.connection->max_header_size() + amqp::kFrameOverhead : 0;
  if (is_near_limit) table = HeadersThatFill(most + random_.Below(2));
  may_be_refused_ |= is_near_limit;
  const absl::StatusOr<std::string> headers = table.Encode();
  auto body = std::make_shared<const std::string>(random_.OneIn(10) ? 300'000 : 3, 'b');
  PublishParams params{
      .exchange = exchange, .routing_key = key, .mandatory = random_.OneIn(2), .body = *body};
  if (!is_near_limit && random_.OneIn(2)) params.properties.type = type;
  if (headers.ok() && (is_near_limit || random_.OneIn(2)))
    params.properties.headers = amqp::TableView(*headers);
  if (random_.OneIn(2)) params.body_owner = body;
  lane.channel->Publish(params, Done<const PublishResult&>(lane));
}

void RandomConnection::Consume(Lane& lane) {
  may_be_refused_ = false;
  const std::string queue = OddText();
  const std::string tag = OddText();
  const Arguments arguments = AnyArguments();
  const Calling calling(*this);
  lane.channel->Consume({.queue = queue, .consumer_tag = tag, .arguments = arguments.table},
                        Done<absl::StatusOr<std::string>>(lane, !arguments.is_finite));
}

void RandomConnection::SettleOn(Lane& lane) {
  std::uint64_t tag = OddNumber(random_);
  if (!lane.tags.empty() && !random_.OneIn(4)) {
    tag = lane.tags.front();
    if (random_.OneIn(2)) lane.tags.erase(lane.tags.begin());
  }
  const Calling calling(*this);
  if (random_.OneIn(2)) return lane.channel->Ack(tag);
  lane.channel->Reject(tag, random_.OneIn(2));
}

}  // namespace retryq::simulation
