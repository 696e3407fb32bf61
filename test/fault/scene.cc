#include "fault/scene.h"

#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>

#include "fault/messages.h"
#include "fault/poison.h"
#include "retryq/amqp/connection_options.h"
#include "support/standard.h"

namespace retryq::fault {
namespace {

// The numbers of the work queue that the fault affects.
constexpr std::size_t kWorkers = 2;

// The worker that is stopped during a fault; faults of a single worker affect the other one.
constexpr std::size_t kStopped = 1;
constexpr absl::Duration kGracePeriod = absl::Seconds(25);
constexpr absl::Duration kStopPatience = absl::Seconds(40);
constexpr absl::Duration kLook = absl::Milliseconds(50);

// A message that is held or waits for a connection is tried again after half a minute at most; one
// that a quorum queue could not dead-letter after three.
constexpr absl::Duration kSettlePatience = absl::Minutes(5);

// How often Fault::unstick is tried if messages are missing and no message moves.
constexpr int kMostUnsticks = 4;

constexpr int kUnaffectedRate = 20;  // messages a second

const testing::TestVhost::Rights kAllRights = {.configure = ".*", .write = ".*", .read = ".*"};

amqp::ConnectionOptions ProducerOptions(const std::vector<std::string>& urls) {
  amqp::ConnectionOptions options = amqp::ParseUris(urls).value();
  options.connection_name = "producer";
  options.heartbeat = absl::Seconds(Scene::kHeartbeat);
  options.reconnect_max = absl::Seconds(1);
  return options;
}

// The vhost of `url`, on another port of the same host.
std::string WithPort(const std::string& url, std::uint16_t port) {
  const amqp::Endpoint endpoint = amqp::ParseUri(url).value().endpoints.front();
  const std::string from = amqp::Describe(endpoint);
  std::string result = url;
  return result.replace(result.find(from), from.size(),
                        amqp::Describe({.host = endpoint.host, .port = port}));
}

std::uint16_t PortOf(const std::string& url) {
  return amqp::ParseUri(url).value().endpoints.front().port;
}

}  // namespace

Scene::Scene(const Options& options) : options_(options), signs_(kWorkers) {
  vhost_.emplace(node().url(), node().management_url());
  worker_user_ = vhost_->AddUser(kAllRights);
}

Scene::~Scene() {
  workers_.clear();
  traffic_.Call([this](EventLoop&) {
    producer_.reset();
    unaffected_producer_.reset();
    proxy_.reset();
  });
}

SceneResult Scene::Run() {
  SceneResult result;
  try {
    Start();
    account(Kind::kUnaffected).MeasureLatenessFrom(absl::Now());
    is_struck_ = true;
    options_.fault.strike(*this);
    StopDuringFault();
    is_struck_ = false;
    StartAgain();
    const absl::Time end = absl::Now();
    Await(
        "both workers go on", [&] { return RecoveryFrom(end).has_value(); }, absl::Minutes(2));
    result.recovery = RecoveryFrom(end);
    Settle();
    Stop();
  } catch (const std::exception& error) {
    result.failure = error.what();
  }
  try {
    for (const auto& worker : workers_) worker->Kill();
    Listen();
    // The broker requeues their unacked messages once it has noticed that the workers are gone.
    const std::unique_ptr<testing::Peer> peer = Connect();
    Await("the workers' deliveries are back", [&] {
      const std::vector<std::string> queues = vhost_->QueuesBeginning("");
      return std::all_of(queues.begin(), queues.end(), [&](const std::string& queue) {
        return (queue != kWorkQueue && queue != kUnaffectedQueue) ||
               options_.fault.auto_delete_work_queue || peer->Consumers(queue) == 0;
      });
    });
    CountWaiting();
  } catch (const std::exception& error) {
    if (result.failure.empty()) result.failure = error.what();
  }
  result.stuck = stuck_;
  result.stop = stop_;
  Judge(&result);
  return result;
}

void Scene::Judge(SceneResult* result) {
  const auto fail = [result](const std::string& why) {
    if (result->failure.empty()) result->failure = why;
  };
  result->count = referee().Result(sent());
  if (result->count.waiting > 0) fail(absl::StrCat(result->count.waiting, " still wait"));
  if (poison_sent_ > 0) {
    result->poison = account(Kind::kPoison).referee().Result(poison_sent_);
    const std::uint64_t missing = poison_sent_ - result->poison->parked;
    if (missing > 0) fail(absl::StrCat(missing, " poisonous messages were not parked"));
  }
  if (unaffected_producer_ == nullptr) return;
  const Account& unaffected = account(Kind::kUnaffected);
  result->unaffected = unaffected.referee().Result(sent(Kind::kUnaffected));
  result->lateness = unaffected.lateness();
  std::uint64_t missing = result->unaffected->waiting;
  if (!BrokerLosesEverywhere()) missing += result->unaffected->lost;
  if (missing > 0) fail(absl::StrCat("of the unaffected queue ", missing, " are missing"));
  if (!result->lateness.has_value()) return fail("nothing of the unaffected queue was retried");
  const absl::Duration most = std::max(options_.most_late, options_.fault.unaffected_lateness);
  if (*result->lateness > most) {
    fail(absl::StrCat("a retry of the unaffected queue was ",
                      absl::FormatDuration(*result->lateness), " late"));
  }
}

// A fault of a whole cluster also affects the unaffected queue.
bool Scene::BrokerLosesEverywhere() const {
  const Fault& fault = options_.fault;
  return options_.queue_type == "classic" && !fault.classic_may_lose.empty() &&
         (fault.place == Fault::Place::kCluster || fault.place == Fault::Place::kUpgrade);
}

void Scene::Start() {
  DeclareWorkQueue();
  options_.fault.prepare(*this);
  const std::string parameters = absl::StrCat("heartbeat=", kHeartbeat);
  const std::string worker_url =
      absl::StrCat(vhost_->UrlAs(worker_user_, worker_user_), "?", parameters);
  std::vector<std::string> urls;
  std::vector<std::string> worker_urls;
  for (const testing::BrokerNode* each : nodes()) {
    urls.push_back(WithPort(vhost_->Url(parameters), PortOf(each->url())));
    worker_urls.push_back(WithPort(worker_url, PortOf(each->url())));
  }
  const std::uint16_t proxy_port = traffic_.Call([&](EventLoop& loop) {
    producer_ = std::make_unique<Producer>(
        loop, ProducerOptions(urls),
        Producer::Load{.queue = kWorkQueue, .messages_a_second = options_.fault.rate});
    if (options_.fault.unaffected != Fault::Unaffected::kNone) {
      unaffected_producer_ =
          std::make_unique<Producer>(loop, ProducerOptions(urls),
                                     Producer::Load{.queue = kUnaffectedQueue,
                                                    .kind = Kind::kUnaffected,
                                                    .messages_a_second = kUnaffectedRate});
    }
    proxy_ = std::make_unique<testing::Proxy>(loop, PortOf(node().url()),
                                              testing::Proxy::ReadAlong{&in_flight_});
    return proxy_->port();
  });
  // Workers on a cluster get the URLs of all nodes.
  StartWorkers(nodes().size() == 1 ? std::vector{WithPort(worker_url, proxy_port)} : worker_urls,
               worker_urls);
  if (options_.fault.at_once) return;
  AwaitRecovery();
  // A parked message has been in all delay queues. A while later these are certain to survive a
  // crash.
  Await("messages are parked", [this] { return account(Kind::kOrder).any_parked(); });
  Last(absl::Seconds(2));
}

void Scene::StartWorkers(const std::vector<std::string>& proxied,
                         const std::vector<std::string>& all) {
  const auto start = [&](const std::vector<std::string>& urls, std::vector<std::string> flags) {
    flags.insert(flags.end(), options_.fault.worker_flags.begin(),
                 options_.fault.worker_flags.end());
    workers_.push_back(std::make_unique<Worker>(
        Worker::Options{.program = options_.worker_program,
                        .log = absl::StrCat(options_.directory, "/", options_.fault.name, "-",
                                            options_.queue_type, "-", workers_.size()),
                        .queue_type = options_.queue_type,
                        .confirm_timeout = kConfirmTimeout,
                        .flags = std::move(flags),
                        .urls = urls}));
    workers_.back()->Start();
  };
  std::vector<std::string> queues = {"--orders"};
  if (options_.fault.unaffected == Fault::Unaffected::kSameWorkers)
    queues.push_back("--unaffected");
  for (std::size_t i = 0; i < kWorkers; ++i) start(proxied, queues);
  if (options_.fault.unaffected == Fault::Unaffected::kOwnWorker) start(all, {"--unaffected"});
}

void Scene::RestartWorker(std::size_t index, const std::vector<std::string>& flags) {
  std::vector<std::string> all = options_.fault.worker_flags;
  all.push_back("--orders");
  if (options_.fault.unaffected == Fault::Unaffected::kSameWorkers) all.push_back("--unaffected");
  all.insert(all.end(), flags.begin(), flags.end());
  if (!worker(index).Stop(absl::Seconds(15))) throw std::runtime_error("a worker did not end well");
  worker(index).SetFlags(std::move(all));
  worker(index).Start();
}

void Scene::CheckWorkers() {
  for (const auto& worker : workers_) {
    if (!options_.fault.workers_die) {
      worker->CheckRuns();
    } else if (worker != workers_.back() || workers_.size() == kWorkers) {
      worker->StartAgainIfDead();
    }
  }
}

void Scene::PauseProducer() {
  traffic_.Call([this](EventLoop&) { producer_->Pause(); });
  Await("the broker answers the producer",
        [&] { return traffic_.Call([this](EventLoop&) { return producer_->open(); }) == 0; });
}

void Scene::ResumeProducer() {
  traffic_.Call([this](EventLoop&) { producer_->Resume(); });
}

void Scene::SendOneMore() {
  traffic_.Call([this](EventLoop&) { producer_->SendOneMore(); });
}

void Scene::PublishPoison(testing::Peer& peer) {
  const MessageName name{.kind = Kind::kPoison, .number = poison_sent_++};
  const std::string headers = PoisonousHeaders(PoisonOf(name.number));
  peer.Publish("", kWorkQueue, name.Text(), {.headers = amqp::TableView(headers)});
}

std::unique_ptr<testing::Peer> Scene::Connect() const {
  return std::make_unique<testing::Peer>(vhost_->Url());
}

void Scene::GiveRights() const { vhost_->SetRights(worker_user_, kAllRights); }

void Scene::DeclareWorkQueue() const {
  const std::unique_ptr<testing::Peer> peer = Connect();
  const amqp::Table arguments = {{"x-queue-type", options_.fault.work_queue_type}};
  amqp::Table work_queue_arguments = arguments;
  if (options_.fault.work_queue_refuses) work_queue_arguments.Set("x-overflow", "reject-publish");
  peer->DeclareQueue(kWorkQueue, work_queue_arguments,
                     {.auto_delete = options_.fault.auto_delete_work_queue});
  if (options_.fault.unaffected != Fault::Unaffected::kNone) {
    peer->DeclareQueue(kUnaffectedQueue, arguments);
  }
}

void Scene::Last(absl::Duration duration) {
  const absl::Time begin = absl::Now();
  const absl::Time end = begin + duration;
  for (; absl::Now() < end; absl::SleepFor(kLook)) {
    Listen();
    if (options_.fault.workers_die) CheckWorkers();
    if (absl::Now() > begin + duration / 4) StopDuringFault();
  }
}

void Scene::StopDuringFault() {
  if (!options_.stops || !is_struck_ || stop_.has_value()) return;
  const absl::Time begin = absl::Now();
  const bool is_well = workers_[kStopped]->Stop(kStopPatience);
  stop_ = absl::Now() - begin;
  is_stopped_ = true;
  if (!is_well) throw std::runtime_error("a worker did not end well during the fault");
  if (*stop_ >= kGracePeriod) throw std::runtime_error("a stop took the whole grace period");
}

// Does not check before the fault is over, or while a worker is awaited: the first start may be
// refused permanently.
void Scene::StartAgain() {
  if (std::exchange(is_stopped_, false)) workers_[kStopped]->Start();
}

void Scene::Await(const std::string& what, const std::function<bool()>& condition,
                  absl::Duration patience) {
  for (const absl::Time end = absl::Now() + patience;; absl::SleepFor(kLook)) {
    Listen();
    if (condition()) return;
    CheckWorkers();
    if (absl::Now() > end) {
      throw std::runtime_error(
          absl::StrCat("not within ", absl::FormatDuration(patience), ": ", what));
    }
  }
}

void Scene::AwaitRecovery() {
  StartAgain();
  const absl::Time from = absl::Now();
  Await(
      "both workers retry", [&] { return RecoveryFrom(from).has_value(); }, absl::Minutes(2));
}

std::uint64_t Scene::sent() { return sent(Kind::kOrder); }

std::uint64_t Scene::sent(Kind kind) {
  if (kind == Kind::kPoison) return poison_sent_;
  const std::unique_ptr<Producer>& producer =
      kind == Kind::kOrder ? producer_ : unaffected_producer_;
  return traffic_.Call([&](EventLoop&) { return producer == nullptr ? 0 : producer->sent(); });
}

std::uint64_t Scene::handled() {
  Listen();
  return account(Kind::kOrder).handled();
}

std::uint64_t Scene::ComingDue(absl::Time from, absl::Time to) {
  Listen();
  return account(Kind::kOrder).DueBetween(from, to);
}

std::string Scene::AwaitDelayQueue(absl::Duration delay) {
  const std::string prefix = absl::StrCat("retry.", absl::ToInt64Milliseconds(delay));
  std::string found;
  Await(absl::StrCat("messages wait in ", prefix), [&] {
    const std::unique_ptr<testing::Peer> peer = Connect();
    for (const std::string& queue : vhost_->QueuesBeginning(prefix)) {
      if (peer->Count(queue) >= 3) found = queue;
    }
    return !found.empty();
  });
  return found;
}

// Waits until no more messages can arrive.
void Scene::Settle() {
  const auto for_each_producer = [&](auto function) {
    traffic_.Call([&](EventLoop&) {
      for (Producer* producer : {producer_.get(), unaffected_producer_.get()}) {
        if (producer != nullptr) function(*producer);
      }
    });
  };
  for_each_producer([](Producer& producer) { producer.Finish(); });
  Await(
      "the broker confirms what the producers send",
      [&] {
        std::uint64_t unconfirmed = 0;
        for_each_producer([&](Producer& producer) { unconfirmed += producer.unconfirmed(); });
        return unconfirmed == 0;
      },
      kSettlePatience);
  const absl::Time end = absl::Now() + kSettlePatience;
  int unsticks_left = options_.fault.unstick ? kMostUnsticks : 0;
  // RabbitMQ reports a quorum queue without a process as empty.
  const bool empty_means_gone = options_.queue_type == "classic";
  // Messages that are still missing then are counted in their queues.
  for (; absl::Now() < end && !AllHaveEnded(); absl::SleepFor(kLook)) {
    Listen();
    CheckWorkers();
    if (absl::Now() - last_news_ < options_.fault.quiet) continue;
    if ((unsticks_left == 0 || empty_means_gone) && QueuesAreEmpty()) break;
    if (unsticks_left == 0) continue;
    --unsticks_left;
    stuck_ = std::max(stuck_, sent() - account(Kind::kOrder).ended());
    options_.fault.unstick(*this);
    last_news_ = absl::Now();
  }
}

void Scene::Stop() {
  for (const auto& worker : workers_) {
    if (!worker->Stop(absl::Seconds(15))) throw std::runtime_error("a worker did not end well");
  }
}

void Scene::CountWaiting() {
  // The work queues are read last, because messages that come due meanwhile return there.
  std::vector<std::string> queues = vhost_->QueuesBeginning("");
  std::stable_partition(queues.begin(), queues.end(), [](const std::string& queue) {
    return queue != kWorkQueue && queue != kUnaffectedQueue;
  });
  for (const std::string& queue : queues) {
    try {
      Empty(queue);
    } catch (const std::exception& error) {
      // Messages that cannot be read any more count as lost.
      std::cerr << "test/fault: " << options_.fault.name << ": " << error.what() << std::endl;
    }
  }
}

void Scene::Empty(const std::string& queue) {
  const std::unique_ptr<testing::Peer> peer = Connect();
  while (const amqp::MessagePtr message = peer->Get(queue)) {
    const std::optional<MessageName> name = MessageName::Parse(message->body);
    if (!name.has_value()) throw std::runtime_error("a stranger's message in " + queue);
    RunReferee& referee = account(name->kind).referee();
    // A message in the parked queue of another queue counts as waiting, which is a failure.
    if (queue == (name->kind == Kind::kUnaffected ? kUnaffectedParkedQueue : kParkedQueue)) {
      referee.Parked(*name);
    } else {
      referee.Waiting(*name);
    }
  }
}

void Scene::Listen() {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    for (const WorkerEntry& entry : workers_[i]->News()) {
      last_news_ = absl::Now();
      account(entry.name.kind).Add(entry);
      if (i < kWorkers && entry.name.kind == Kind::kOrder && entry.act == options_.fault.recovery) {
        signs_[i].push_back(entry.at);
      }
    }
  }
}

