#include "retry/delay_queues/delay_queues.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "retry/delay_queues/delay_queue_remedies.h"
#include "retry/delay_queues/route_declaration.h"

namespace retryq {
namespace {

// Number of renamed routes that are remembered. Beyond it, all are forgotten, which costs one more
// refused declare for each.
constexpr std::size_t kMaxRenamedRoutes = 1024;

// Number of refused routes that are remembered. Beyond this number, only those whose pause is not
// over are kept.
constexpr std::size_t kMaxRefusedRoutes = 1024;

}  // namespace

DelayQueues::Entry* DelayQueues::Find(std::uint64_t id) const {
  if (last_found_ != nullptr && last_found_->id() == id) return last_found_;
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second.get();
}

DelayQueues::Entry* DelayQueues::FindCurrent(const DelayRoute& route) {
  if (last_found_ != nullptr && last_found_->key().route() == route) return last_found_;
  const auto found = current_.find(route);
  if (found == current_.end()) return nullptr;
  last_found_ = found->second;
  return last_found_;
}

void DelayQueues::SetCurrent(Entry& entry) {
  current_[entry.key()] = &entry;
  last_found_ = nullptr;
}

DelayQueues::Entry& DelayQueues::MakeCurrent(const DelayRoute& route, NameFamily family) {
  const std::uint64_t id = ++last_id_;
  const Epoch epoch = Epoch::At(environment_.clock->Now(), Now(), route.ttl, options_);
  auto made = std::make_unique<Entry>(id, DelayRouteKey(route), family, options_, epoch);
  Entry& entry = *entries_.emplace(id, std::move(made)).first->second;
  SetCurrent(entry);
  return entry;
}

void DelayQueues::Erase(Entry& entry) {
  if (IsCurrent(entry)) current_.erase(entry.key());
  last_found_ = nullptr;
  entries_.erase(entry.id());
}

Lease DelayQueues::CurrentLease(const DelayRoute& route, absl::Duration now) {
  Entry* const entry = FindCurrent(route);
  return entry != nullptr && entry->Allows(now) ? NewLease(*entry, now) : Lease();
}

absl::Duration DelayQueues::RefusedFor(const DelayRoute& route) const {
  const auto found = refusals_.find(route);
  if (found == refusals_.end()) return absl::ZeroDuration();
  return std::max(found->second.until - Now(), absl::ZeroDuration());
}

void DelayQueues::RetryNow() {
  for (auto& [route, refusals] : refusals_) refusals.until = Now();
}

void DelayQueues::NoteRefusal(const DelayRouteKey& route) {
  const absl::Duration now = Now();
  if (refusals_.size() >= kMaxRefusedRoutes) {
    absl::erase_if(refusals_, [now](const auto& entry) { return entry.second.until <= now; });
  }
  Refusals& refusals = refusals_[route];
  refusals.until = now + refusals.pauses.Next(now, *environment_.random);
}

// An entry whose epoch is over is kept for the messages published under it.
DelayQueues::Entry& DelayQueues::UsableEntry(const DelayRoute& route) {
  Entry* const entry = FindCurrent(route);
  if (entry != nullptr && !entry->Over(Now())) return *entry;
  return MakeCurrent(route, renamed_.contains(route) ? NameFamily::kHashed : NameFamily::kPlain);
}

void DelayQueues::Acquire(const DelayRoute& route, Entry::Waiter done) {
  Entry* const entry = &UsableEntry(route);
  entry->waiters.push_back(std::move(done));
  if (entry->NeedsDeclare(Now())) Declare(*entry);
  Schedule(*entry);
}

Lease DelayQueues::NewLease(Entry& entry, absl::Duration now) {
  if (entry.RenewalDue(now)) Declare(entry);
  return entry.Give(now);
}

void DelayQueues::Declare(Entry& entry) {
  entry.Sent(Now());
  auto answered = [self = lifeline_.ptr(),
                   id = entry.id()](const absl::StatusOr<DeclareOk>& answer) {
    if (self) self->OnAnswer(id, answer);
  };
  if (options_.declare) {
    broker_.Declare(entry.declaration(), std::move(answered));
  } else {
    LookFor(entry, std::move(answered));
  }
}

// Checks the queue, then its exchange.
void DelayQueues::LookFor(const Entry& entry, Broker::DeclareCallback answered) {
  broker_.Declare({.queue = {.name = entry.name(), .passive = true}},
                  [self = lifeline_.ptr(), name = entry.name(),
                   answered = std::move(answered)](const absl::StatusOr<DeclareOk>& queue) {
                    if (!self || !queue.ok()) return answered(queue);
                    self->broker_.CheckExchange(
                        name, [answered, queue = *queue](const absl::Status& exchange) {
                          if (exchange.ok()) return answered(queue);
                          answered(exchange);
                        });
                  });
}

// Renews the lease of a queue that is not used now, but may contain messages. A passive declare
// does that too, and does not hide that the queue was deleted with them. If the node of the queue
// is down, the broker refuses both declares, but keeps the queue.
void DelayQueues::RenewUnused(Entry& entry) {
  if (!options_.declare || !entry.granted()) return Declare(entry);
  entry.Sent(Now());
  broker_.Declare({.queue = {.name = entry.name(), .passive = true}},
                  [self = lifeline_.ptr(),
                   lease = Lease{.entry = entry.id(), .generation = entry.generation()}](
                      const absl::StatusOr<DeclareOk>& seen) {
                    Entry* const seen_entry = self ? self->Find(lease.entry) : nullptr;
                    if (seen_entry == nullptr) return;
                    if (!absl::IsNotFound(seen.status())) return self->OnAnswer(lease.entry, seen);
                    self->broker_.Declare(seen_entry->declaration(),
                                          [self, lease](const absl::StatusOr<DeclareOk>& answer) {
                                            if (self && answer.ok()) self->Broken(lease, "");
                                            if (self) self->OnAnswer(lease.entry, answer);
                                          });
                  });
}

void DelayQueues::OnAnswer(std::uint64_t id, const absl::StatusOr<DeclareOk>& answer) {
  Entry* const entry = Find(id);
  if (entry == nullptr) return;
  if (answer.ok()) {
    OnDeclared(*entry, *answer);
  } else {
    entry->Refused(Now());
    OnRefused(*entry, answer.status());
  }
}

void DelayQueues::OnDeclared(Entry& entry, const DeclareOk& answer) {
  if (!StillWanted(entry)) {
    Erase(entry);
    return;
  }
  switch (entry.Answered(Now(), answer)) {
    case LeaseClock::Answer::kFirst:
      Declare(entry);
      break;
    case LeaseClock::Answer::kGranted:
      OnGranted(entry);
      break;
    case LeaseClock::Answer::kRenewed:
      Report(EventKind::kRenewed, entry);
      break;
  }
  AnswerWaiters(entry);
}

void DelayQueues::OnGranted(Entry& entry) {
  if (entry.family() == NameFamily::kHashed) Remember(entry);
  const auto refused = refusals_.find(entry.key());
  if (refused != refusals_.end()) {
    refused->second.pauses.Succeeded(Now());
    refused->second.until = Now();
  }
  if (const std::string why = std::exchange(entry.renamed_because, {}); !why.empty()) {
    Report(EventKind::kRenamed, entry, why);
  }
  Report(EventKind::kDeclared, entry);
}

// From now on, the route uses only the hashed name.
void DelayQueues::Remember(const Entry& renamed) {
  if (renamed_.size() >= kMaxRenamedRoutes) renamed_.clear();
  renamed_.insert(renamed.key());
}

void DelayQueues::OnRefused(Entry& entry, const absl::Status& refusal) {
  const bool other_arguments = absl::IsFailedPrecondition(refusal);
  // The queue with this name is not this client's.
  if (other_arguments) entry.Break();
  if (!IsCurrent(entry)) {
    KeepWhileItExists(entry);
    return;
  }
  // While the broker deletes a queue, it answers the declare, but cannot bind the queue any more.
  if (absl::IsNotFound(refusal) && entry.refusals() == 1 && options_.declare) {
    Declare(entry);
    Schedule(entry);
    return;
  }
  if (other_arguments && entry.TakeNextSlot()) {
    Declare(entry);
    Schedule(entry);
    return;
  }
  if (entry.CanBeRenamed() && (other_arguments || absl::IsNotFound(refusal))) {
    Rename(entry, other_arguments ? RenameCause::kOtherArguments : RenameCause::kNodeDown,
           {refusal.message().data(), refusal.message().size()});
    return;
  }
  const absl::Status why = options_.declare
                               ? ExplainRefusal(refusal, entry.name(), options_.prefix,
                                                entry.key().route().dead_letter_exchange)
                               : ExplainAbsence(refusal, entry.name(), options_.prefix);
  Report(EventKind::kDeclareFailed, entry, {why.message().data(), why.message().size()});
  NoteRefusal(entry.key());
  const std::deque<Entry::Waiter> waiters = std::exchange(entry.waiters, {});
  KeepWhileItExists(entry);
  FailWaiters(waiters, why);
}

// Switches to the hashed name, together with the callers that wait. The hashed name is reported and
// remembered only after its declare has succeeded, because a declare also takes too long if the
// network stalls.
void DelayQueues::Rename(Entry& entry, RenameCause cause, std::string_view detail) {
  Entry& hashed = MakeCurrent(entry.key().route(), NameFamily::kHashed);
  hashed.renamed_because = WhyRenamed(cause, entry.name(), detail);
  hashed.waiters = std::exchange(entry.waiters, {});
  Declare(hashed);
  Schedule(hashed);
  if (cause == RenameCause::kTooSlow) entry.stand_in = hashed.id();
  KeepWhileItExists(entry);
}

// Moves the callers that wait for a queue whose epoch is over to the present epoch's queue.
void DelayQueues::Rotate(Entry& over) {
  Entry& next = UsableEntry(over.key().route());
  std::move(over.waiters.begin(), over.waiters.end(), std::back_inserter(next.waiters));
  over.waiters.clear();
  if (next.NeedsDeclare(Now())) Declare(next);
  Schedule(next);
  KeepWhileItExists(over);
}

// Whether the late answer to a declare is still useful. If the stand-in has no lease yet, the route
// and the callers that wait return to the late entry.
bool DelayQueues::StillWanted(Entry& late) {
  const std::uint64_t id = std::exchange(late.stand_in, 0);
  if (id == 0) return true;
  Entry* const stand_in = Find(id);
  if (stand_in == nullptr || stand_in->granted() || !IsCurrent(*stand_in)) {
    return late.ExistsAt(Now());
  }
  late.waiters = std::exchange(stand_in->waiters, {});
  SetCurrent(late);
  Erase(*stand_in);
  return true;
}

// Keeps the entry if it has a lease or a declare under way, else erases it.
void DelayQueues::KeepWhileItExists(Entry& entry) {
  if (entry.declaring() || entry.ExistsAt(Now())) {
    Schedule(entry);
    return;
  }
  if (entry.granted()) Report(EventKind::kLapsed, entry);
  Erase(entry);
}

void DelayQueues::Schedule(Entry& entry) {
  const absl::Duration now = Now();
  const absl::Duration due = entry.NextDue(now);
  if (entry.timer != nullptr && entry.timer_due == due) return;
  entry.timer.reset();
  entry.timer_due = due;
  if (due == absl::InfiniteDuration()) return;
  entry.timer = environment_.timers->After(due - now, [this, id = entry.id()] { OnTimer(id); });
}

void DelayQueues::OnTimer(std::uint64_t id) {
  Entry& entry = *Find(id);
  entry.timer.reset();
  switch (entry.DueAt(Now())) {
    case Entry::Due::kNothing:
      break;
    case Entry::Due::kAnswer:
      AnswerWaiters(entry);
      return;
    case Entry::Due::kDeclare:
      entry.waiters.empty() ? RenewUnused(entry) : Declare(entry);
      break;
    case Entry::Due::kRename:
      Rename(entry, RenameCause::kTooSlow);
      return;
    case Entry::Due::kRotate:
      Rotate(entry);
      return;
    case Entry::Due::kLapse:
      KeepWhileItExists(entry);
      return;
  }
  Schedule(entry);
}

// Answers the callers that wait now. Callers that are added meanwhile are answered later.
void DelayQueues::AnswerWaiters(Entry& entry) {
  const AlivePtr<DelayQueues> self = lifeline_.ptr();
  const std::uint64_t id = entry.id();
  Entry* current = &entry;
  for (std::size_t left = entry.waiters.size(); left > 0; --left) {
    const absl::Duration now = Now();
    if (current->waiters.empty() || !current->Allows(now)) break;
    const Entry::Waiter done = std::move(current->waiters.front());
    current->waiters.pop_front();
    done(NewLease(*current, now));
    if (!self) return;
    current = Find(id);
    if (current == nullptr) return;
  }
  Schedule(*current);
}

void DelayQueues::FailWaiters(const std::deque<Entry::Waiter>& waiters, const absl::Status& why) {
  const AlivePtr<DelayQueues> self = lifeline_.ptr();
  for (const Entry::Waiter& done : waiters) {
    done(why);
    if (!self) return;
  }
}

bool DelayQueues::Covers(const Lease& lease, absl::Duration now) const {
  const Entry* const entry = Find(lease.entry);
  return entry != nullptr && entry->Covers(lease.generation, now);
}

void DelayQueues::Broken(const Lease& lease, std::string_view why) {
  Entry* const entry = Find(lease.entry);
  if (entry == nullptr || !entry->granted() || entry->generation() != lease.generation) return;
  const bool covered = entry->Covers(lease.generation, Now());
  entry->Break();
  if (covered) Report(EventKind::kLeaseBroken, *entry, WhyBroken(entry->name(), why));
  if (entry->waiters.empty()) {
    KeepWhileItExists(*entry);
  } else {
    Schedule(*entry);
  }
}

std::optional<std::string> DelayQueues::Nacked(const Lease& lease) {
  if (options_.max_length > 0 || options_.max_length_bytes > 0) {
    return WhyFull(*lease.name, options_);
  }
  if (Covers(lease)) {
    Entry& entry = *Find(lease.entry);
    if (entry.CanBeRenamed() && IsCurrent(entry)) Rename(entry, RenameCause::kNacked);
  }
  return std::nullopt;
}

void DelayQueues::Avoid(const DelayRoute& route) {
  Entry& entry = UsableEntry(route);
  if (!entry.CanBeRenamed()) return;
  Rename(entry, RenameCause::kSilent);
  // Report and remember the new name at once, because the connection is about to be closed.
  Entry& hashed = *FindCurrent(route);
  Remember(hashed);
  Report(EventKind::kRenamed, hashed, std::exchange(hashed.renamed_because, {}));
}

void DelayQueues::DropAll(const absl::Status& why) {
  current_.clear();
  last_found_ = nullptr;
  std::vector<std::unique_ptr<Entry>> dropped;
  for (auto& [id, entry] : std::exchange(entries_, {})) dropped.push_back(std::move(entry));
  std::sort(dropped.begin(), dropped.end(),
            [](const auto& one, const auto& other) { return one->id() < other->id(); });
  std::deque<Entry::Waiter> waiters;
  for (const auto& entry : dropped) {
    // The declare under way may be why the connection was lost.
    if (entry->declaring()) NoteRefusal(entry->key());
    std::move(entry->waiters.begin(), entry->waiters.end(), std::back_inserter(waiters));
  }
  FailWaiters(waiters, why);
}

std::size_t DelayQueues::leased() const {
  return static_cast<std::size_t>(
      std::count_if(entries_.begin(), entries_.end(),
                    [now = Now()](const auto& entry) { return entry.second->ExistsAt(now); }));
}

void DelayQueues::Report(EventKind kind, const Entry& entry, std::string_view error) const {
  if (environment_.observer == nullptr) return;
  environment_.observer->OnEvent({.kind = kind,
                                  .time = environment_.clock->Now(),
                                  .delay = entry.key().route().ttl,
                                  .delay_queue = entry.name(),
                                  .error = error,
                                  .delay_queues = leased()});
}

}  // namespace retryq
