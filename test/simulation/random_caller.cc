#include "simulation/random_caller.h"

#include <atomic>
#include <cmath>

#include "retryq/delay_queue_options.h"
#include "retryq/delayed_publisher.h"
#include "support/make_message.h"
#include "support/test.h"

namespace retryq::simulation {
namespace {

constexpr int kDeepest = 3;
constexpr std::size_t kMostParties = 3;  // at a time
constexpr std::size_t kMostConsumers = 5;
constexpr int kMostDrains = 4;  // of a consumer

// Longer than the longest deadline that ends.
constexpr absl::Duration kAfterAll = absl::Minutes(10);

// The beginning of the error of a message that is held because even its own headers are too large.
constexpr std::string_view kTooLargeToPark = "its headers are larger";

// The largest content header that may arrive: RabbitMQ exceeds the negotiated size (F53 in
// doc/rabbitmq_facts.md).
std::size_t LargestHeader(const Broker& broker) { return broker.max_header_size() + 8; }

// The headers with the counts of another system.
constexpr char kTheirCount[] = "x-their-count";

bool IsName(const std::string& name) {
  return name.size() <= 255 && name.find('\0') == std::string::npos;
}

bool IsDelay(absl::Duration delay) {
  return delay >= absl::Milliseconds(1) && delay <= kMaxQueueLifetime;
}

// Whether they break a limit that the public headers state.
bool MustBeRefused(const ConsumerOptions& options) {
  const BackoffOptions& backoff = options.retry.backoff;
  return options.queue.empty() || !IsName(options.queue) || !IsName(options.parked_queue) ||
         !IsName(options.work_exchange) || options.prefetch == 0 || !IsDelay(backoff.base) ||
         backoff.max > kMaxQueueLifetime || !std::isfinite(backoff.factor) ||
         !(backoff.factor >= 1) || !(backoff.jitter >= 0 && backoff.jitter <= 1) ||
         !std::all_of(backoff.delays.begin(), backoff.delays.end(), IsDelay);
}

// Whether leases outlast how long this broker's connection may have been gone unnoticed.
bool Suits(const DelayQueueOptions& options, const Broker& broker) {
  return Validate(options, broker.heartbeat()).ok();
}

// Whatever count the headers have: the next count must still fit into a header.
void ExpectCounted(const Delivery& delivery) {
  EXPECT_LE(delivery.attempt(), std::uint64_t{std::numeric_limits<std::int64_t>::max()});
}

}  // namespace

// A client with its broker and observer. The broker outlives all that is made on it.
struct RandomCaller::Party final : public Observer {
  explicit Party(RandomCaller& owner) : caller(owner), broker(owner.world_.MakeBroker()) {}
  void OnEvent(const Event& event) override {
    EXPECT_TRUE(is_alive) << "the observer of a client that is gone was called";
    EXPECT_FALSE(has_room && event.error.starts_with(kTooLargeToPark))
        << "a message cannot be parked that came as large";
    caller.Called();
  }

