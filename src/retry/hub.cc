#include "retry/hub.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace retryq {
namespace {

Environment With(const Clock& clock, Environment environment) {
  environment.clock = &clock;
  return environment;
}

}  // namespace

Hub::Hub(Broker& broker, Environment environment, DelayQueueOptions options)
    : broker_(broker),
      thread_clock_(*environment.clock),
      clock_(thread_clock_),
      environment_(With(clock_, std::move(environment))),
      options_(std::move(options)),
      delay_queues_(broker, environment_, options_),
      publisher_(broker, environment_, delay_queues_, options_.confirm_timeout),
      delay_steps_(options_.max_delay_queues, options_.exact_queues),
      target_checks_(broker, *environment_.clock) {
  broker_.SetListener(this);
}

Hub::~Hub() { broker_.SetListener(nullptr); }

void Hub::AddListener(BrokerListener* listener) { listeners_.push_back(listener); }

void Hub::RemoveListener(BrokerListener* listener) {
  std::replace(listeners_.begin(), listeners_.end(), listener,
               static_cast<BrokerListener*>(nullptr));
}

void Hub::Report(Event& event) const {
  if (environment_.observer == nullptr) return;
  event.time = environment_.clock->Now();
  environment_.observer->OnEvent(event);
}

// Listeners may come and go while they are told.
template <typename Call>
void Hub::Tell(Call call) {
  // NOLINTNEXTLINE(modernize-loop-convert)
  for (std::size_t i = 0; i < listeners_.size(); ++i) {
    if (listeners_[i] != nullptr) call(*listeners_[i]);
  }
  std::erase(listeners_, nullptr);
}

void Hub::OnReady() {
  ready_ = true;
  Report({.kind = EventKind::kConnected, .time = {}});
  publisher_.OnReady();
  Tell([](BrokerListener& listener) { listener.OnReady(); });
}

void Hub::OnLost(const absl::Status& why) {
  ready_ = false;
  const std::string error = why.ToString();
  Report({.kind = EventKind::kDisconnected, .time = {}, .error = error});
  publisher_.OnLost();
  delay_queues_.DropAll(why);
  target_checks_.Forget();
  Tell([&why](BrokerListener& listener) { listener.OnLost(why); });
}

void Hub::OnBlocked(bool blocked, std::string_view reason) {
  Report(
      {.kind = blocked ? EventKind::kBlocked : EventKind::kUnblocked, .time = {}, .error = reason});
  publisher_.OnBlocked(blocked);
  Tell([blocked, reason](BrokerListener& listener) { listener.OnBlocked(blocked, reason); });
}

absl::StatusOr<std::shared_ptr<Retrier::Shared>> Retrier::Shared::Create(Broker& broker,
                                                                         Environment environment,
                                                                         DelayQueueOptions options,
                                                                         absl::Duration heartbeat) {
  if (absl::Status valid = Validate(options, heartbeat); !valid.ok()) return valid;
  return std::make_shared<Hub>(broker, std::move(environment), std::move(options));
}

}  // namespace retryq
