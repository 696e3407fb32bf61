#include "retry/publisher/publisher.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "loop/call_after.h"
#include "loop/pauses.h"

namespace retryq {
namespace {

constexpr absl::Duration kFirstPublishPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPublishPause = absl::Seconds(30);
constexpr std::uint16_t kNotFound = 404;
constexpr std::size_t kMaxStale = 1024;  // steps

// Returns zero before the first repetition, which usually succeeds, and growing pauses before later
// ones.
absl::Duration PauseAfter(std::uint32_t failures, Random& random) {
  if (failures <= 1) return absl::ZeroDuration();
  return Pauses::After(failures - 1, kFirstPublishPause, kLongestPublishPause, random);
}

}  // namespace

PendingPublish::~PendingPublish() {
  if (publisher_ != nullptr) publisher_->Cancel(*this);
}

ConfirmedPublisher::ConfirmedPublisher(Broker& broker, Environment environment,
                                       DelayQueues& delay_queues, absl::Duration confirm_timeout)
    : broker_(broker),
      environment_(std::move(environment)),
      delay_queues_(delay_queues),
      confirm_timeout_(confirm_timeout) {}

ConfirmedPublisher::~ConfirmedPublisher() {
  for (const auto& job : jobs_) {
    if (job->pending != nullptr) job->pending->publisher_ = nullptr;
  }
}

void ConfirmedPublisher::Send(PendingPublish& pending, const Moment& now) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(jobs_.size()));
    jobs_.push_back(std::make_unique<Job>());
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  jobs_[index]->pending = &pending;
  pending.publisher_ = this;
  pending.job_ = index;
  if (!pending.was_refused_) return Advance(index, now);
  const absl::Duration pause = isolated_.TimeToTurn();
  if (pause > absl::ZeroDuration()) return Pause(index, State::kAwaitingTurn, pause);
  Isolate(index);
}

void ConfirmedPublisher::Isolate(std::uint32_t index) {
  jobs_[index]->isolated = true;
  isolated_.Add();
  Advance(index);
  AdvanceQueuedSoon();  // there may be no isolated publish under way now
}

// Also called when the broker has answered the publish without closing the channel: then it was not
// the cause.
void ConfirmedPublisher::EndIsolation(std::uint32_t index) {
  isolated_.End(index);
  if (std::exchange(jobs_[index]->isolated, false)) isolated_.Remove();
}

void ConfirmedPublisher::Cancel(PendingPublish& pending) {
  if (jobs_[pending.job_]->state == State::kQueued) ++stale_;
  Release(pending.job_);
  DropStale();
  AdvanceQueuedSoon();
}

bool ConfirmedPublisher::Is(Step step, State state) const {
  const Job& job = *jobs_[step.job];
  return job.step == step.number && job.state == state;
}

// Whether another publish may be made now. If there are too many open publishes, the publisher
// checks again at each answer.
bool ConfirmedPublisher::HasRoom() const {
  if (!ready_ || blocked_since_.has_value()) return false;
  return open_publishes_ == 0 ||
         (open_publishes_ < kMaxUnconfirmed && broker_.unsent_bytes() < kMaxUnsentBytes);
}

bool ConfirmedPublisher::MayAdvance(std::uint32_t index) const {
  return HasRoom() && isolated_.MayPublish(index);
}

void ConfirmedPublisher::Queue(std::uint32_t index) {
  isolated_.End(index);
  Job& job = *jobs_[index];
  job.state = State::kQueued;
  queued_.push_back({index, ++job.step});
}

// Cancelled publishes must not accumulate while publishing is not possible.
void ConfirmedPublisher::DropStale() {
  if (stale_ <= kMaxStale || stale_ <= queued_.size() / 2) return;
  std::erase_if(queued_, [this](Step step) { return !Is(step, State::kQueued); });
  stale_ = 0;
}

void ConfirmedPublisher::AdvanceQueued() {
  while (!queued_.empty() && isolated_.empty() && HasRoom()) {
    const Step next = queued_.front();
    queued_.pop_front();
    if (Is(next, State::kQueued)) {
      Advance(next.job);
    } else if (stale_ > 0) {
      --stale_;
    }
  }
  if (!queued_.empty() && !isolated_.empty()) AdvanceIsolated();
}