  RandomCaller& caller;
  const std::unique_ptr<Broker> broker;
  std::optional<Client> client;
  bool is_alive = true;
  bool has_room = false;     // for each message that it is given
  bool must_refuse = false;  // consumers, as its options are
  int unanswered = 0;        // publishes and declares
};

struct RandomCaller::Consuming {
  std::optional<Consumer> consumer;
  std::atomic<bool> is_alive = true;
  int drains = 0;
  int drained = 0;
};

RandomCaller::RandomCaller(World& world, Options options, std::uint64_t seed)
    : world_(world), options_(std::move(options)), random_(seed) {
  if (options_.threads) other_thread_ = std::make_unique<SettlingThread>();
}

RandomCaller::~RandomCaller() {
  ending_ = true;
  Clear();
}

const std::vector<std::string>& RandomCaller::queues() {
  static const std::vector<std::string> names = {"one", "two", "counting"};
  return names;
}

int RandomCaller::Run() {
  for (int step = 0; step < options_.steps; ++step) {
    Act();
    const int calls_before = calls_;
    const absl::Duration pause = OneOf(options_.pauses);
    world_.Pass(pause);
    EXPECT_LT(calls_ - calls_before, options_.most_calls_between) << "in " << pause;
    if (::testing::Test::HasFailure()) return calls_;
  }
  ending_ = true;
  if (world_.ends_everything()) {
    ExpectDrained();
    world_.Repair();
    ExpectAnswered();
  } else {
    world_.Repair();
  }
  Clear();
  world_.Pass(absl::Minutes(10));
  return calls_;
}

// A stop ends during any fault, unless a handler is running.
void RandomCaller::ExpectDrained() {
  settlements_.clear();
  later_.reset();
  world_.Pass(absl::Minutes(1));
  for (const auto& consuming : consumers_) {
    EXPECT_EQ(consuming->drained, consuming->drains) << "a drain did not end";
  }
}

void RandomCaller::ExpectAnswered() {
  world_.Pass(kAfterAll);
  for (const Party& party : parties_) {
    EXPECT_TRUE(!party.is_alive || party.unanswered == 0)
        << "a publish or a declare was not answered";
  }
}

void RandomCaller::Clear() {
  settlements_.clear();
  while (!consumers_.empty()) DestroyConsumer();
  for (Party& party : parties_) {
    if (party.client) Destroy(party);
  }
  retrier_.reset();
}

// Values that third parties set in headers that retrying reads.
amqp::Table RandomCaller::OddHeaders() {
  amqp::Table headers;
  if (random_.OneIn(4)) {
    headers.Set(kTheirCount, OneOf<amqp::Value>({"18446744073709551615", "9223372036854775807",
                                                 OddNumber(random_), -1}));
    // More than any of them could hold, taken together.
    const amqp::Table death = {{"count", std::numeric_limits<std::int64_t>::max()},
                               {"queue", OneOf(queues())},
                               {"reason", "rejected"}};
    if (random_.OneIn(2)) headers.Set("x-death", amqp::Array{death, death});
    return headers;
  }
  if (!random_.OneIn(3)) return headers;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::uint64_t kMostUnsigned = std::numeric_limits<std::uint64_t>::max();
  headers.Set(
      OneOf<std::string>({"x-retry-count", "x-retry-delay", "x-retry-not-before",
                          "x-retry-first-failure", "x-delivery-count"}),
      OneOf<amqp::Value>({kMost, -kMost - 1, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1},
                          kMost / 1000, kMostUnsigned, OddText(), OddFraction(random_)}));
  if (random_.OneIn(3)) {
    headers.Set("x-death",
                amqp::Array{amqp::Table{{"count", OneOf<amqp::Value>({kMostUnsigned, kMost, -1})},
                                        {"queue", OneOf(queues())},
                                        {"reason", "rejected"},
                                        {"exchange", OddText()}}});
  }
  headers.Set("x-retry-queue", OneOf(queues()));
  headers.Set("x-retry-id", OddText());
  headers.Set("x-retry-exchange", OddText());
  headers.Set("x-retry-routing-key", OddText());
  return headers;
}

void RandomCaller::Called() {
  ++calls_;
  if (ending_ || depth_ >= kDeepest || !random_.OneIn(4)) return;
  ++depth_;
  Act();
  --depth_;
}

void RandomCaller::Act() {
  switch (random_.Below(22)) {
    case 0:
    case 1:
      return Connect();
    case 2:
      return DestroyClient();
    case 3:
    case 4:
      return Consume();
    case 5:
      return DestroyConsumer();
    case 6:
      return Drain();
    case 7:
      return PauseConsumer();
    case 8:
      return ResumeConsumer();
    case 9:
    case 10:
    case 11:
      return Publish();
    case 12:
      return Settle();
    case 13:
      return DropSettlement();
    case 14:
    case 15:
      return world_.Deliver(OneOf(queues()), random_.OneIn(2) ? "m" : "", OddHeaders());
    case 16:
      return MoveConsumer();
    case 17:
      return Wrap();
    case 18:
      return Declare();
    case 19:
      return FlushOrDrain();
    default:
      return world_.Trouble(/*amid=*/depth_ > 0);
  }
}

// ---- clients

