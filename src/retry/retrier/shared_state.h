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
#include "retry/delay_queues/delay_queues.h"
#include "retry/policy/delay_steps.h"
#include "retry/publisher/publisher.h"
#include "retry/retrier/target_checks.h"
#include "retryq/broker.h"
#include "retryq/observer.h"
#include "retryq/retrier.h"

namespace retryq {

// Stands between this library and its user's observer, which may call anything and destroy
// anything: counts that it is being told of something, and can be closed.
class ObserverGate final : public Observer {
 public:
  // Not owned; may be null. `telling` counts the calls that are on the stack; `threw` is told of
  // exceptions, see CallUser. Both outlive it.
  ObserverGate(Observer* observer, int& telling, const std::function<void(absl::Status)>& threw)
      : observer_(observer), telling_(telling), threw_(threw) {}

  // What is to be told: itself, or null where there is nobody to tell.
  Observer* get() { return observer_ == nullptr ? nullptr : this; }

  // Its texts are copied, as what they belong to may be destroyed meanwhile.
  void OnEvent(const Event& event) override;

  // From now on nobody is told.
  void Close() { observer_ = nullptr; }

 private:
  Observer* observer_;
  int& telling_;
  const std::function<void(absl::Status)>& threw_;
  std::string texts_;  // of the event before, for its memory; empty amid a call
};

// What an error ends with where the broker has not answered in time.
inline constexpr char kSlowBrokerRemedy[] =
    "; remedy: see that the broker runs, has no alarm and is not overloaded";

// What all retriers of one broker share: the delay queues, the publisher, and
// the news of the connection, passed on to its listeners.
//
// Its user's code may be called from the middle of ours, and may destroy anything: what is in use
// then is destroyed in the next turn of the loop, see `CallOut` and `Dispose`.
class SharedState final : public Retrier::Shared, private BrokerListener {
 public:
  // The last reference destroys it, in the next turn of the loop where that happens inside a call
  // to its user. `owned` is the same broker if this is to own it; null: the caller owns
  // `broker`. `threw` hears of callbacks that throw; null: the exception flies on.
  static std::shared_ptr<SharedState> Create(Broker& broker, Environment environment,
                                             DelayQueueOptions options,
                                             std::unique_ptr<Broker> owned = nullptr,
                                             std::function<void(absl::Status)> threw = nullptr);
  ~SharedState() override;

  Broker& broker() { return broker_; }
  const Environment& environment() const { return environment_; }
  const Clock& clock() const { return *environment_.clock; }
  DelayQueues& delay_queues() { return delay_queues_; }
  Publisher& publisher() { return publisher_; }
  DelaySteps& delay_steps() { return delay_steps_; }
  TargetChecks& target_checks() { return target_checks_; }
  const DelayQueueOptions& options() const { return options_; }

  // Where messages are published to with a delay while each destination has quorum delay queues of
  // its own: exchanges with routing keys, as far as this remembers them or can take one more. Names
  // of quorum queues stay in the broker's memory for ever (F7 in doc/rabbitmq_facts.md), and keys
  // can be without number.
  static constexpr std::size_t kMostDestinations = 256;
  bool AdmitDestination(const std::string& exchange, const std::string& routing_key);

  // Whether publishing and declaring work right now.
  bool ready() const { return ready_; }
  // Why there was no connection the last time that there was none.
  const std::string& lost_because() const { return lost_because_; }

  // Not owned. May come and go inside any call. Takes the same time however many there are.
  using ListenerId = std::uint64_t;
  ListenerId AddListener(BrokerListener* listener);
  void RemoveListener(ListenerId id) { listeners_.erase(id); }

  // Lives on the stack around a call of the user's code: where the state is complete (a handler, an
  // answer), or amid a change of it (an observer, a predicate).
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

  // Whether such a call is on the stack, and whether one came amid a change.
  bool is_calling_out() const { return calls_out_ > 0 || amid_ > 0; }
  bool is_amid() const { return amid_ > 0; }

  // See CallUser.
  const std::function<void(absl::Status)>& threw() const { return threw_; }

  // At a stop, once publishes have been given up: what would be retried goes back to its queue
  // uncounted. Its copy could not be published either, and it may have failed because of that.
  void GiveBackFailures() { gives_back_failures_ = true; }
  bool gives_back_failures() const { return gives_back_failures_; }

  // Destroys it in the next turn of the loop.
  template <typename T>
  void Dispose(std::unique_ptr<T> object) const {
    environment_.executor->Post([kept = std::shared_ptr<T>(std::move(object))] {});
  }

  // The observer, which may be gone from now on, is told nothing more.
  void Silence() { gate_.Close(); }

  // Tells the observer, if there is one, and fills in the time before.
  void Report(Event& event) const;
  void Report(Event&& event) const { Report(event); }

 private:
  SharedState(Broker& broker, Environment environment, DelayQueueOptions options,
              std::unique_ptr<Broker> owned, std::function<void(absl::Status)> threw);

  void OnReady() override;
  void OnLost(const absl::Status& why) override;
  void OnBlocked(bool blocked, std::string_view reason) override;

  template <typename Call>
  void Tell(Call call);

  const std::unique_ptr<Broker> owned_;  // null: the broker is not ours
  Broker& broker_;
  int calls_out_ = 0;
  int amid_ = 0;
  const std::function<void(absl::Status)> threw_;
  ObserverGate gate_;
  const Environment environment_;
  const DelayQueueOptions options_;
  DelayQueues delay_queues_;
  Publisher publisher_;
  DelaySteps delay_steps_;
  TargetChecks target_checks_;
  bool ready_ = false;
  bool gives_back_failures_ = false;
  std::string lost_because_;
  std::set<std::pair<std::string, std::string>> destinations_;
  std::map<ListenerId, BrokerListener*> listeners_;  // in the order in which they came
  ListenerId last_listener_ = 0;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_RETRIER_SHARED_STATE_H_