void ConfirmedPublisher::AdvanceIsolated() {
  if (isolated_.has_current() || !HasRoom()) return;
  const auto next = std::find_if(queued_.begin(), queued_.end(), [this](Step step) {
    return Is(step, State::kQueued) && jobs_[step.job]->isolated;
  });
  if (next == queued_.end()) return;  // all isolated publishes are pausing
  if (open_publishes_ > 0 && jobs_[next->job]->pending->was_refused_) return AwaitAnswers();
  await_timer_.reset();
  const std::uint32_t index = next->job;
  isolated_.Begin(index);
  queued_.erase(next);
  Advance(index);
}

// A publish that has made the broker close a channel is sent only when no other publish is open,
// because those would be lost with the channel. So it waits for all answers. If an answer does not
// arrive, the connection is replaced, because the queued publishes must not wait forever.
void ConfirmedPublisher::AwaitAnswers() {
  if (await_timer_ != nullptr) return;
  CallAfter(*environment_.timers, confirm_timeout_, await_timer_, [this] {
    broker_.Reconnect(
        absl::UnavailableError("a publish is not answered: trying another connection"));
  });
}

// Continues in the next turn of the loop: the caller may be cancelling all queued publishes, and
// `Fill` must not be called for them meanwhile.
void ConfirmedPublisher::AdvanceQueuedSoon() {
  if (queued_.empty() || advance_timer_ != nullptr) return;
  CallAfter(*environment_.timers, absl::ZeroDuration(), advance_timer_,
            [this] { AdvanceQueued(); });
}

void ConfirmedPublisher::Advance(std::uint32_t index, const Moment& now) {
  if (!MayAdvance(index)) {
    Queue(index);
    return;
  }
  Job& job = *jobs_[index];
  const std::optional<DelayRoute> route = job.pending->Route();
  if (!route.has_value()) {
    Publish(index, Lease(), now);
    return;
  }
  if (Lease lease = delay_queues_.CurrentLease(*route, now.since_boot); lease.name != nullptr) {
    Publish(index, std::move(lease), now);
    return;
  }
  const absl::Duration pause = delay_queues_.RefusedFor(*route);
  if (pause > absl::ZeroDuration()) return WaitForQueue(index, pause);
  job.state = State::kAcquiring;
  const Step step{index, ++job.step};
  delay_queues_.Acquire(*route, [self = lifeline_.ptr(), step](absl::StatusOr<Lease> lease) {
    if (!self) return;
    ConfirmedPublisher& publisher = *self.get();
    if (!publisher.Is(step, State::kAcquiring)) return;
    if (!lease.ok()) {
      publisher.EndIsolation(step.job);  // other publishes must not wait for its delay queue
      const std::optional<DelayRoute> refused = publisher.jobs_[step.job]->pending->Route();
      const absl::Duration wait =
          refused ? publisher.delay_queues_.RefusedFor(*refused) : absl::ZeroDuration();
      if (publisher.ready_ && wait > absl::ZeroDuration()) {
        publisher.WaitForQueue(step.job, wait);
      } else {
        publisher.TryAgain(step.job);
      }
    } else if (!publisher.MayAdvance(step.job)) {
      publisher.Queue(step.job);
    } else {
      publisher.Publish(step.job, *std::move(lease), publisher.environment_.clock->Look());
    }
  });
}

void ConfirmedPublisher::Publish(std::uint32_t index, Lease&& lease, const Moment& now) {
  Job& job = *jobs_[index];
  params_.exchange = lease.name == nullptr ? std::string_view() : *lease.name;
  if (lease.name == nullptr) lease.safe_from = job.pending->SafeFrom();
  job.lease = std::move(lease);
  if (!job.pending->Fill(&params_, now.now)) {
    Pause(index, State::kTooLarge, absl::ZeroDuration());
    return;
  }
  job.state = State::kPublished;
  job.published_at = UnblockedTime(now.since_boot);
  job.alone = open_publishes_++ == 0;
  const Step step{index, ++job.step};
  broker_.Publish(params_, [this, step](const PublishResult& result) { OnResult(step, result); });
  params_.body_owner = nullptr;
  if (confirm_timer_ == nullptr) WatchConfirms();
}