void RandomCaller::Connect() {
  if (alive_ >= kMostParties) return;
  ++alive_;
  Party& party = parties_.emplace_back(*this);
  ClientOptions options;
  options.max_open_publishes = OneOf<std::size_t>({0, 1, 5, 10'000, 10'000, 10'000});
  if (random_.OneIn(3)) options.delay_queues.queue_type = QueueType::kQuorum;
  if (random_.OneIn(3)) options.delay_queues.prefix = "later";
  if (random_.OneIn(4)) options.delay_queues.max_length = 1;
  if (random_.OneIn(8)) options.delay_queues.confirm_timeout = OddDuration();
  if (random_.OneIn(8)) options.delay_queues.min_window = OddDuration();
  MakeClient(party, options);
}

void RandomCaller::MakeClient(Party& party, const ClientOptions& options) {
  if (EventLoop* const loop = world_.loop(); loop != nullptr && random_.OneIn(3)) {
    ClientOptions on_loop = options;
    on_loop.observer = &party;
    on_loop.url = random_.OneIn(8) ? OddText() : world_.url();
    if (random_.OneIn(8)) on_loop.more_urls = {OddText()};
    if (random_.OneIn(8)) on_loop.read_coalescing = OddDuration();
    if (random_.OneIn(8)) on_loop.name = OddText();
    if (random_.OneIn(2)) return (void)party.client.emplace(*loop, on_loop);
    party.must_refuse = !Suits(options.delay_queues, *party.broker);
    return (void)party.client.emplace(*loop, *party.broker, on_loop);
  }
  party.must_refuse = !Suits(options.delay_queues, *party.broker);
  party.client.emplace(world_.EnvironmentFor(&party), *party.broker, options,
                       [this, &party](absl::Status status) {
                         EXPECT_TRUE(party.is_alive) << "a client that is gone failed";
                         EXPECT_FALSE(status.ok());
                         Called();
                       });
}

RandomCaller::Party* RandomCaller::AnyParty() {
  std::vector<Party*> alive;
  for (Party& party : parties_) {
    if (party.is_alive && party.client) alive.push_back(&party);
  }
  return alive.empty() ? nullptr : OneOf(alive);
}

void RandomCaller::DestroyClient() {
  Party* const party = AnyParty();
  if (party != nullptr) Destroy(*party);
}

void RandomCaller::Destroy(Party& party) {
  party.is_alive = false;
  --alive_;
  party.client.reset();
}

// ---- consumers

ConsumerOptions RandomCaller::AnyConsumerOptions() {
  ConsumerOptions options{.queue =
                              OneOf<std::string>({"one", "two", "two", "counting", OddText()})};
  options.prefetch = OneOf<std::uint16_t>({0, 1, 3, 64, 65535});
  if (random_.OneIn(2)) options.work_exchange = OneOf<std::string>({"shop", "shop", OddText()});
  if (random_.OneIn(4)) options.retry.max_attempts = random_.Below(3);
  options.retry.on_limit = OneOf<OnLimit>({OnLimit::kPark, OnLimit::kReject, OnLimit::kDiscard});
  if (random_.OneIn(4)) {
    options.retry.for_errors = {{.codes = {absl::StatusCode::kUnavailable},
                                 .max_attempts = 1 + random_.Below(3),
                                 .on_limit = OnLimit::kReject}};
  }
  if (random_.OneIn(4)) {
    options.share_retries = true;  // each failure gives a message to all queues of the exchange
    options.retry.max_attempts = 1 + random_.Below(2);
  }
  // Without a limit it would return at once, forever.
  if (random_.OneIn(3) && options.retry.max_attempts > 0) {
    options.retry.on_permanent = OnLimit::kReject;
  }
  if (random_.OneIn(6)) options.retry.backoff.base = OddDuration();
  if (random_.OneIn(6)) options.retry.backoff.max = OddDuration();
  if (random_.OneIn(6)) options.retry.max_age = OddDuration();
  if (random_.OneIn(6)) options.retry.max_retry_after = OddDuration();
  if (random_.OneIn(6)) options.parked_queue = OddText();
  if (random_.OneIn(3)) options.retry.earlier_counts = {kTheirCount, "x-death"};
  if (random_.OneIn(4)) {
    options.retry.permanent = [this](const absl::Status&) {
      Called();
      return random_.OneIn(3);
    };
  }
  if (random_.OneIn(4)) {
    options.retry.backoff.function = [this](const Failure&) {
      Called();
      return OddDuration();
    };
  }
  if (random_.OneIn(8)) {
    options.retry.backoff.factor = OddFraction(random_);
  }
  if (random_.OneIn(8)) options.retry.backoff.jitter = OddFraction(random_);
  if (random_.OneIn(8)) options.retry.backoff.delays = {OddDuration(), OddDuration()};
  if (random_.OneIn(8)) options.consumer_tag = OddText();
  if (random_.OneIn(6)) options.declare = WorkQueue{.name = random_.OneIn(4) ? OddText() : ""};
  if (random_.OneIn(3)) {
    options.breaker = BreakerOptions{.calls = OneOf<int>({1, 1, 2, 10}),
                                     .pause = absl::Seconds(1),
                                     .probes = OneOf<int>({1, 2})};
    if (random_.OneIn(4)) {
      options.breaker = BreakerOptions{.calls = OneOf<int>({-1, 0, 10'000, 10'001}),
                                       .ratio = OddFraction(random_),
                                       .pause = OddDuration(),
                                       .probes = OneOf<int>({-1, 0, 1, 1'000'000})};
    }
  }
  if (random_.OneIn(8)) options.handler_threads = options_.threads ? 0 : -1;
  return options;
}

Outcome RandomCaller::AnyOutcome() {
  switch (random_.Below(9)) {
    case 0:
      return absl::UnavailableError(OddText());
    case 8:
      return Outcome::Snooze(OddDuration(), OddText());
    case 1:
      return absl::InvalidArgumentError("no");
    case 2:
      return Outcome::RetryAfter(OddDuration(), absl::OkStatus());
    case 3:
      return Outcome::Park(absl::OkStatus());
    case 4:
      return Outcome::Discard(OddText());
    case 5:
      return random_.OneIn(4) ? Outcome::Requeue() : Outcome::Ok();
    default:
      return Outcome::Ok();
  }
}

void RandomCaller::Consume() {
  Party* const party = AnyParty();
  if (party == nullptr || consumers_.size() >= kMostConsumers) return;
  auto consuming = std::make_shared<Consuming>();
  ConsumerOptions options = AnyConsumerOptions();
  const bool is_bad = MustBeRefused(options) || party->must_refuse;
  absl::StatusOr<Consumer> made = absl::UnknownError("");
  if (random_.OneIn(20)) {
    made = party->client->Consume(std::move(options), Handler());
    EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
  } else if (options_.threads && random_.OneIn(3)) {
    options.handler_threads = 2;
    // It uses only atomic members of this caller.
    made = party->client->Consume(
        std::move(options), Handler([consuming](const Delivery& delivery) -> Outcome {
          const Delivery kept = delivery;
          if (!consuming->is_alive || delivery.abandoned()) return Outcome::Ok();
          if (kept.body().size() % 3 == 0) throw std::runtime_error("thrown");
          return kept.redelivered() ? absl::UnavailableError("again") : absl::OkStatus();
        }));
  } else if (random_.OneIn(2)) {
    made = party->client->Consume(
        std::move(options), Handler([this, consuming](const Delivery& delivery) -> Outcome {
          EXPECT_TRUE(consuming->is_alive) << "the handler of a consumer that is gone was called";
          EXPECT_FALSE(delivery.abandoned());
          ExpectCounted(delivery);
          const Delivery kept = delivery;
          Called();
          EXPECT_EQ(kept.body(), delivery.body());
          if (random_.OneIn(10)) throw std::runtime_error("thrown");
          return AnyOutcome();
        }));
  } else {
    made = party->client->Consume(
        std::move(options),
        AsyncHandler([this, consuming](const Delivery& delivery, Settlement settlement) {
          EXPECT_TRUE(consuming->is_alive) << "the handler of a consumer that is gone was called";
          EXPECT_FALSE(delivery.abandoned() || settlement.abandoned());
          ExpectCounted(delivery);
          Called();
          if (random_.OneIn(3)) return Keep(std::move(settlement), consuming);
          if (random_.OneIn(10)) throw std::runtime_error("thrown");
          if (random_.OneIn(3)) std::move(settlement).Settle(AnyOutcome());
        }));
  }
  if (!made.ok()) return;
  EXPECT_FALSE(is_bad) << "a consumer has options beyond the limits";
  consuming->consumer.emplace(*std::move(made));
  consumers_.push_back(std::move(consuming));
}

std::shared_ptr<RandomCaller::Consuming> RandomCaller::AnyConsumer() {
  std::vector<std::shared_ptr<Consuming>> alive;
  for (const auto& consuming : consumers_) {
    if (consuming->is_alive && consuming->consumer) alive.push_back(consuming);
  }
  return alive.empty() ? nullptr : OneOf(alive);
}

void RandomCaller::PauseConsumer() {
  if (const auto one = AnyConsumer()) one->consumer->Pause();
}

void RandomCaller::ResumeConsumer() {
  if (const auto one = AnyConsumer()) one->consumer->Resume();
}

void RandomCaller::DestroyConsumer() {
  if (const auto one = AnyConsumer()) Destroy(one);
}

void RandomCaller::Destroy(const std::shared_ptr<Consuming>& one) {
  one->is_alive = false;
  std::erase(consumers_, one);
  one->consumer.reset();
}

// Onto another one, which that destroys.
void RandomCaller::MoveConsumer() {
  const std::shared_ptr<Consuming> one = AnyConsumer();
  const std::shared_ptr<Consuming> other = AnyConsumer();
  if (one == nullptr || other == one) return;
  // `one` was moved to another place, and its callbacks still refer to it by this name.
  std::erase(consumers_, other);
  other->is_alive = false;
  *other->consumer = *std::exchange(one->consumer, std::nullopt);
  std::erase(consumers_, one);
  one->consumer.emplace(*std::move(other->consumer));
  other->consumer.reset();
  consumers_.push_back(one);
}

void RandomCaller::Drain() {
  const std::shared_ptr<Consuming> one = AnyConsumer();
  if (one == nullptr || one->drains == kMostDrains) return;
  if (random_.OneIn(10)) return one->consumer->Drain(OddDuration(), nullptr);
  ++one->drains;
  one->consumer->Drain(OddDuration(), [this, one, called = false](bool) mutable {
    EXPECT_TRUE(one->is_alive) << "a consumer that is gone was drained";
    EXPECT_FALSE(std::exchange(called, true)) << "drained twice";
    ++one->drained;
    // As who has waited for that does.
    if (!ending_ && one->is_alive && random_.OneIn(3)) return Destroy(one);
    Called();
  });
}

// ---- publishes and settlements

void RandomCaller::Publish() {
  Party* const party = AnyParty();
  if (party == nullptr) return;
  OutgoingMessage message{.exchange = random_.OneIn(3) ? OddText() : "",
                          .routing_key = random_.OneIn(2) ? OddText() : "two",
                          .body = std::string(random_.OneIn(10) ? 100'000 : 3, 'b')};
  const std::string& target = message.exchange.empty() ? message.routing_key : message.exchange;
  bool is_bad = target.find('\0') != std::string::npos || target.size() > 255;
  if (random_.OneIn(8)) {
    const double fraction = OddFraction(random_);
    is_bad |= !std::isfinite(fraction);
    message.headers.Set("n", AtAnyDepth(random_, fraction));
  }
  if (random_.OneIn(8)) message.headers.Set(OddText(), OddText());
  if (random_.OneIn(8)) message.headers.Set("h", std::string(200'000, 'h'));
  if (random_.OneIn(8)) message.content_type = OddText();
  PublishOptions options;
  if (random_.OneIn(3)) options.delay = OddDuration();
  if (random_.OneIn(6)) options.at = world_.EnvironmentFor(nullptr).clock->Now() + OddDuration();
  const absl::Time now = world_.EnvironmentFor(nullptr).clock->Now();
  is_bad |=
      options.delay > kMaxQueueLifetime || (options.at && *options.at - now > kMaxQueueLifetime);
  if (random_.OneIn(3)) options.deadline = OddDuration();
  options.round_up = random_.OneIn(3);
  if (random_.OneIn(10)) return PublishWith(*party, std::move(message), options, nullptr);
  const bool must_end = options.deadline < kAfterAll;
  if (must_end) ++party->unanswered;
  PublishWith(*party, std::move(message), options,
              [this, party, is_bad, must_end, called = false](const absl::Status& status) mutable {
                EXPECT_TRUE(party->is_alive) << "a publish of a client that is gone was answered";
                EXPECT_FALSE(std::exchange(called, true)) << "answered twice";
                EXPECT_TRUE(!is_bad || absl::IsInvalidArgument(status))
                    << "what closes the connection was sent: " << status;
                if (must_end) --party->unanswered;
                Called();
              });
}

void RandomCaller::Declare() {
  Party* const party = AnyParty();
  if (party == nullptr) return;
  WorkQueue work_queue{.name = OneOf<std::string>({"one", "new", OddText()})};
  if (random_.OneIn(3)) work_queue.type = QueueType::kQuorum;
  bool is_bad = work_queue.name.empty() || work_queue.name.size() > 255 ||
                work_queue.name.find('\0') != std::string::npos;
  if (random_.OneIn(4)) {
    const double fraction = OddFraction(random_);
    is_bad |= !std::isfinite(fraction);
    work_queue.arguments.Set(OddText(), AtAnyDepth(random_, fraction));
  }
  if (random_.OneIn(3)) {
    work_queue.bindings = {{.exchange = OneOf<std::string>({"shop", "other", OddText()}),
                            .exchange_type = OneOf<std::string>({"topic", "fanout", OddText()}),
                            .routing_key = OddText()}};
  }
  DeclareOptions options{.only_if_missing = random_.OneIn(2)};
  if (random_.OneIn(3)) options.deadline = OddDuration();
  if (random_.OneIn(10)) return party->client->Declare(std::move(work_queue), options, nullptr);
  const bool must_end = options.deadline < kAfterAll;
  if (must_end) ++party->unanswered;
  party->client->Declare(
      std::move(work_queue), options,
      [this, party, is_bad, must_end, called = false](const absl::Status& status) mutable {
        EXPECT_TRUE(party->is_alive) << "a declare of a client that is gone was answered";
        EXPECT_FALSE(std::exchange(called, true)) << "answered twice";
        EXPECT_TRUE(!is_bad || absl::IsInvalidArgument(status))
            << "what closes the connection was declared: " << status;
        if (must_end) --party->unanswered;
        Called();
      });
}

void RandomCaller::FlushOrDrain() {
  Party* const party = AnyParty();
  if (party == nullptr) return;
  const absl::Duration deadline = OddDuration();
  const bool must_end = deadline < kAfterAll;
  if (must_end) ++party->unanswered;
  auto done = [this, party, must_end, called = false](const absl::Status&) mutable {
    EXPECT_TRUE(party->is_alive) << "a flush or a drain of a client that is gone was answered";
    EXPECT_FALSE(std::exchange(called, true)) << "answered twice";
    if (must_end) --party->unanswered;
    Called();
  };
  random_.OneIn(3) ? party->client->Drain(deadline, std::move(done))
                   : party->client->Flush(deadline, std::move(done));
}

// By the client itself, or by a DelayedPublisher if that has the parameters.
void RandomCaller::PublishWith(Party& party, OutgoingMessage message, const PublishOptions& options,
                               std::function<void(absl::Status)> done) {
  const bool has_time = options.at != PublishOptions().at;
  if (!random_.OneIn(3) || (has_time && options.delay != PublishOptions().delay)) {
    return party.client->Publish(std::move(message), options, std::move(done));
  }
  DelayedPublisher publisher(*party.client,
                             {.round_up = options.round_up, .deadline = options.deadline});
  has_time ? publisher.PublishAt(std::move(message), *options.at, std::move(done))
           : publisher.PublishAfter(std::move(message), options.delay, std::move(done));
}

void RandomCaller::Keep(Settlement settlement, std::shared_ptr<Consuming> of) {
  if (other_thread_ != nullptr && random_.OneIn(2)) {
    return other_thread_->Take(std::move(settlement));
  }
  settlements_.push_back({std::move(settlement), std::move(of)});
}

void RandomCaller::Settle() {
  if (settlements_.empty()) return;
  Kept one = std::move(settlements_.front());
  settlements_.pop_front();
  const bool is_stale = one.consuming != nullptr && !one.consuming->is_alive;
  EXPECT_TRUE(!is_stale || one.settlement.abandoned()) << "a stale delivery passes for ours";
  std::move(one.settlement).Settle(AnyOutcome());
}

void RandomCaller::DropSettlement() {
  if (!settlements_.empty()) settlements_.pop_front();
}

// ---- a retrier

void RandomCaller::Wrap() {
  if (const auto later = later_; later != nullptr && random_.OneIn(4)) return later->RunOne();
  if (retrier_ == nullptr) return BeginWrapping();
  switch (random_.Below(6)) {
    case 0:
      return EndWrapping();
    case 1:
      return retrier_->Abandon();
    case 2:
      EXPECT_LE(retrier_->handling(), retrier_->open());
      return retrier_->WhenIdle([this] { Called(); });
    default:
      return DeliverByHand();
  }
}

void RandomCaller::BeginWrapping() {
  Party& party = parties_.emplace_back(*this);
  auto shared = Retrier::Shared::Create(*party.broker, world_.EnvironmentFor(&party));
  EXPECT_EQ(shared.ok(), Suits({}, *party.broker));
  if (!shared.ok()) return;
  RetrierOptions options{.queue = "one"};
  if (random_.OneIn(2)) {
    options.retry.backoff.function = [this](const Failure&) {
      if (random_.OneIn(3)) EndWrapping();
      Called();
      return absl::Seconds(1);
    };
  }
  auto retrier = Retrier::Create(*shared, options);
  ASSERT_TRUE(retrier.ok());
  retrier_ = *std::move(retrier);
  largest_header_ = LargestHeader(*party.broker);
  // A real connection may hold less after it was lost.
  party.has_room = world_.loop() == nullptr;
  deliver_ = AnyWrapping();
  retrier_->Prepare([this](const absl::Status&) { Called(); });
}

void RandomCaller::EndWrapping() {
  retrier_.reset();
  deliver_ = nullptr;
}

DeliveryHandler RandomCaller::AnyWrapping() {
  if (random_.OneIn(3)) {
    return retrier_->Wrap(AsyncHandler([this](const Delivery& delivery, Settlement settlement) {
      EXPECT_FALSE(delivery.abandoned()) << "a handler was begun for a delivery that is gone";
      Called();
      if (random_.OneIn(2)) Keep(std::move(settlement), nullptr);
    }));
  }
  Handler handler = [this](const Delivery& delivery) {
    EXPECT_FALSE(delivery.abandoned()) << "a handler was begun for a delivery that is gone";
    Called();
    return AnyOutcome();
  };
  if (random_.OneIn(2)) return retrier_->Wrap(std::move(handler));
  later_ = std::make_shared<testing::WaitingExecutor>();
  return retrier_->Wrap(std::move(handler), later_);
}

void RandomCaller::DeliverByHand() {
  testing::MessageParts parts;
  parts.delivery_tag = {.generation = 99, .tag = ++last_tag_};
  if (random_.OneIn(2)) parts.headers = OddHeaders();
  // So large that there is no room for other headers.
  if (random_.OneIn(4)) parts.headers = HeadersThatFill(largest_header_);
  // Others have failed with it.
  if (random_.OneIn(3)) {
    parts.redelivered = true;
    parts.headers =
        amqp::Table{{"x-delivery-count",
                     OneOf<amqp::Value>({std::int64_t{1}, std::int64_t{2}, std::int64_t{100}})}};
  }
  const DeliveryHandler deliver = deliver_;
  deliver(testing::MakeMessage(parts));
}

}  // namespace retryq::simulation
