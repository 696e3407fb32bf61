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
#include "retry/publisher/isolated_publishes.h"
#include "retryq/broker/broker.h"
#include "retryq/broker/clock.h"
#include "retryq/broker/retrier.h"

namespace retryq {

// The result of a pending publish.
struct SendResult {
  enum class Kind {
    kSent,      // confirmed, not returned, and its delay queue outlives it
    kReturned,  // only without a delay: not routed to any queue
    kRefused,   // published alone, it makes the broker close the channel with `code`
    kTooLarge,  // `PendingPublish::Fill` returned false
  };
  Kind kind = Kind::kSent;
  std::uint16_t code = 0;
  std::string_view text = {};         // valid during the call
  std::string_view delay_queue = {};  // kSent with a delay: the queue that holds the message
  // kSent: time from the publish to the confirm, except while the connection was blocked.
  absl::Duration confirmed_after = absl::ZeroDuration();
  absl::Time confirmed_at = {};  // kSent, by the wall clock
};

class ConfirmedPublisher;

// A message that is published until it has arrived. The caller implements this, passes it to
// `ConfirmedPublisher::Send`, and keeps it until `OnSent`. Destroying it earlier cancels the
// publish.
class PendingPublish {
 public:
  PendingPublish() = default;
  PendingPublish(const PendingPublish&) = delete;
  PendingPublish& operator=(const PendingPublish&) = delete;

  // Returns the delay queue to publish through; nullopt to publish directly to the exchange that
  // `Fill` sets.
  virtual std::optional<DelayRoute> Route() const = 0;

  // Without a delay: time since boot from which the destination queue, with the messages confirmed
  // in it, survives a crash of the broker. Called at each publish.
  virtual absl::Duration SafeFrom() const { return -absl::InfiniteDuration(); }

  // Called at each publish. Sets the routing key, all properties, the body, its owner if it has one
  // and, without a delay, the exchange if it is not the default one. On entry, routing key,
  // properties and body are those of another publish. The views must stay valid until the next
  // call. `now` is wall clock. Returns false if the message cannot be published at all.
  virtual bool Fill(PublishParams* params, absl::Time now) = 0;

  // May destroy the pending publish, or send it again.
  virtual void OnSent(const SendResult& result) = 0;

  // Called at each publish that was not confirmed, before it is published again.
  virtual void OnUnconfirmed(std::string_view /*why*/) {}

  // For events: the queue that the message comes from, and its id.
  virtual std::string_view Origin() const = 0;
  virtual std::string_view Id() const = 0;

 protected:
  virtual ~PendingPublish();

  // Call it when this object is used for another message, which was not refused before.
  void ForgetRefusal() { was_refused_ = false; }

 private:
  friend class ConfirmedPublisher;
  ConfirmedPublisher* publisher_ = nullptr;  // null unless it is being sent
  std::uint32_t job_ = 0;                    // index of its job in the publisher
  bool was_refused_ = false;  // has made the broker close a channel; is isolated from then on
};

// Publishes pending publishes until they have arrived: through a delay queue with a valid lease, or
// directly, each with a confirm that counts. After returns, nacks, lost confirms, closed channels
// and lost connections it publishes again, with growing pauses. It stops only if the message itself
// is the cause, and reports that to `OnSent`.
//
// It publishes nothing while the broker blocks the connection, while kMaxUnconfirmed publishes are
// unanswered, or while kMaxUnsentBytes wait to be sent. Other messages wait here, in order.
//
// If the broker closes a channel because of a publish, or the connection, the publishes that are
// open on it are isolated until the cause is found: see IsolatedPublishes.
class ConfirmedPublisher {
 public:
  static constexpr std::size_t kMaxUnconfirmed = 4096;
  static constexpr std::size_t kMaxUnsentBytes = std::size_t{16} << 20;

  // All arguments must outlive it. Pending publishes may be destroyed earlier.
  ConfirmedPublisher(Broker& broker, Environment environment, DelayQueues& delay_queues,
                     absl::Duration confirm_timeout);
  ~ConfirmedPublisher();
  ConfirmedPublisher(const ConfirmedPublisher&) = delete;
  ConfirmedPublisher& operator=(const ConfirmedPublisher&) = delete;

  // `pending` must not be under way already. `OnSent` is never called inside this call.
  void Send(PendingPublish& pending) { Send(pending, environment_.clock->Look()); }
  // The same, for callers that have just read the clock.
  void Send(PendingPublish& pending, const Moment& now);

  // The broker's listener calls these.
  void OnReady();
  void OnLost();
  void OnBlocked(bool blocked);
  // Whether the broker blocks publishing.
  bool blocked() const { return blocked_since_.has_value(); }

  // Call it at a stop, when there is no time to wait: publishes that are pausing are tried once
  // more now.
  void RetryNow();

  // Number of pending publishes under way.
  std::size_t size() const { return jobs_.size() - free_.size(); }
  // Number of pending publishes that wait for a confirm. Cancelled publishes do not count.
  std::size_t unanswered() const;
  // Length of the queue of waiting publishes, including some that were cancelled.
  std::size_t queued() const { return queued_.size(); }