void ConfirmedPublisher::OnResult(Step step, const PublishResult& result) {
  --open_publishes_;
  if (!Is(step, State::kPublished)) {
    AdvanceQueuedSoon();
    return;
  }
  const Moment now = environment_.clock->Look();
  Job& job = *jobs_[step.job];
  job.overdue = false;
  job.confirmed_after = UnblockedTime(now.since_boot) - job.published_at;
  switch (result.outcome) {
    case PublishOutcome::kConfirmed:
      OnConfirmed(step.job, now);
      return;
    case PublishOutcome::kReturned:
      OnReturned(step.job, result);
      return;
    case PublishOutcome::kNacked:
      OnNacked(step.job);
      return;
    case PublishOutcome::kUnknown:
      OnChannelClosed(step.job, result);
      return;
    case PublishOutcome::kNotSent:
      AwaitRoom(step.job);
      return;
  }
}

void ConfirmedPublisher::OnNacked(std::uint32_t index) {
  Job& job = *jobs_[index];
  std::optional<std::string> full;
  if (job.lease.name != nullptr) full = delay_queues_.Nacked(job.lease);
  ReportUnconfirmed(job, "nacked", full ? *full : "the broker nacked the publish");
  // An immediate repetition would fail too.
  if (full) job.failures = std::max(job.failures, 1U);
  EndIsolation(index);
  TryAgain(index);
}

void ConfirmedPublisher::OnConfirmed(std::uint32_t index, const Moment& now) {
  const Job& job = *jobs_[index];
  if (job.lease.name == nullptr || delay_queues_.Covers(job.lease, now.since_boot)) {
    OnCovered(index, now);
  } else {
    ReportUnconfirmed(job, "late", "confirmed too late: its queue may be gone already");
    EndIsolation(index);
    TryAgain(index);
  }
}

void ConfirmedPublisher::OnCovered(std::uint32_t index, const Moment& now) {
  Job& job = *jobs_[index];
  if (job.lease.safe_from > now.since_boot) {
    EndIsolation(index);
    Pause(index, State::kSettling, job.lease.safe_from - now.since_boot);
    AdvanceQueued();
    return;
  }
  const std::shared_ptr<const std::string> delay_queue = std::move(job.lease.name);
  Finish(index, {.delay_queue = delay_queue == nullptr ? std::string_view() : *delay_queue,
                 .confirmed_after = job.confirmed_after,
                 .confirmed_at = now.now});
}

void ConfirmedPublisher::OnReturned(std::uint32_t index, const PublishResult& result) {
  const Job& job = *jobs_[index];
  if (job.lease.name == nullptr) {
    Finish(index, {.kind = SendResult::Kind::kReturned, .code = result.code, .text = result.text});
    return;
  }
  Report({.kind = EventKind::kReturned, .time = {}}, job, result.text);
  delay_queues_.Broken(job.lease, result.text);
  EndIsolation(index);
  TryAgain(index);
}

// The channel or the connection is gone, so it is unknown whether the message arrived.
void ConfirmedPublisher::OnChannelClosed(std::uint32_t index, const PublishResult& result) {
  const bool connection_lost = result.code == 0;
  ReportUnconfirmed(*jobs_[index], connection_lost ? "lost" : "closed",
                    connection_lost ? "the connection was lost before the confirm" : result.text);
  if (connection_lost) {
    TryAgain(index);
    return;
  }
  const bool gone = result.code == kNotFound && jobs_[index]->lease.name != nullptr;
  if (gone) OnExchangeGone(*jobs_[index], result.text);
  if (isolated_.IsCurrent(index) && jobs_[index]->alone && !gone) {
    if (std::exchange(jobs_[index]->pending->was_refused_, true)) {
      isolated_.OnRefusedAgain(result.code);
    }
    Finish(index, {.kind = SendResult::Kind::kRefused, .code = result.code, .text = result.text});
    return;
  }
  if (!gone && !std::exchange(jobs_[index]->isolated, true)) isolated_.Add();
  TryAgain(index);
}

