#ifndef RETRYQ_SRC_RETRY_PUBLISHER_PUBLISHER_H_
#define RETRYQ_SRC_RETRY_PUBLISHER_PUBLISHER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retry/client/alive.h"
#include "retry/delay_queues/delay_queues.h"
#include "retryq/broker.h"
#include "retryq/clock.h"
#include "retryq/retrier.h"

namespace retryq {

// How the sending of a pending publish ended.
struct SendResult {
  enum class Kind {
    kSent,      // confirmed, not returned, and its delay queue outlives it
    kReturned,  // without a delay only: routed nowhere
    kRefused,   // sent alone it makes the broker close the channel, with `code`
    kTooLarge,  // `PendingPublish::Fill` said that it cannot be sent
  };
  Kind kind = Kind::kSent;
  std::uint16_t code = 0;
  std::string_view text = {};         // valid during the call
  std::string_view delay_queue = {};  // kSent with a delay: where it waits now
  // kSent: from the publish to the confirm, while not blocked, and the moment of `OnSent`.
  absl::Duration confirmed_after = absl::ZeroDuration();
  Moment at = {};
};

// A message that must arrive. The caller that wants it sent implements this, gives it
// to `Publisher::Send` and keeps it until `OnSent`, or destroys it, which calls
// the sending off.
class PendingPublish {
 public:
  // From its front on, so much of a pending publish is what `OnSent` needs.
  static constexpr std::size_t kPrefetched = 320;

  PendingPublish() = default;
  PendingPublish(const PendingPublish&) = delete;
  PendingPublish& operator=(const PendingPublish&) = delete;

  // The delay queue to go through; none to go straight to the exchange that
  // `Fill` names.
  virtual std::optional<DelayRoute> Route() const = 0;

  // Without a delay: from when on, since boot, the queue that takes it outlasts a crash of the
  // broker with what is confirmed in it. Asked for when it is published.
  virtual absl::Duration SafeFrom() const { return -absl::InfiniteDuration(); }

  // Says what to publish, each time anew: routing key, properties, body, and
  // without a delay the exchange. The views must live until the next call.
  // False if it cannot be sent at all.
  virtual bool Fill(PublishParams* params) = 0;

  // May destroy the pending publish, or send it again.
  virtual void OnSent(const SendResult& result) = 0;

  // For events: the queue it comes from, and its id.
  virtual std::string_view Origin() const = 0;
  virtual std::string_view Id() const = 0;

 protected:
  virtual ~PendingPublish();

  // The message that `OnSent` will let go of, where there is one.
  void WillDrop(const amqp::Message* message) { message_ = message; }

  // Another message: nothing is known of it.
  void Acquit() { was_refused_ = false; }

 private:
  friend class Publisher;
  Publisher* publisher_ = nullptr;  // while it is being sent
  std::uint32_t slot_ = 0;
  bool was_refused_ = false;  // found guilty: from then on it is sent alone
  const amqp::Message* message_ = nullptr;
};

// Sends pending publishes until they have arrived: through a delay queue whose lease is
// good, or straight, with a confirm that counts. Whatever comes between
// (returns, nacks, lost confirms, closed channels, lost connections) is
// answered by publishing again with growing pauses. It gives up only where the
// message itself is at fault, and then says so.
//
// It keeps what the network holds of them small: while the broker blocks the
// connection nothing is published, and never more than kMaxUnconfirmed publishes,
// or any beyond kMaxUnsentBytes, are on their way. The others wait here, in order.
//
// A channel that the broker closes leaves everything open on it in doubt. Its
// messages are then sent again one at a time, until the culprit is found: the
// one that was alone on a channel when that was closed. So it is with a connection that the broker
// closes as an answer to what was sent. If a culprit is sent again, then alone; and where each try
// costs the connection, with growing pauses between those of all such culprits together, so that
// the others go on however many there are.
class Publisher {
 public:
  static constexpr std::size_t kMaxUnconfirmed = 4096;
  static constexpr std::size_t kMaxUnsentBytes = std::size_t{16} << 20;

  // All must outlive it, except the pending publishes.
  Publisher(Broker& broker, Environment environment, DelayQueues& delay_queues,
            absl::Duration confirm_timeout);
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // The pending publish must not be under way already. `OnSent` is never called from
  // inside.
  void Send(PendingPublish& pending);

  // What the broker's listener hears.
  void OnReady();
  void OnLost();
  void OnBlocked(bool blocked);
  // Whether the broker reads nothing that is published now.
  bool blocked() const { return blocked_since_.has_value(); }

  // There is no time to wait, as at a stop: what pauses is tried once more at once.
  void Hurry();

  // Parcels under way.
  std::size_t size() const { return slots_.size() - free_.size(); }
  // Publishes that the broker has not answered.
  std::size_t unanswered() const { return open_publishes_; }
  // What is kept of those that wait, and of some that were called off.
  std::size_t queued() const { return queued_.size(); }

