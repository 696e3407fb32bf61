#ifndef RETRYQ_SRC_RETRY_RETRIER_SHARED_STATE_H_
#define RETRYQ_SRC_RETRY_RETRIER_SHARED_STATE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "loop/thrown.h"
#include "loop/worker_pool.h"
#include "retry/delay_queues/delay_queues.h"
#include "retry/policy/delay_steps.h"
#include "retry/publisher/publisher.h"
#include "retry/retrier/target_checks.h"
#include "retryq/broker/broker.h"
#include "retryq/broker/retrier.h"
#include "retryq/observer.h"
#include "retryq/tracing.h"

namespace retryq {

// Calls the user's observer, which may call and destroy anything. Counts the calls of the observer
// that are on the stack, and can be closed.
class GuardedObserver final : public Observer {
 public:
  // `observer` is not owned and may be null. `telling` counts the calls that are on the stack;
  // `threw` receives exceptions, see CallUser. Both outlive this object.
  GuardedObserver(Observer* observer, int& telling, const std::function<void(absl::Status)>& threw)
      : observer_(observer), telling_(telling), threw_(threw) {}

  // Returns this object, or null if there is no observer.
  Observer* get() { return observer_ == nullptr ? nullptr : this; }

  // Copies the texts of the event first, because the observer may destroy their owner. The texts of
  // an event with a delivery belong to that delivery and its retrier, which outlive the call: see
  // `Dispose`.
  void OnEvent(const Event& event) override;

  // From now on the observer is not called.
  void Close() { observer_ = nullptr; }

 private:
  void Tell(const Event& event) {
    ++telling_;
    CallUser("Observer::OnEvent", threw_, [&] { observer_->OnEvent(event); });
    --telling_;
  }

  Observer* observer_;
  int& telling_;
  const std::function<void(absl::Status)>& threw_;
  std::string texts_;  // of the previous event, to reuse its memory; empty during a call
};

// The remedy in errors about a broker that has not answered in time.
inline constexpr char kSlowBrokerRemedy[] =
    "; remedy: check that the broker runs, has no alarm and is not overloaded";

// The state that all retriers of one broker share: the delay queues, the publisher, and the
// listeners to which events of the connection are passed on.
//
// The user's code may be called in the middle of this library's, and may destroy anything. Objects
// in use then are destroyed in the next turn of the loop, see `CallOut` and `Dispose`.
class SharedState final : public Retrier::Shared, private BrokerListener {
 public:
  // The last reference destroys the state; inside a call of the user's code, in the next turn of
  // the loop. `owned` is `broker` if the state owns it, or null if the caller does. `threw`
  // receives the exceptions of callbacks; if it is null, they propagate.
  static std::shared_ptr<SharedState> Create(Broker& broker, Environment environment,
                                             DelayQueueOptions options,
                                             std::unique_ptr<Broker> owned = nullptr,
                                             std::function<void(absl::Status)> threw = nullptr);
  ~SharedState() override;

  Broker& broker() { return broker_; }
  const Environment& environment() const { return environment_; }
  const Clock& clock() const { return *environment_.clock; }
  DelayQueues& delay_queues() { return delay_queues_; }
  ConfirmedPublisher& publisher() { return publisher_; }
  DelaySteps& delay_steps() { return delay_steps_; }
  TargetChecks& target_checks() { return target_checks_; }
  const DelayQueueOptions& options() const { return options_; }

  // Whether messages to this destination may have quorum delay queues of their own. True for the
  // first kMostDestinations pairs of exchange and routing key. The limit is needed because the
  // broker keeps names of quorum queues in memory forever (F7 in doc/rabbitmq_facts.md), and the
  // number of routing keys is unlimited.
  static constexpr std::size_t kMostDestinations = 256;
  bool AdmitDestination(const std::string& exchange, const std::string& routing_key);

  // Whether the connection can publish and declare now.
  bool ready() const { return ready_; }
  // The reason why the connection was last lost.
  const std::string& lost_because() const { return lost_because_; }