// The broker's text names one delay exchange that is gone. Other exchanges may be gone too.
void ConfirmedPublisher::OnExchangeGone(const Job& job, std::string_view text) {
  if (!delay_queues_.Covers(job.lease)) return;  // already known to be gone
  for (const auto& other : jobs_) {
    const Lease& lease = other->lease;
    if (lease.name == nullptr || !delay_queues_.Covers(lease)) continue;
    if (text.find("'" + *lease.name + "'") == std::string_view::npos) continue;
    delay_queues_.Broken(lease, text);
    break;
  }
  delay_queues_.DropAll(absl::UnavailableError(std::string(text)));
}

void ConfirmedPublisher::TryAgain(std::uint32_t index) {
  isolated_.End(index);
  Job& job = *jobs_[index];
  ++job.failures;
  job.lease = Lease();
  // A publish that was open at more than one loss of the connection may be the cause: it pauses, so
  // that others go first on the next connection. Isolated publishes are published one at a time
  // anyway.
  if (!ready_ && (job.failures <= 1 || job.isolated)) {
    Queue(index);
    return;
  }
  Pause(index, State::kPausing, PauseAfter(job.failures, *environment_.random));
  AdvanceQueued();
}

// Much data of others waits to be sent, which is no failure of this publish.
void ConfirmedPublisher::AwaitRoom(std::uint32_t index) {
  isolated_.End(index);
  jobs_[index]->lease = Lease();
  Pause(index, State::kPausing, kFirstPublishPause);
}

// All publishes that need this queue wait until the same time.
void ConfirmedPublisher::WaitForQueue(std::uint32_t index, absl::Duration pause) {
  EndIsolation(index);
  Pause(index, State::kPausing, pause);
  AdvanceQueuedSoon();
}

std::size_t ConfirmedPublisher::unanswered() const {
  return static_cast<std::size_t>(std::count_if(
      jobs_.begin(), jobs_.end(), [](const auto& job) { return job->state == State::kPublished; }));
}

void ConfirmedPublisher::RetryNow() {
  delay_queues_.RetryNow();
  for (std::uint32_t index = 0; index < jobs_.size(); ++index) {
    if (jobs_[index]->state != State::kPausing) continue;
    Pause(index, State::kPausing, absl::ZeroDuration());
  }
}

void ConfirmedPublisher::Retry(std::uint32_t index) {
  Advance(index);
  AdvanceQueued();  // it may be isolated, and no other one is under way
}

void ConfirmedPublisher::Pause(std::uint32_t index, State state, absl::Duration pause) {
  Job& job = *jobs_[index];
  job.state = state;
  ++job.step;
  CallAfter(*environment_.timers, pause, job.pause, [this, index] { OnPauseOver(index); });
}

void ConfirmedPublisher::OnPauseOver(std::uint32_t index) {
  switch (jobs_[index]->state) {
    case State::kAwaitingTurn:
      return Isolate(index);
    case State::kPausing:
      return Retry(index);
    case State::kSettling:
      return OnConfirmed(index);
    case State::kTooLarge:
      return Finish(index, {.kind = SendResult::Kind::kTooLarge});
    case State::kFree:
    case State::kQueued:
    case State::kAcquiring:
    case State::kPublished:
      return;  // no timer ends these states
  }
}

void ConfirmedPublisher::Finish(std::uint32_t index, const SendResult& result) {
  PendingPublish* const pending = jobs_[index]->pending;
  Release(index);
  const Lifeline<ConfirmedPublisher>::Watch alive(lifeline_);
  pending->OnSent(result);
  if (alive) AdvanceQueued();
}