bool Scene::AllHaveEnded() {
  const auto have_ended = [this](Kind kind) { return account(kind).ended() == sent(kind); };
  return have_ended(Kind::kOrder) && have_ended(Kind::kUnaffected) && have_ended(Kind::kPoison);
}

bool Scene::QueuesAreEmpty() const {
  const testing::Json queues =
      vhost_->management().Get("/queues/" + vhost_->name()).value_or(testing::Json::array());
  return std::all_of(queues.begin(), queues.end(), [](const testing::Json& queue) {
    // Messages that a quorum queue has not dead-lettered yet are counted separately.
    return queue.at("name") == kParkedQueue || queue.at("name") == kUnaffectedParkedQueue ||
           (queue.value("messages", 1) == 0 && queue.value("messages_dlx", 0) == 0);
  });
}

// The time from `end` until each worker retried or parked a message.
std::optional<absl::Duration> Scene::RecoveryFrom(absl::Time end) const {
  absl::Duration longest = absl::ZeroDuration();
  for (const std::vector<absl::Time>& times : signs_) {
    const auto first =
        std::find_if(times.begin(), times.end(), [&](absl::Time time) { return time > end; });
    if (first == times.end()) return std::nullopt;
    longest = std::max(longest, *first - end);
  }
  return longest;
}

}  // namespace retryq::fault