  // Listeners are not owned. They may be added and removed inside any call; the time for this does
  // not depend on their number.
  using ListenerId = std::uint64_t;
  ListenerId AddListener(BrokerListener* listener);
  void RemoveListener(ListenerId id) { listeners_.erase(id); }

  // Exists on the stack during a call of the user's code. kComplete: the state is complete (a
  // handler, an answer). kAmid: the state is being changed (an observer, a predicate).
  enum class Place { kComplete, kAmid };
  class CallOut {
   public:
    explicit CallOut(SharedState& shared, Place place = Place::kComplete)
        : count_(place == Place::kAmid ? shared.amid_ : shared.calls_out_) {
      ++count_;
    }
    ~CallOut() { --count_; }
    CallOut(const CallOut&) = delete;
    CallOut& operator=(const CallOut&) = delete;

   private:
    int& count_;
  };

  // Whether a call of the user's code is on the stack, and whether one is in the middle of a
  // change.
  bool is_calling_out() const { return calls_out_ > 0 || amid_ > 0; }
  bool is_amid() const { return amid_ > 0; }

  // See CallUser.
  const std::function<void(absl::Status)>& threw() const { return threw_; }

  // At a stop, after publishes have been abandoned: deliveries that would be retried are requeued
  // uncounted. Their copies could not be published, and that may also be the reason why they
  // failed.
  void RequeueFailures() { requeues_failures_ = true; }
  bool requeues_failures() const { return requeues_failures_; }

  // Destroys `object` in the next turn of the loop.
  template <typename T>
  void Dispose(std::unique_ptr<T> object) const {
    // Not dropped with other work of a handler whose consumer is destroyed in this turn.
    const WorkOrigin origin = std::exchange(CurrentOrigin(), nullptr);
    environment_.executor->Post([kept = std::shared_ptr<T>(std::move(object))] {});
    CurrentOrigin() = origin;
  }

  // From now on the observer and the tracer, which may be destroyed, are not called.
  void StopObserving() {
    guarded_observer_.Close();
    tracer_ = nullptr;
  }

  // Null if there is none. Call the tracer by `CallTracer`.
  Tracer* tracer() const { return tracer_; }
  // Calls the tracer, or a trace that it made, which may do what an observer may. `who` names the
  // function.
  template <typename Call>
  void CallTracer(const char* who, const Call& call) {
    const CallOut calling(*this, Place::kAmid);
    CallUser(who, threw_, call);
  }

  // Sets the time of `event`, and passes it to the observer if there is one.
  void Report(Event& event) const;
  void Report(Event&& event) const { Report(event); }
  // The same, for callers that have just read the clock.
  void ReportAt(absl::Time now, Event& event) const;

 private:
  SharedState(Broker& broker, Environment environment, DelayQueueOptions options,
              std::unique_ptr<Broker> owned, std::function<void(absl::Status)> threw);

  void OnReady() override;
  void OnLost(const absl::Status& why) override;
  void OnBlocked(bool blocked, std::string_view reason) override;

  template <typename Call>
  void Notify(Call call);

  const std::unique_ptr<Broker> owned_;  // null if the caller owns the broker
  Broker& broker_;
  int calls_out_ = 0;
  int amid_ = 0;
  const std::function<void(absl::Status)> threw_;
  GuardedObserver guarded_observer_;
  const Environment environment_;
  Tracer* tracer_;
  const DelayQueueOptions options_;
  DelayQueues delay_queues_;
  ConfirmedPublisher publisher_;
  DelaySteps delay_steps_;
  TargetChecks target_checks_;
  bool ready_ = false;
  bool requeues_failures_ = false;
  std::string lost_because_;
  std::set<std::pair<std::string, std::string>> destinations_;
  std::map<ListenerId, BrokerListener*> listeners_;  // in the order of their registration
  ListenerId last_listener_ = 0;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_RETRIER_SHARED_STATE_H_