 private:
  friend class PendingPublish;

  // The way of one pending publish. A slot's number and attempt name one publish;
  // answers to any other attempt come too late and are ignored.
  struct Slot {
    enum class State {
      kFree,
      kQueued,     // waits for the connection, for room, or behind a suspect
      kPausing,    // waits before it is tried again
      kAcquiring,  // waits for the lease of its delay queue
      kPublished,  // waits for the confirm
      kSettling,   // confirmed; waits until its new queue would outlast a crash of the broker
    };
    State state = State::kFree;
    PendingPublish* pending = nullptr;
    bool suspect = false;  // open when the broker closed a channel
    bool alone = false;    // published while nothing else was open
    bool overdue = false;  // its confirm stayed out the last time
    std::uint32_t attempt = 0;
    std::uint32_t next = 0;       // the slot that was published after this one
    std::uint32_t failures = 0;   // of this pending publish, for the pauses
    absl::Duration published_at;  // in unblocked time
    absl::Duration confirmed_after;
    Lease lease;
    std::unique_ptr<Timer> pause;
    bool may_hurry = false;  // it pauses only to leave the broker alone
  };

  // One publish: which slot, and which attempt of it.
  struct Ticket {
    std::uint32_t slot;
    std::uint32_t attempt;
  };

  void CallOff(PendingPublish& pending);
  bool Is(Ticket ticket, Slot::State state) const;

  // What has been found guilty.
  void Try(std::uint32_t index);
  absl::Duration PauseBeforeTrial();
  void OnConvictedAgain(std::uint16_t code);

  // Before the publish.
  bool HasRoom() const;
  bool MayAdvance(std::uint32_t index) const;
  void Queue(std::uint32_t index);
  void DropStale();
  void AdvanceQueued();
  void AwaitAnswers();
  void AdvanceQueuedSoon();
  void Advance(std::uint32_t index);
  void Publish(std::uint32_t index, Lease lease);

  // After it.
  void OnResult(Ticket ticket, const PublishResult& result);
  void PrefetchAfter(const Slot& slot) const;
  void OnNacked(std::uint32_t index);
  void OnConfirmed(std::uint32_t index) { OnConfirmed(index, environment_.clock->Look()); }
  void OnConfirmed(std::uint32_t index, const Moment& now);
  void OnCovered(std::uint32_t index, const Moment& now);
  void OnReturned(std::uint32_t index, const PublishResult& result);
  void OnChannelClosed(std::uint32_t index, const PublishResult& result);
  void OnExchangeGone(const Slot& slot, std::string_view text);
  void TryAgain(std::uint32_t index);
  void WaitForQueue(std::uint32_t index, absl::Duration pause);
  void Retry(std::uint32_t index);
  void Pause(std::uint32_t index, absl::Duration pause, void (Publisher::*then)(std::uint32_t));
  void Acquit(std::uint32_t index);
  void GiveBackTooLarge(std::uint32_t index);
  void Finish(std::uint32_t index, const SendResult& result);
  void Release(std::uint32_t index);

  // Confirms that do not come.
  absl::Duration UnblockedTime() const { return UnblockedTime(environment_.clock->SinceBoot()); }
  absl::Duration UnblockedTime(absl::Duration since_boot) const;
  void WatchConfirms();
  void OnConfirmsOverdue();
  void OnSilence(const std::vector<DelayRoute>& routes);

  void SayUnconfirmed(const Slot& slot, std::string_view cause, std::string_view why) const;
  void Report(Event event, const Slot& slot, std::string_view why) const;

  Broker& broker_;
  Environment environment_;
  DelayQueues& delay_queues_;
  const absl::Duration confirm_timeout_;

  bool ready_ = false;
  std::deque<Slot> slots_;  // stay where they are while an observer has more sent
  std::vector<std::uint32_t> free_;
  std::deque<Ticket> queued_;             // in order; stale ones are passed over
  std::size_t stale_ = 0;                 // of those, at least
  std::unique_ptr<Timer> advance_timer_;  // for what is queued
  std::unique_ptr<Timer> await_timer_;    // for what must be sent alone
  std::uint32_t last_published_ = 0;      // a slot, if there is any
  std::size_t open_publishes_ =
      0;                        // not answered by the broker, with or without a caller that waits
  std::uint32_t suspects_ = 0;  // slots that are suspect
  std::optional<std::uint32_t> on_trial_;  // the suspect that is under way
  std::uint32_t costly_trials_ = 0;        // of culprits for which the connection was closed again
  absl::Duration pause_between_trials_ = absl::ZeroDuration();
  absl::Duration next_trial_ = -absl::InfiniteDuration();  // not before, since boot

  std::optional<absl::Duration> blocked_since_;
  absl::Duration blocked_for_ = absl::ZeroDuration();
  std::unique_ptr<Timer> confirm_timer_;

  Lifeline<Publisher> lifeline_{this};
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_PUBLISHER_PUBLISHER_H_
