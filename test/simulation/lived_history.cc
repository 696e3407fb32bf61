#include "simulation/lived_history.h"

#include <cmath>

#include "support/test.h"

namespace retryq::simulation {
namespace {

constexpr char kQueue[] = "work";
constexpr char kParked[] = "work.parked";
constexpr char kExchange[] = "work.exchange";
constexpr char kKey[] = "order.placed";
constexpr char kOther[] = "other";
constexpr char kOtherParked[] = "other.parked";
constexpr char kDoomed[] = "doomed";

// A message that delays only itself.
bool IsOfDoomed(const std::string& name) {
  return name == kDoomed || name.find(std::string(".") + kDoomed + ".q") != std::string::npos;
}

bool IsDelayQueue(const std::string& name) {
  return name.starts_with("retry.") || name.starts_with("later.");
}

constexpr absl::Duration kLongEnough = absl::Hours(72);

// The part of `outage` that a restart uses in addition to its downtime: the pause before an
// undeliverable dead letter is tried again.
constexpr absl::Duration kRestartCost = absl::Seconds(190);

absl::Status NotYet() { return absl::UnavailableError("not yet"); }

}  // namespace

std::string_view NameOf(Trouble trouble) {
  switch (trouble) {
    case Trouble::kNone:
      return "no trouble";
    case Trouble::kNetwork:
      return "network";
    case Trouble::kBroker:
      return "broker";
    case Trouble::kOperator:
      return "operator";
    case Trouble::kClock:
      return "clock";
    case Trouble::kStale:
      return "stale queues";
  }
  return "";
}

void History::Watch::OnEvent(const Event& event) {
  if (event.kind == EventKind::kUnconfirmed || event.kind == EventKind::kReturned) {
    ledger_.Excuse(event.id);
  }
  if (event.kind == EventKind::kBreakerOpened) ++breaker_openings_;
}

History::History(std::uint64_t seed, Trouble trouble, QueueType queue_type)
    : trouble_(trouble), queue_type_(queue_type), random_(seed) {}

History::~History() {
  if (doomed_) doomed_->Kill();
  for (const auto& worker : workers_) worker->Kill();
}

// --- what it is made of
// ----------------------------------------------------------------------------

void History::SetUp() {
  const bool stale = trouble_ == Trouble::kStale;
  rabbit_ = std::make_unique<testing::SimulatedRabbitMq>(
      time_, random_,
      testing::SimulatedRabbitMq::Options{.version = random_.OneIn(2) ? "3.10.8" : "4.0.5",
                                          .downtime_counts = random_.OneIn(2),
                                          .restart_renews_quorum = stale});

  constexpr std::array kOutages = {30, 60, 24 * 60};
  consumer_options_.retry.backoff = AnyBackoff();
  consumer_options_.retry.max_attempts = 2 + random_.Below(5);
  // The ledger records only failures, not workers that died.
  consumer_options_.retry.count_redeliveries = CountRedeliveries::kNever;
  any_delay_ = !stale && random_.OneIn(3);
  if (any_delay_) {
    consumer_options_.retry.backoff.jitter = static_cast<double>(random_.Below(5)) / 4;
    client_options_.delay_queues.max_delay_queues = 16 + random_.Below(80);
  }
  consumer_options_.queue = kQueue;
  consumer_options_.prefetch = static_cast<std::uint16_t>(1 + random_.Below(40));
  if (random_.OneIn(3)) consumer_options_.work_exchange = kExchange;

  if (random_.OneIn(3)) {
    consumer_options_.breaker =
        BreakerOptions{.calls = static_cast<int>(1 + random_.Below(20)),
                       .ratio = static_cast<double>(1 + random_.Below(4)) / 4,
                       .pause = absl::Seconds(static_cast<std::int64_t>(1 + random_.Below(5))),
                       .probes = static_cast<int>(1 + random_.Below(3))};
  }

  DelayQueueOptions& delay_queues = client_options_.delay_queues;
  delay_queues.queue_type = queue_type_;
  delay_queues.outage = absl::Minutes(stale ? 5 : kOutages[random_.Below(kOutages.size())]);

  // A client that waits long for confirms depends on the lease alone to decide which of them count.
  if (queue_type_ == QueueType::kClassic && random_.OneIn(3)) {
    delay_queues.confirm_timeout = absl::Minutes(10);
  }

  const bool quorum_work = queue_type_ == QueueType::kQuorum || random_.OneIn(3);
  amqp::Table arguments = {{"x-queue-type", quorum_work ? "quorum" : "classic"}};
  rabbit_->DeclareExchange(kExchange);
  if (random_.OneIn(3)) SetUpOther();
  if (circle_) {
    consumer_options_.retry.on_limit = OnLimit::kReject;
    arguments.Set("x-dead-letter-exchange", "");
    arguments.Set("x-dead-letter-routing-key", kOther);
  }
  rabbit_->DeclareQueue(kQueue, arguments);
  rabbit_->Bind(kExchange, kQueue, kKey);
  time_.Advance(absl::Minutes(1));  // long ago, for a quorum queue

  const bool apart = trouble_ != Trouble::kNone && trouble_ != Trouble::kClock;
  const absl::Duration skew = apart ? delay_queues.outage / 8 : absl::ZeroDuration();
  if (any_delay_) ledger_.LetClocksDiffer(2 * skew);
  outage_left_ = delay_queues.outage - delay_queues.confirm_timeout - 2 * skew;
  for (std::uint64_t workers = 1 + random_.Below(3); workers > 0; --workers) {
    workers_.push_back(
        std::make_unique<Worker>(time_, random_, *rabbit_, WorkerOptions(Between(-skew, skew))));
    workers_.back()->Start();
  }
  if (other_) {
    Worker::Options options = WorkerOptions(Between(-skew, skew));
    options.consumer = *other_;
    options.client.delay_queues.prefix = "later";
    workers_.push_back(std::make_unique<Worker>(time_, random_, *rabbit_, std::move(options)));
    workers_.back()->Start();
  }
  if (queue_type_ == QueueType::kQuorum && random_.OneIn(3)) SetUpDoomed();
}

BackoffOptions History::AnyBackoff() {
  const bool stale = trouble_ == Trouble::kStale;
  constexpr std::array kBases = {1, 5, 30, 120};
  constexpr std::array kFactors = {1.0, 1.5, 2.0, 4.0};
  BackoffOptions backoff;
  backoff.base = absl::Seconds(stale ? 1 : kBases[random_.Below(kBases.size())]);
  backoff.factor = stale ? 1.0 : kFactors[random_.Below(kFactors.size())];
  backoff.max = backoff.base * static_cast<std::int64_t>(1 + random_.Below(12));
  return backoff;
}

// A second queue behind the exchange, with its own policy and prefix.
void History::SetUpOther() {
  circle_ = random_.OneIn(2);
  other_ = consumer_options_;
  other_->queue = kOther;
  other_->work_exchange = random_.OneIn(2) ? kExchange : "";
  other_->retry.backoff = AnyBackoff();
  other_->retry.max_attempts = 1 + random_.Below(4);
  amqp::Table arguments = {{"x-queue-type", random_.OneIn(2) ? "quorum" : "classic"}};
  if (circle_) {
    other_->retry.on_limit = OnLimit::kReject;
    arguments.Set("x-dead-letter-exchange", "");
    arguments.Set("x-dead-letter-routing-key", kQueue);
  }
  rabbit_->DeclareQueue(kOther, arguments);
  rabbit_->Bind(kExchange, kOther, kKey);
}

// More messages of another work queue wait for their next try than a delay queue dead-letters at a
// time, when that work queue is deleted, or accepts no more messages (F37).
void History::SetUpDoomed() {
  doomed_is_full_ = random_.OneIn(2);
  amqp::Table arguments = {{"x-queue-type", random_.OneIn(2) ? "quorum" : "classic"}};
  if (doomed_is_full_) {
    arguments.Set("x-max-length", std::int64_t{1});
    arguments.Set("x-overflow", "reject-publish");
  }
  rabbit_->DeclareQueue(kDoomed, arguments);
  Worker::Options options = WorkerOptions(absl::ZeroDuration());
  options.consumer.queue = kDoomed;
  options.consumer.prefetch = 100;
  options.consumer.retry.max_attempts = 0;
  options.handler = [](const Delivery& /*delivery*/, Settlement settlement) {
    std::move(settlement).Settle(NotYet());
  };
  options.observer = nullptr;
  doomed_ = std::make_unique<Worker>(time_, random_, *rabbit_, std::move(options));
  doomed_->Start();
  time_.Advance(absl::Seconds(1));
  for (std::uint64_t messages = 40 + random_.Below(20); messages > 0; --messages) {
    rabbit_->Publish("", kDoomed);
  }
  steps_to_doom_ = 1 + random_.Below(4);
}

void History::Doom() {
  doomed_->Kill();
  if (doomed_is_full_) {
    rabbit_->Publish("", kDoomed);
  } else {
    rabbit_->DeleteQueue(kDoomed);
  }
}

Worker::Options History::WorkerOptions(absl::Duration skew) {
  return {.client = client_options_,
          .consumer = consumer_options_,
          .skew = skew,
          .latency = [this] { return Latency(); },
          .handler =
              [this](Delivery delivery, Settlement settlement) {
                OnDelivery(std::move(delivery), std::move(settlement));
              },
          .observer = &watch_};
}

absl::Duration History::Latency() {
  if (slow_ && random_.OneIn(8)) return Between(absl::ZeroDuration(), absl::Minutes(4));
  if (slow_ && random_.OneIn(3)) return Between(absl::ZeroDuration(), absl::Seconds(2));
  return absl::Microseconds(static_cast<std::int64_t>(100 + random_.Below(3000)));
}

void History::Send() {
  const std::string id = absl::StrCat("m", ++last_message_);
  plans_[id] = {.failures = random_.Below(consumer_options_.retry.max_attempts + 2),
                .permanent = random_.OneIn(10)};
  // Some messages come from another retry system, with a history.
  const amqp::Table died{{"queue", kQueue}, {"reason", "expired"}, {"count", std::int64_t{1}}};
  const amqp::Table headers = {{"x-death", amqp::Array{amqp::Value(died)}}, {"colour", "green"}};
  const std::string bytes = headers.Encode().value();
  amqp::Properties properties{.message_id = id};
  if (random_.OneIn(4)) properties.headers = amqp::TableView(bytes);
  const bool through_exchange = random_.OneIn(2);
  const int copies = other_ && through_exchange ? 2 : 1;
  ledger_.Sent(id, copies, circle_ ? copies : 1);
  const bool taken = rabbit_->Publish(through_exchange ? kExchange : "",
                                      through_exchange ? kKey : kQueue, properties, id);
  if (!taken) ledger_.Forgive(id);
}

absl::Duration History::AnyDelay() {
  const absl::Duration max = consumer_options_.retry.backoff.max;
  return Between(absl::Milliseconds(1), random_.OneIn(2) ? absl::Seconds(1) : max);
}

void History::OnDelivery(Delivery delivery, Settlement settlement) {
  ledger_.Called(delivery, time_.Now());
  if (healed_ || random_.OneIn(2)) {
    Conclude(delivery, std::move(settlement));
    return;
  }
  const absl::Duration work = trouble_ == Trouble::kNone || random_.OneIn(2)
                                  ? Between(absl::ZeroDuration(), absl::Seconds(2))
                                  : Between(absl::ZeroDuration(), absl::Minutes(1));
  const auto held = std::make_shared<Settlement>(std::move(settlement));
  Later(work, [this, delivery, held] { Conclude(delivery, std::move(*held)); });
}

void History::Conclude(const Delivery& delivery, Settlement settlement) {
  const Plan& plan = plans_.at(std::string(*delivery.properties().message_id));
  if (any_delay_ && random_.OneIn(6) && ledger_.MaySnooze(delivery)) {
    const absl::Duration delay = absl::Ceil(AnyDelay(), absl::Milliseconds(1));
    ledger_.Snoozed(delivery, delay, time_.Now());
    std::move(settlement).Settle(Outcome::Snooze(delay, "later"));
    return;
  }
  if (delivery.attempt() < plan.failures) {
    ledger_.Failed(delivery, time_.Now());
    const bool asks = any_delay_ && random_.OneIn(3);
    std::move(settlement)
        .Settle(asks ? Outcome::RetryAfter(AnyDelay(), NotYet()) : Outcome(NotYet()));
  } else if (plan.permanent) {
    std::move(settlement).Settle(absl::InvalidArgumentError("never"));
  } else {
    ledger_.Handled(delivery);
    std::move(settlement).Settle(Outcome::Ok());
  }
}

// --- what goes wrong
// -------------------------------------------------------------------------------

void History::Later(absl::Duration delay, std::function<void()> call) {
  timers_.push_back(time_.After(delay, std::move(call)));
}

void History::Step() {
  // If there are few messages, leases are not renewed because of publishes.
  const bool sends = trouble_ != Trouble::kClock || random_.OneIn(6);
  for (std::uint64_t messages = random_.Below(4); messages > 0; --messages) {
    if (sends && rabbit_->up()) Send();
  }
  for (const auto& worker : workers_) {
    if (worker->failed()) worker->Kill();
    if (!worker->runs()) worker->Start();
  }
  if (trouble_ == Trouble::kClock) SetClockBack();
  if (steps_to_doom_ > 0 && rabbit_->up() && --steps_to_doom_ == 0) Doom();
  if (random_.OneIn(3)) {
    switch (trouble_) {
      case Trouble::kNone:
      case Trouble::kClock:
        break;
      case Trouble::kNetwork:
        DisturbNetwork();
        break;
      case Trouble::kBroker:
        random_.OneIn(2) ? DisturbBroker() : DisturbNetwork();
        break;
      case Trouble::kOperator:
        random_.OneIn(2) ? DisturbAsOperator() : DisturbBroker();
        break;
      case Trouble::kStale:
        Restart(random_.OneIn(2), Between(absl::Milliseconds(10), absl::Seconds(2)));
        break;
    }
  }
  time_.Advance(random_.OneIn(2) ? Between(absl::ZeroDuration(), absl::Seconds(3))
                                 : Between(absl::ZeroDuration(), absl::Minutes(3)));
}

// By less than a margin at a time, but in total by any amount: while messages wait, renewals
// continue.
void History::SetClockBack() {
  if (time_.SinceBoot() < clock_from_) return;
  clock_from_ = time_.SinceBoot() + absl::Minutes(1);
  rabbit_->StepClock(-Between(absl::Seconds(30), absl::Seconds(55)));
}

void History::DisturbNetwork() {
  Worker& worker = *workers_[random_.Below(workers_.size())];
  switch (random_.Below(5)) {
    case 0:
    case 1:
      Cut(worker);
      break;
    case 2:
      slow_ = !slow_;
      break;
    case 3:
      ExcuseAllUnderWay();
      worker.Kill();
      break;
    case 4:
      if (!worker.runs()) break;
      Cut(worker);
      worker.broker().SetReachable(false);
      Later(Between(absl::ZeroDuration(), absl::Minutes(3)), [&worker] {
        if (worker.runs()) worker.broker().SetReachable(true);
      });
      break;
  }
}

// The client or the broker may notice first, or both may notice late.
void History::Cut(Worker& worker) {
  if (!worker.runs()) return;
  ExcuseAllUnderWay();
  const testing::SimulatedBroker::CutParams cut{
      .may_arrive = Between(absl::ZeroDuration(), absl::Milliseconds(50)),
      .client_notices = Between(absl::ZeroDuration(), absl::Seconds(random_.OneIn(2) ? 0 : 30)),
      .broker_notices = Between(absl::ZeroDuration(), absl::Seconds(random_.OneIn(2) ? 0 : 30))};
  if (!random_.OneIn(3)) worker.broker().CutPublishing(cut);
  if (!random_.OneIn(3)) worker.broker().CutConsuming(cut);
}

void History::DisturbBroker() {
  switch (random_.Below(5)) {
    case 0:
    case 1: {
      const absl::Duration down = Between(absl::Milliseconds(10), absl::Minutes(2));
      if (rabbit_->up() && Afford(down + kRestartCost)) Restart(random_.OneIn(2), down);
      break;
    }
    case 2:
      rabbit_->SetAlarm(true);
      Later(Between(absl::ZeroDuration(), absl::Minutes(2)), [this] { rabbit_->SetAlarm(false); });
      break;
    case 3:
      rabbit_->RefusePublishes(true);
      Later(Between(absl::ZeroDuration(), absl::Minutes(2)),
            [this] { rabbit_->RefusePublishes(false); });
      break;
    case 4:
      DisturbNetwork();
      break;
  }
}

bool History::Afford(absl::Duration outage) {
  if (queue_type_ == QueueType::kClassic) return true;
  if (outage > outage_left_) return false;
  outage_left_ -= outage;
  return true;
}

void History::Restart(bool crash, absl::Duration down) {
  if (!rabbit_->up()) return;
  ExcuseAllUnderWay();
  crash ? rabbit_->Crash() : rabbit_->ShutDown();
  ExcuseAllUnderWay();  // messages that the crash has restored
  Later(down, [this] { rabbit_->Start(); });
}

void History::DisturbAsOperator() {
  switch (random_.Below(5)) {
    case 0:
      rabbit_->DeleteQueue(AnyDelayQueue());
      break;
    case 1:
      rabbit_->Purge(AnyDelayQueue());
      break;
    case 2:
      rabbit_->DeleteExchange(AnyDelayQueue());
      break;
    case 3:
      if (random_.OneIn(4)) rabbit_->DeleteQueue(kParked);
      break;
    case 4:
      rabbit_->RefuseDeclares(true);
      Later(Between(absl::ZeroDuration(), absl::Minutes(2)),
            [this] { rabbit_->RefuseDeclares(false); });
      break;
  }
}

std::string History::AnyDelayQueue() {
  std::vector<std::string> names = rabbit_->queues();
  std::erase_if(names, [](const std::string& name) { return !IsDelayQueue(name); });
  return names.empty() ? std::string("none") : names[random_.Below(names.size())];
}

// Any message of the work queue may be in the process of being acked or copied.
void History::ExcuseAllUnderWay() {
  for (const char* const queue : {kQueue, kOther}) {
    for (const amqp::MessagePtr& message : rabbit_->Messages(queue)) {
      ledger_.Excuse(*message->properties.message_id);
    }
  }
}

// --- and how it ends
// -------------------------------------------------------------------------------

std::vector<std::string> History::Run() {
  SetUp();
  if (trouble_ == Trouble::kBroker && random_.OneIn(4)) {
    // The fault ends right at the start, when queues are new.
    for (int messages = 0; messages < 6; ++messages) Send();
    Later(Between(absl::ZeroDuration(), absl::Seconds(2)),
          [this] { Restart(/*crash=*/true, absl::Seconds(1)); });
  }
  for (std::uint64_t steps = 40 + random_.Below(80); steps > 0; --steps) Step();
  Heal();
  const bool ended = AwaitEnd();
  for (const std::string& id : rabbit_->brought_back()) {
    if (plans_.contains(id)) ledger_.Excuse(id);
  }
  ForgiveWhatWasTaken();
  for (const char* const queue : {kParked, kOtherParked}) {
    for (const amqp::MessagePtr& message : rabbit_->Messages(queue)) {
      ledger_.Parked(*message->properties.message_id);
    }
  }
  std::vector<std::string> faults = ledger_.Faults();
  if (!faults.empty()) Explain(&faults);
  const bool calm = trouble_ == Trouble::kNone || trouble_ == Trouble::kClock;
  if (calm && ledger_.duplicates() > 0) {
    faults.push_back(
        absl::StrCat(ledger_.duplicates(), " calls came twice, with no trouble at all"));
  }
  for (const auto& worker : workers_) {
    if (worker->calls_while_open() == 0) continue;
    faults.push_back(absl::StrCat(worker->calls_while_open(),
                                  " handlers were called while the circuit breaker was open"));
  }
  if (!ended) faults.push_back("messages are still under way after three days");

  // Without messages, no delay queue remains.
  const absl::Duration longest =
      std::max(consumer_options_.retry.backoff.max,
               other_ ? other_->retry.backoff.max : Duration(absl::ZeroDuration()));
  time_.Advance(QueueLifetime(longest, client_options_.delay_queues) + absl::Minutes(10));
  if (const std::string left = AnyDelayQueue(); left != "none") {
    faults.push_back(absl::StrCat("the delay queue ", left, " has stayed"));
  }
  return faults;
}

// The lost messages that the broker itself dropped.
void History::Explain(std::vector<std::string>* faults) const {
  for (const testing::LetGo& gone : rabbit_->let_go()) {
    const std::string prefix = absl::StrCat(gone.message_id, ": lost");
    for (std::string& fault : *faults) {
      if (!fault.starts_with(prefix + " ")) continue;
      absl::StrAppend(&fault, "; ", gone.queue, ": ", std::string(testing::NameOf(gone.cause)));
    }
  }
}

void History::Heal() {
  healed_ = true;
  slow_ = false;
  time_.Advance(absl::Minutes(5));  // restarts, alarms and refusals come to their ends
  timers_.clear();
  rabbit_->Start();
  rabbit_->SetAlarm(false);
  rabbit_->RefuseDeclares(false);
  rabbit_->RefusePublishes(false);
  if (std::exchange(steps_to_doom_, 0) > 0) Doom();
  for (const auto& worker : workers_) {
    if (worker->failed()) worker->Kill();
    if (!worker->runs()) worker->Start();
    worker->broker().SetReachable(true);
  }
}

// Runs until the broker has only parked messages.
bool History::AwaitEnd() {
  const absl::Duration end = time_.SinceBoot() + kLongEnough;
  while (time_.SinceBoot() < end) {
    time_.Advance(absl::Minutes(5));
    const std::vector<std::string> names = rabbit_->queues();
    const bool empty = std::all_of(names.begin(), names.end(), [this](const std::string& name) {
      return name == kParked || name == kOtherParked || IsOfDoomed(name) ||
             rabbit_->Count(name) == 0;
    });
    if (empty) return true;
  }
  return false;
}

// Messages that were deleted by hand, and messages that classic delay queues lose when the broker
// stops.
void History::ForgiveWhatWasTaken() {
  using Cause = testing::LetGo::Cause;
  for (const testing::LetGo& gone : rabbit_->let_go()) {
    if (!plans_.contains(gone.message_id)) continue;
    const bool by_hand = gone.cause == Cause::kQueueDeleted || gone.cause == Cause::kPurged;
    const bool not_kept = gone.cause == Cause::kCrash || gone.cause == Cause::kNoLeader;
    // The broker was killed right after the parked queue had been declared again, which only the
    // worker that declared it knows.
    const bool made_again = gone.cause == Cause::kNewQueueCrashed &&
                            trouble_ == Trouble::kOperator && workers_.size() > 1;
    // RabbitMQ dead-letters rejected messages without confirms, as from classic queues.
    const bool rejected = circle_ && (gone.queue == kQueue || gone.queue == kOther);
    if (by_hand || made_again || (not_kept && (queue_type_ == QueueType::kClassic || rejected)))
      ledger_.Forgive(gone.message_id);
  }
}

}  // namespace retryq::simulation
