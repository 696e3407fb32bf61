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
#include "loop/alive.h"
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
  // kSent: from the publish to the confirm, while not blocked.
  absl::Duration confirmed_after = absl::ZeroDuration();
};

// A message that must arrive. The caller that wants it sent implements this, gives it
// to `Publisher::Send` and keeps it until `OnSent`, or destroys it, which calls
// the sending off.
class PendingPublish {
 public:
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

  // Another message: nothing is known of it.
  void Acquit() { was_refused_ = false; }

 private:
  friend class Publisher;
  Publisher* publisher_ = nullptr;  // while it is being sent
  std::uint32_t job_ = 0;           // the publisher's, meanwhile
  bool was_refused_ = false;        // found guilty: from then on it is sent alone
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

  // Pending publishes under way.
  std::size_t size() const { return jobs_.size() - free_.size(); }
  // Publishes that the broker has not answered.
  std::size_t unanswered() const { return open_publishes_; }
  // What is kept of those that wait, and of some that were called off.
  std::size_t queued() const { return queued_.size(); }

 private:
  friend class PendingPublish;

  // Where a pending publish is on its way:
  //
  //   Send ──┬── refused before ────▶ kAwaitingTrial
  //          │                             │ its turn
  //          ▼                             ▼
  //        kQueued ◀───────────────────────┴──────┬────────────────────────┐
  //          │                            no room │                        │ time to try again
  //          ├── a delay, and no lease ──▶ kAcquiring ─── refused ───▶ kPausing
  //          │                                    │ lease                  ▲
  //          ├── no delay, or a lease ────────────┤                        │
  //          │                                    ▼                        │
  //          │                               kPublished ─── returned ──────┤
  //          │                                    │         nacked         │
  //          │                                    │         late           │
  //          │                                    │         in doubt       │
  //          │                          confirmed ├──▶ kSettling ──────────┘
  //          ▼ cannot be sent                     ▼         │    connection lost
  //      kTooLarge ───────────────────────────▶ OnSent ◀────┘
  //
  // Where there is room it leaves kQueued at once. It goes back there, and not to kPausing, when
  // the connection is lost with it for the first time. A publish without a delay that is returned,
  // and one that alone makes the broker close the channel, have arrived at `OnSent` too.
  enum class State {
    kFree,
    kAwaitingTrial,  // refused before: others of its kind have their turn first
    kQueued,         // waits for the connection, for room, or behind a suspect
    kAcquiring,      // waits for the lease of its delay queue
    kPublished,      // waits for the confirm
    kSettling,       // confirmed; waits until its new queue would outlast a crash of the broker
    kPausing,        // waits before it is tried again
    kTooLarge,       // cannot be sent, which is reported in the next turn of the loop
  };

  // One pending publish on its way.
  struct Job {
    State state = State::kFree;
    PendingPublish* pending = nullptr;
    bool suspect = false;  // open when the broker closed a channel
    bool alone = false;    // published while nothing else was open
    bool overdue = false;  // its confirm stayed out the last time
    std::uint32_t step = 0;
    std::uint32_t failures = 0;   // of this pending publish, for the pauses
    absl::Duration published_at;  // in unblocked time
    absl::Duration confirmed_after;
    Lease lease;
    std::unique_ptr<Timer> pause;
  };

  // One step of a job, such as one publish. Answers to an earlier step come too late and are
  // ignored.
  struct Step {
    std::uint32_t job;
    std::uint32_t number;
  };

  void CallOff(PendingPublish& pending);
  bool Is(Step step, State state) const;

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
  void OnResult(Step step, const PublishResult& result);
  void OnNacked(std::uint32_t index);
  void OnConfirmed(std::uint32_t index) { OnConfirmed(index, environment_.clock->Look()); }
  void OnConfirmed(std::uint32_t index, const Moment& now);
  void OnCovered(std::uint32_t index, const Moment& now);
  void OnReturned(std::uint32_t index, const PublishResult& result);
  void OnChannelClosed(std::uint32_t index, const PublishResult& result);
  void OnExchangeGone(const Job& job, std::string_view text);
  void TryAgain(std::uint32_t index);
  void WaitForQueue(std::uint32_t index, absl::Duration pause);
  void Retry(std::uint32_t index);
  // Lets it be in `state` for so long; `OnPauseOver` takes it on from there.
  void Pause(std::uint32_t index, State state, absl::Duration pause);
  void OnPauseOver(std::uint32_t index);
  void Acquit(std::uint32_t index);
  void Finish(std::uint32_t index, const SendResult& result);
  void Release(std::uint32_t index);

  // Confirms that do not come.
  absl::Duration UnblockedTime() const { return UnblockedTime(environment_.clock->SinceBoot()); }
  absl::Duration UnblockedTime(absl::Duration since_boot) const;
  void WatchConfirms();
  void OnConfirmsOverdue();
  void OnSilence(const std::vector<DelayRoute>& routes);

  void SayUnconfirmed(const Job& job, std::string_view cause, std::string_view why) const;
  void Report(Event event, const Job& job, std::string_view why) const;

  Broker& broker_;
  Environment environment_;
  DelayQueues& delay_queues_;
  const absl::Duration confirm_timeout_;

  bool ready_ = false;
  std::deque<Job> jobs_;  // stay where they are while an observer has more sent
  std::vector<std::uint32_t> free_;
  std::deque<Step> queued_;               // in order; stale ones are passed over
  std::size_t stale_ = 0;                 // of those, at least
  std::unique_ptr<Timer> advance_timer_;  // for what is queued
  std::unique_ptr<Timer> await_timer_;    // for what must be sent alone
  std::size_t open_publishes_ =
      0;                        // not answered by the broker, with or without a caller that waits
  std::uint32_t suspects_ = 0;  // jobs that are suspect
  std::optional<std::uint32_t> on_trial_;  // the suspect that is under way
  std::uint32_t lost_in_trials_ = 0;       // connections, by culprits that were tried again
  absl::Duration pause_between_trials_ = absl::ZeroDuration();
  absl::Duration next_trial_ = -absl::InfiniteDuration();  // not before, since boot

  std::optional<absl::Duration> blocked_since_;
  absl::Duration blocked_for_ = absl::ZeroDuration();
  std::unique_ptr<Timer> confirm_timer_;

  Lifeline<Publisher> lifeline_{this};
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_PUBLISHER_PUBLISHER_H_
