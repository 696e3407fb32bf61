#include "fault/scene.h"

#include <algorithm>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "fault/plan.h"
#include "retryq/amqp/connection_options.h"

namespace retryq::fault {
namespace {

constexpr std::size_t kWorkers = 2;

// The worker that is told to end during a fault: faults that are about one worker are about the
// other.
constexpr std::size_t kStopped = 1;
constexpr absl::Duration kGracePeriod = absl::Seconds(25);
constexpr absl::Duration kStopPatience = absl::Seconds(40);
constexpr absl::Duration kLook = absl::Milliseconds(50);

// A message that is held or waits for a connection is tried again after half a minute at most; one
// that a quorum queue could not dead-letter after three.
constexpr absl::Duration kSettlePatience = absl::Minutes(5);

// Messages that are on their way show some sign of it within this time. Longer than the longest
// delay, and than the management API's figures are old.
constexpr absl::Duration kQuiet = absl::Seconds(8);

// How often Fault::unstick is tried where messages are missing and nothing moves.
constexpr int kMostUnsticks = 4;

const testing::TestVhost::Rights kAllRights = {.configure = ".*", .write = ".*", .read = ".*"};

// Notes that this has happened to the message of that number.
void Mark(std::uint64_t number, std::vector<bool>* numbers) {
  if (numbers->size() <= number) numbers->resize(number + 1);
  (*numbers)[number] = true;
}

std::uint64_t CountOf(const std::vector<bool>& numbers) {
  return static_cast<std::uint64_t>(std::count(numbers.begin(), numbers.end(), true));
}

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
    proxy_.reset();
  });
}

SceneResult Scene::Run() {
  SceneResult result;
  try {
    Start();
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
    // What they had open is back once the broker has seen that they are gone.
    const std::unique_ptr<testing::Peer> peer = Connect();
    Await("the workers' deliveries are back", [&] { return peer->Consumers(kWorkQueue) == 0; });
    CountWaiting();
  } catch (const std::exception& error) {
    if (result.failure.empty()) result.failure = error.what();
  }
  result.stuck = stuck_;
  result.stop = stop_;
  result.count = referee_.Result(sent());
  if (result.failure.empty() && result.count.waiting > 0) {
    result.failure = absl::StrCat(result.count.waiting, " still wait");
  }
  return result;
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
    producer_ = std::make_unique<Producer>(loop, ProducerOptions(urls), options_.fault.rate);
    proxy_ = std::make_unique<testing::Proxy>(loop, PortOf(node().url()),
                                              testing::Proxy::ReadAlong{&in_flight_});
    return proxy_->port();
  });
  for (std::size_t i = 0; i < kWorkers; ++i) {
    Worker::Options worker{.program = options_.worker_program,
                           .log = absl::StrCat(options_.directory, "/", options_.fault.name, "-",
                                               options_.queue_type, "-", i),
                           .queue_type = options_.queue_type,
                           .confirm_timeout = kConfirmTimeout,
                           .urls = worker_urls};
    // Of a cluster they know all nodes.
    if (nodes().size() == 1) worker.urls = {WithPort(worker_url, proxy_port)};
    workers_.push_back(std::make_unique<Worker>(std::move(worker)));
    workers_.back()->Start();
  }
  if (options_.fault.at_once) return;
  AwaitRecovery();
  // Whoever was parked has been in all delay queues. A while later they are sure to outlast a
  // crash.
  Await("messages are parked", [this] { return any_parked_; });
  Last(absl::Seconds(2));
}

std::unique_ptr<testing::Peer> Scene::Connect() const {
  return std::make_unique<testing::Peer>(vhost_->Url());
}

void Scene::GiveRights() const { vhost_->SetRights(worker_user_, kAllRights); }

void Scene::DeclareWorkQueue() const {
  Connect()->DeclareQueue(kWorkQueue,
                          amqp::Table{{"x-queue-type", options_.fault.work_queue_type}});
}

