#include "retry/retrier/shared_state.h"

#include <utility>

#include "base/broker_version.h"

namespace retryq {
namespace {

constexpr char kUnsafeVersion[] =
    "RabbitMQ 4.3.0 to 4.3.2 may keep messages in quorum delay queues for good after a change of "
    "their members; remedy: use 4.3.3 or newer";

Environment With(Observer* observer, Environment environment) {
  environment.observer = observer;
  return environment;
}

}  // namespace

void GuardedObserver::OnEvent(const Event& event) {
  if (observer_ == nullptr) return;
  if (event.delivery != nullptr) return Tell(event);
  std::string texts = std::exchange(texts_, {});
  Event kept = event;
  std::string_view* const views[] = {&kept.queue, &kept.delay_queue, &kept.id, &kept.error,
                                     &kept.cause};
  std::size_t size = 0;
  for (const std::string_view* view : views) size += view->size();
  if (texts.size() < size) texts.resize(size);
  char* at = texts.data();
  for (std::string_view* view : views) {
    view->copy(at, view->size());
    *view = {at, view->size()};
    at += view->size();
  }
  Tell(kept);
  texts_ = std::move(texts);
}

std::shared_ptr<SharedState> SharedState::Create(Broker& broker, Environment environment,
                                                 DelayQueueOptions options,
                                                 std::unique_ptr<Broker> owned,
                                                 std::function<void(absl::Status)> threw) {
  return {new SharedState(broker, std::move(environment), std::move(options), std::move(owned),
                          std::move(threw)),
          [](SharedState* shared) {
            std::unique_ptr<SharedState> last(shared);
            if (shared->is_calling_out()) shared->Dispose(std::move(last));
          }};
}

SharedState::SharedState(Broker& broker, Environment environment, DelayQueueOptions options,
                         std::unique_ptr<Broker> owned, std::function<void(absl::Status)> threw)
    : owned_(std::move(owned)),
      broker_(broker),
      threw_(std::move(threw)),
      guarded_observer_(environment.observer, amid_, threw_),
      environment_(With(guarded_observer_.get(), std::move(environment))),
      tracer_(environment_.tracer),
      options_(std::move(options)),
      delay_queues_(broker, environment_, options_),
      publisher_(broker, environment_, delay_queues_, options_.confirm_timeout),
      delay_steps_(options_.max_delay_queues, options_.exact_queues),
      target_checks_(broker, *environment_.clock) {
  broker_.SetListener(this);
}

SharedState::~SharedState() { broker_.SetListener(nullptr); }

SharedState::ListenerId SharedState::AddListener(BrokerListener* listener) {
  listeners_.emplace(++last_listener_, listener);
  return last_listener_;
}

bool SharedState::AdmitDestination(const std::string& exchange, const std::string& routing_key) {
  std::pair<std::string, std::string> destination(exchange, routing_key);
  if (destinations_.contains(destination)) return true;
  if (destinations_.size() >= kMostDestinations) return false;
  destinations_.insert(std::move(destination));
  return true;
}

void SharedState::Report(Event& event) const {
  if (environment_.observer != nullptr) ReportAt(environment_.clock->Now(), event);
}

void SharedState::ReportAt(absl::Time now, Event& event) const {
  if (environment_.observer == nullptr) return;
  event.time = now;
  environment_.observer->OnEvent(event);
}

// Listeners may be added and removed during the calls, and may destroy the owner of this object.
template <typename Call>
void SharedState::Notify(Call call) {
  const CallOut telling(*this);
  for (auto next = listeners_.begin(); next != listeners_.end();) {
    const ListenerId id = next->first;
    call(*next->second);
    next = listeners_.upper_bound(id);
  }
}

void SharedState::OnReady() {
  ready_ = true;
  const bool unsafe = options_.queue_type == QueueType::kQuorum &&
                      BrokerVersion::Parse(broker_.server_version()).DeadLetteringMayStop();
  Report({.kind = EventKind::kConnected, .time = {}, .error = unsafe ? kUnsafeVersion : ""});
  publisher_.OnReady();
  Notify([](BrokerListener& listener) { listener.OnReady(); });
}

void SharedState::OnLost(const absl::Status& why) {
  ready_ = false;
  lost_because_ = std::string(why.message());
  const std::string error = why.ToString();
  Report({.kind = EventKind::kDisconnected, .time = {}, .error = error});
  publisher_.OnLost();
  delay_queues_.DropAll(why);
  target_checks_.Forget();
  Notify([&why](BrokerListener& listener) { listener.OnLost(why); });
}

void SharedState::OnBlocked(bool blocked, std::string_view reason) {
  Report(
      {.kind = blocked ? EventKind::kBlocked : EventKind::kUnblocked, .time = {}, .error = reason});
  publisher_.OnBlocked(blocked);
  Notify([blocked, reason](BrokerListener& listener) { listener.OnBlocked(blocked, reason); });
}

absl::StatusOr<std::shared_ptr<Retrier::Shared>> Retrier::Shared::Create(
    Broker& broker, Environment environment, DelayQueueOptions options) {
  if (absl::Status valid = Validate(options, broker.heartbeat()); !valid.ok()) return valid;
  return SharedState::Create(broker, std::move(environment), std::move(options));
}

}  // namespace retryq
