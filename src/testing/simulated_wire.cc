#include "testing/simulated_wire.h"

#include <algorithm>
#include <utility>

namespace retryq::testing {
namespace {

// The longest time for which data from a killed process still arrives.
constexpr absl::Duration kKilledMayArrive = absl::Milliseconds(100);

}  // namespace

void Wire::ToBroker(std::function<void()> work) {
  const absl::Duration now = node_.time().SinceBoot();
  last_to_broker_ = std::max(last_to_broker_, now + ends_.latency());
  node_.mail().After(last_to_broker_ - now,
                     [self = shared_from_this(), work = std::move(work)]() mutable {
                       self->Arrive(std::move(work));
                     });
}

void Wire::Arrive(std::function<void()> work) {
  if (broker_ended_ || node_.time().SinceBoot() > broker_reads_until_) return;
  // During an alarm, the broker does not read from connections that publish.
  if (!unread_.empty() || (node_.alarm() && ends_.alarm)) {
    unread_.push_back(std::move(work));
    return;
  }
  work();
}

void Wire::ToClient(std::function<void()> work) {
  const absl::Duration now = node_.time().SinceBoot();
  last_to_client_ = std::max(last_to_client_, now + ends_.latency());
  node_.mail().After(last_to_client_ - now, [self = shared_from_this(), work = std::move(work)] {
    if (self->client_hears_) work();
  });
}

void Wire::Cut(absl::Duration may_arrive, absl::Duration client_notices,
               absl::Duration broker_notices) {
  client_hears_ = false;
  broker_reads_until_ = node_.time().SinceBoot() + may_arrive;
  EndAtClient(client_notices);
  EndAtBroker(std::max(may_arrive, broker_notices));
}

void Wire::Kill() {
  client_ended_ = true;
  const absl::Duration may_arrive = node_.Moment(kKilledMayArrive);
  Cut(may_arrive, absl::ZeroDuration(), may_arrive);
}

void Wire::EndAtClient(absl::Duration after) {
  node_.mail().After(after, [self = shared_from_this()] {
    if (!std::exchange(self->client_ended_, true)) self->ends_.client_lost();
  });
}

void Wire::EndAtBroker(absl::Duration after) {
  node_.mail().After(after, [self = shared_from_this()] { self->CloseAtBroker(); });
}

void Wire::CloseAtBroker() {
  unread_.clear();
  if (std::exchange(broker_ended_, true)) return;
  for (const auto& work : std::exchange(at_broker_end_, {})) work();
}

void Wire::OnNodeGone() {
  const auto self = shared_from_this();  // the work may hold the last pointer to it
  broker_ended_ = true;
  std::exchange(unread_, {}).clear();
  client_hears_ = false;
  EndAtClient(absl::ZeroDuration());
}

void Wire::OnAlarm(bool alarm) {
  if (!ends_.alarm || broker_ended_) return;
  const auto self = shared_from_this();  // the work may hold the last pointer to it
  ToClient([self, alarm] { self->ends_.alarm(alarm); });
  while (!alarm && !unread_.empty()) {
    const std::function<void()> work = std::move(unread_.front());
    unread_.pop_front();
    work();
  }
}

}  // namespace retryq::testing