void Scene::Last(absl::Duration duration) {
  const absl::Time begin = absl::Now();
  const absl::Time end = begin + duration;
  for (; absl::Now() < end; absl::SleepFor(kLook)) {
    Listen();
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

// Not before the fault is over, or a worker is waited for: the first start may be refused for good.
void Scene::StartAgain() {
  if (std::exchange(is_stopped_, false)) workers_[kStopped]->Start();
}

void Scene::Await(const std::string& what, const std::function<bool()>& condition,
                  absl::Duration patience) {
  for (const absl::Time end = absl::Now() + patience;; absl::SleepFor(kLook)) {
    Listen();
    if (condition()) return;
    for (const auto& worker : workers_) worker->CheckRuns();
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

std::uint64_t Scene::sent() {
  return traffic_.Call([this](EventLoop&) { return producer_ == nullptr ? 0 : producer_->sent(); });
}

std::uint64_t Scene::handled() {
  Listen();
  return CountOf(handled_);
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

// Waits until nothing more is to be expected.
void Scene::Settle() {
  traffic_.Call([this](EventLoop&) { producer_->Finish(); });
  Await(
      "the broker confirms what the producer sends",
      [&] { return traffic_.Call([this](EventLoop&) { return producer_->unconfirmed(); }) == 0; },
      kSettlePatience);
  const absl::Time end = absl::Now() + kSettlePatience;
  int unsticks_left = options_.fault.unstick ? kMostUnsticks : 0;
  // RabbitMQ says of a quorum queue that has no process that it holds no messages.
  const bool empty_means_gone = options_.queue_type == "classic";
  // What is still missing then is counted where it is.
  for (; absl::Now() < end && !AllHaveEnded(); absl::SleepFor(kLook)) {
    Listen();
    for (const auto& worker : workers_) worker->CheckRuns();
    if (absl::Now() - last_news_ < kQuiet) continue;
    if ((unsticks_left == 0 || empty_means_gone) && QueuesAreEmpty()) break;
    if (unsticks_left == 0) continue;
    --unsticks_left;
    stuck_ = std::max(stuck_, sent() - CountOf(ended_));
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
  // The work queue last, as what comes due meanwhile goes there.
  std::vector<std::string> queues = vhost_->QueuesBeginning("");
  std::stable_partition(queues.begin(), queues.end(),
                        [](const std::string& queue) { return queue != kWorkQueue; });
  for (const std::string& queue : queues) {
    try {
      Empty(queue);
    } catch (const std::exception& error) {
      // What cannot be read any more counts as lost.
      std::cerr << "test/fault: " << options_.fault.name << ": " << error.what() << std::endl;
    }
  }
}

void Scene::Empty(const std::string& queue) {
  const std::unique_ptr<testing::Peer> peer = Connect();
  while (const amqp::MessagePtr message = peer->Get(queue)) {
    const std::optional<MessageName> name = MessageName::Parse(message->body);
    if (!name.has_value()) throw std::runtime_error("a stranger's message in " + queue);
    if (queue == kParkedQueue) {
      referee_.Parked(*name);
    } else {
      referee_.Waiting(*name);
    }
  }
}

void Scene::Listen() {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    for (const WorkerEntry& entry : workers_[i]->News()) {
      last_news_ = absl::Now();
      if (entry.act == options_.fault.recovery) signs_[i].push_back(entry.at);
      if (entry.act == WorkerAct::kRetried) continue;
      if (entry.act == WorkerAct::kHandled) {
        referee_.Handled(entry.name);
        Mark(entry.name.number, &handled_);
      } else {
        any_parked_ = true;
      }
      Mark(entry.name.number, &ended_);
    }
  }
}

bool Scene::AllHaveEnded() { return CountOf(ended_) == sent(); }

bool Scene::QueuesAreEmpty() const {
  const testing::Json queues =
      vhost_->management().Get("/queues/" + vhost_->name()).value_or(testing::Json::array());
  return std::all_of(queues.begin(), queues.end(), [](const testing::Json& queue) {
    // What a quorum queue has yet to dead-letter is counted apart.
    return queue.at("name") == kParkedQueue ||
           (queue.value("messages", 1) == 0 && queue.value("messages_dlx", 0) == 0);
  });
}

// How long it took after `end` until each worker showed a sign of life.
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