 private:
  friend class PendingPublish;

  // The states of a pending publish:
  //
  //   Send ──┬── refused before ────▶ kAwaitingTurn
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
  // If there is room, it leaves kQueued at once. When the connection is lost for the first time, it
  // returns to kQueued instead of kPausing. `OnSent` is also called for a publish without a delay
  // that is returned, and for one that alone makes the broker close the channel.
  enum class State {
    kFree,
    kAwaitingTurn,  // refused before: waits for its turn among such publishes
    kQueued,        // waits for the connection, for room, or for the end of isolations
    kAcquiring,     // waits for a lease of its delay queue
    kPublished,     // waits for the confirm
    kSettling,      // confirmed; waits until its new queue survives a crash of the broker
    kPausing,       // waits until it is published again
    kTooLarge,      // cannot be published; reported in the next turn of the loop
  };

  // A pending publish under way.
  struct Job {
    State state = State::kFree;
    PendingPublish* pending = nullptr;
    bool isolated = false;  // see IsolatedPublishes
    bool alone = false;     // published while nothing else was open
    bool overdue = false;   // its last confirm did not arrive in time
    std::uint32_t step = 0;
    std::uint32_t failures = 0;   // of this pending publish; they determine the pauses
    absl::Duration published_at;  // since boot, excluding blocked time
    absl::Duration confirmed_after;
    Lease lease;
    std::unique_ptr<Timer> pause;
  };

  // One step of a job, for example one publish. Answers to earlier steps are ignored.
  struct Step {
    std::uint32_t job;
    std::uint32_t number;
  };

  void Cancel(PendingPublish& pending);
  bool Is(Step step, State state) const;

  // Isolation, see IsolatedPublishes.
  void Isolate(std::uint32_t index);
  void EndIsolation(std::uint32_t index);
  void AdvanceIsolated();

  // Before a publish.
  bool HasRoom() const;
  bool MayAdvance(std::uint32_t index) const;
  void Queue(std::uint32_t index);
  void DropStale();
  void AdvanceQueued();
  void AwaitAnswers();
  void AdvanceQueuedSoon();
  void Advance(std::uint32_t index) { Advance(index, environment_.clock->Look()); }
  void Advance(std::uint32_t index, const Moment& now);
  void Publish(std::uint32_t index, Lease&& lease, const Moment& now);

  // After a publish.
  void OnResult(Step step, const PublishResult& result);
  void OnNacked(std::uint32_t index);
  void OnConfirmed(std::uint32_t index) { OnConfirmed(index, environment_.clock->Look()); }
  void OnConfirmed(std::uint32_t index, const Moment& now);
  void OnCovered(std::uint32_t index, const Moment& now);
  void OnReturned(std::uint32_t index, const PublishResult& result);
  void OnChannelClosed(std::uint32_t index, const PublishResult& result);
  void OnExchangeGone(const Job& job, std::string_view text);
  void TryAgain(std::uint32_t index);
  void AwaitRoom(std::uint32_t index);
  void WaitForQueue(std::uint32_t index, absl::Duration pause);
  void Retry(std::uint32_t index);
  // Keeps the job in `state` for this time; `OnPauseOver` then continues it.
  void Pause(std::uint32_t index, State state, absl::Duration pause);
  void OnPauseOver(std::uint32_t index);
  void Finish(std::uint32_t index, const SendResult& result);
  void Release(std::uint32_t index);

  // Confirms that do not arrive in time.
  absl::Duration UnblockedTime() const { return UnblockedTime(environment_.clock->SinceBoot()); }
  absl::Duration UnblockedTime(absl::Duration since_boot) const;
  void WatchConfirms();
  void OnConfirmsOverdue();
  void OnSilence(const std::vector<DelayRoute>& routes);

  void ReportUnconfirmed(const Job& job, std::string_view cause, std::string_view why) const;
  void Report(Event event, const Job& job, std::string_view why) const;

  Broker& broker_;
  Environment environment_;
  DelayQueues& delay_queues_;
  const absl::Duration confirm_timeout_;
  PublishParams params_;  // scratch space of a publish: setting up new ones takes longer

  bool ready_ = false;
  std::vector<std::unique_ptr<Job>> jobs_;  // jobs do not move if an observer sends more
  std::vector<std::uint32_t> free_;
  std::deque<Step> queued_;               // in order; stale steps are skipped
  std::size_t stale_ = 0;                 // lower bound of the stale steps in it
  std::unique_ptr<Timer> advance_timer_;  // to advance queued jobs
  std::unique_ptr<Timer> await_timer_;    // for a publish that must be sent alone
  std::size_t open_publishes_ = 0;        // not answered by the broker, including cancelled ones
  IsolatedPublishes isolated_{environment_};

  std::optional<absl::Duration> blocked_since_;
  absl::Duration blocked_for_ = absl::ZeroDuration();
  std::unique_ptr<Timer> confirm_timer_;

  Lifeline<ConfirmedPublisher> lifeline_{this};
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_PUBLISHER_PUBLISHER_H_