void ConfirmedPublisher::Release(std::uint32_t index) {
  EndIsolation(index);
  Job& job = *jobs_[index];
  job.pending->publisher_ = nullptr;
  job.pending = nullptr;
  job.state = State::kFree;
  ++job.step;
  job.failures = 0;
  job.overdue = false;
  job.lease = Lease();
  job.pause.reset();
  free_.push_back(index);
}

void ConfirmedPublisher::OnReady() {
  ready_ = true;
  AdvanceQueued();
}

void ConfirmedPublisher::OnLost() {
  ready_ = false;
  OnBlocked(false);
  for (std::uint32_t index = 0; index < jobs_.size(); ++index) {
    Job& job = *jobs_[index];
    if (job.state != State::kSettling) continue;
    ReportUnconfirmed(job, "lost",
                      "the connection was lost before its new queue was sure to outlast a crash");
    job.pause.reset();
    TryAgain(index);
  }
}

void ConfirmedPublisher::OnBlocked(bool blocked) {
  if (blocked == blocked_since_.has_value()) return;
  const absl::Duration now = environment_.clock->SinceBoot();
  if (blocked) {
    blocked_since_ = now;
  } else {
    blocked_for_ += now - *std::exchange(blocked_since_, std::nullopt);
  }
  WatchConfirms();
  AdvanceQueued();
}

absl::Duration ConfirmedPublisher::UnblockedTime(absl::Duration since_boot) const {
  const absl::Duration now = blocked_since_.value_or(since_boot);
  return blocked_for_ == absl::ZeroDuration() ? now : now - blocked_for_;
}

void ConfirmedPublisher::WatchConfirms() {
  confirm_timer_.reset();
  if (blocked_since_.has_value()) return;
  absl::Duration earliest = absl::InfiniteDuration();
  for (const auto& job : jobs_) {
    if (job->state == State::kPublished) earliest = std::min(earliest, job->published_at);
  }
  if (earliest == absl::InfiniteDuration()) return;
  confirm_timer_ = environment_.timers->After(earliest + confirm_timeout_ - UnblockedTime(),
                                              [this] { OnConfirmsOverdue(); });
}

void ConfirmedPublisher::OnConfirmsOverdue() {
  const absl::Duration now = UnblockedTime();
  bool dropped = false;
  bool silent = false;
  std::vector<DelayRoute> routes;
  for (std::uint32_t index = 0; index < jobs_.size(); ++index) {
    Job& job = *jobs_[index];
    if (job.state != State::kPublished || now - job.published_at < confirm_timeout_) {
      continue;
    }
    ReportUnconfirmed(job, "timeout", "no confirm in time");
    if (job.lease.name != nullptr && !std::exchange(dropped, true)) {
      delay_queues_.DropAll(absl::UnavailableError("confirms are overdue"));
    }
    if (std::exchange(job.overdue, true)) {
      silent = true;
      if (const auto route = job.pending->Route()) routes.push_back(*route);
    }
    EndIsolation(index);
    TryAgain(index);
  }
  if (silent) OnSilence(routes);
  WatchConfirms();
}

// The broker answers, but has not confirmed a message twice in a row. A quorum queue without a
// leader blocks the channel that publishes to it for minutes, while its declares are answered.
void ConfirmedPublisher::OnSilence(const std::vector<DelayRoute>& routes) {
  for (const DelayRoute& route : routes) delay_queues_.Avoid(route);
  broker_.Reconnect(absl::UnavailableError(
      "the broker has not confirmed a message twice in a row: trying another connection"));
}

void ConfirmedPublisher::ReportUnconfirmed(const Job& job, std::string_view cause,
                                           std::string_view why) const {
  job.pending->OnUnconfirmed(why);
  Report({.kind = EventKind::kUnconfirmed, .time = {}, .cause = cause}, job, why);
}

void ConfirmedPublisher::Report(Event event, const Job& job, std::string_view why) const {
  if (environment_.observer == nullptr) return;
  event.time = environment_.clock->Now();
  event.queue = job.pending->Origin();
  event.id = job.pending->Id();
  event.error = why;
  if (job.lease.name != nullptr) event.delay_queue = *job.lease.name;
  environment_.observer->OnEvent(event);
}

}  // namespace retryq
