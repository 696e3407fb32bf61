#include "testing/node.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/broker_version.h"
#include "base/name_size.h"

namespace retryq::testing {
namespace {

// How long the deletion of an expired queue takes, before and after its exact time (5, 6, 31).
constexpr absl::Duration kEdge = absl::Milliseconds(40);

// Pause before a dead-lettered message that was not accepted is tried again (11).
constexpr absl::Duration kDeadLetterAgain = absl::Seconds(180);

// The number of a queue's messages that can wait for another queue to accept them. Messages that
// become due behind them wait too (37).
constexpr std::size_t kMostLeaving = 32;

bool IsFull(const Queue& queue) {
  return queue.max_length && static_cast<std::int64_t>(queue.ready.size()) >= *queue.max_length;
}

bool IsHeldUp(const Queue& queue) {
  return queue.at_least_once && queue.leaving.size() >= kMostLeaving;
}

}  // namespace

Node::Node(SimulatedTime& time, Random& random, SimulatedRabbitMq::Options options)
    : time_(time),
      random_(random),
      options_(std::move(options)),
      version_(BrokerVersion::Parse(options_.version)),
      mail_(time) {}

Node::~Node() = default;

absl::Duration Node::Moment(absl::Duration longest) {
  const auto microseconds = static_cast<std::uint64_t>(absl::ToInt64Microseconds(longest));
  return absl::Microseconds(static_cast<std::int64_t>(random_.Next() % (microseconds + 1)));
}

// Queues

const Queue* Node::Find(const std::string& name) const {
  const auto found = queues_.find(name);
  return found == queues_.end() || found->second->going ? nullptr : found->second.get();
}

Queue* Node::FindLive(const std::string& name) { return const_cast<Queue*>(Find(name)); }

absl::StatusOr<DeclareOk> Node::Declare(const DeclareParams& params) {
  if (refuses_declares_ && !params.queue.passive) {
    return absl::PermissionDeniedError(
        absl::StrCat("access to queue '", params.queue.name, "' refused"));
  }
  absl::StatusOr<DeclareOk> answer = DeclareQueue(params.queue);
  if (!answer.ok() || !params.exchange.has_value()) return answer;
  if (!exchanges_.Declare(params.exchange->name, params.exchange->type,
                          params.exchange->auto_delete)) {
    return absl::FailedPreconditionError(
        absl::StrCat("inequivalent arg for exchange '", params.exchange->name, "'"));
  }
  exchanges_.Bind(params.exchange->name, params.queue.name, params.binding_key);
  return answer;
}

absl::StatusOr<DeclareOk> Node::DeclareQueue(const QueueDeclaration& declaration) {
  if (declaration.name.size() > kMaxNameSize) {
    return absl::InvalidArgumentError("the queue's name is longer than 255 bytes");
  }
  const auto found = queues_.find(declaration.name);
  Queue* queue = found == queues_.end() ? nullptr : found->second.get();
  const bool at_its_end =
      queue != nullptr &&
      (queue->going || (!queue->consumed() && queue->lease_end - Now() < kEdge));
  if (queue != nullptr && !declaration.passive) {
    if (absl::Status same = Compare(*queue, declaration); !same.ok()) return same;
  }
  if (at_its_end) {
    // A queue at its end may answer once, and still be deleted.
    if (!queue->has_deceived && OneIn(2)) {
      queue->has_deceived = true;
      return DeclareOk{.message_count = static_cast<std::uint32_t>(queue->ready.size())};
    }
    if (queue->going || queue->has_deceived) {
      if (!queue->going) BeginEnd(*queue, LetGo::Cause::kQueueExpired);
      FinishEnd(declaration.name);
      queue = nullptr;
    }
  }
  if (queue == nullptr) {
    if (declaration.passive) {
      return absl::NotFoundError(absl::StrCat("no queue '", declaration.name, "' in vhost '/'"));
    }
    const std::string type = QueueTypeIn(declaration.arguments);
    if (type != "classic" && type != "quorum") {
      return absl::FailedPreconditionError(absl::StrCat("invalid arg 'x-queue-type' for queue '",
                                                        declaration.name, "' in vhost '/'"));
    }
    Make(declaration);
    return DeclareOk{};
  }
  if (!queue->quorum()) Touch(*queue);  // (3, 4)
  return DeclareOk{.message_count = static_cast<std::uint32_t>(queue->ready.size()),
                   .consumer_count = static_cast<std::uint32_t>(queue->consumers.size())};
}

absl::Status Node::Compare(const Queue& queue, const QueueDeclaration& declaration) {
  if (queue.durable == declaration.durable && queue.arguments == declaration.arguments) {
    return absl::OkStatus();
  }
  const std::string asked = QueueTypeIn(declaration.arguments);
  if (asked != queue.type) {  // (64)
    return absl::FailedPreconditionError(
        absl::StrCat("inequivalent arg 'x-queue-type' for queue '", declaration.name,
                     "' in vhost '/': received '", asked, "' but current is '", queue.type, "'"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("inequivalent arguments for queue '", declaration.name, "' in vhost '/'"));
}

Queue& Node::Make(const QueueDeclaration& declaration) {
  auto queue = std::make_unique<Queue>(declaration);
  queue->made_at = Now();
  Queue& made = *queues_.emplace(declaration.name, std::move(queue)).first->second;
  Touch(made);
  return made;
}

// Starts the lease of the queue again.
void Node::Touch(Queue& queue) {
  if (!queue.expires) return;
  queue.lease_end = Now() + *queue.expires;
  queue.has_deceived = false;
  Schedule(queue);
}

void Node::BeginEnd(Queue& queue, LetGo::Cause cause) {
  queue.going = Queue::Going{cause, Now() + Moment(kEdge)};
  LetAllGo(cause, queue);
  queue.consumers.clear();
  for (auto& [id, consumer] : consumers_) {
    if (consumer.queue != queue.name) continue;
    for (const auto& [tag, unacked] : std::exchange(consumer.unacked, {})) {
      LetItGo(cause, queue, unacked.stored);
    }
    if (std::exchange(consumer.consuming, false)) consumer.channel->Cancelled();
  }
  queue.unacked = 0;
  Schedule(queue);
}

// Deletes the queue and, with it, its exchange (21).
void Node::FinishEnd(const std::string& name) {
  exchanges_.Unbind(name);
  queues_.erase(name);
}

void Node::Schedule(Queue& queue) {
  absl::Duration due = absl::InfiniteDuration();
  if (queue.going) {
    due = queue.going->until;
  } else {
    if (!queue.consumed()) due = queue.lease_end;
    if (!queue.ready.empty() && !IsHeldUp(queue) &&
        queue.ready.begin()->second.deadline != absl::InfiniteFuture()) {
      due = std::min(due, Now() + (queue.ready.begin()->second.deadline - WallClock()));
    }
    if (!Leads(queue)) due = queue.leader_from;
  }
  queue.timer.reset();
  if (!up_ || due == absl::InfiniteDuration()) return;
  queue.timer = time_.After(due - Now(), [this, name = queue.name] { OnDue(name); });
}

void Node::OnDue(const std::string& name) {
  Queue& queue = *queues_.at(name);
  if (queue.going) {
    if (Now() < queue.going->until) return Schedule(queue);
    return FinishEnd(name);
  }
  // A lease that ended before there was a leader takes effect first (28).
  const bool ends_first = options_.downtime_counts && queue.lease_end < queue.leader_from;
  if (!ends_first) ExpireHeads(queue);
  if (!queue.consumed() && queue.lease_end <= Now()) {
    return BeginEnd(queue, LetGo::Cause::kQueueExpired);
  }
  Deliver(queue);
  Schedule(queue);
}

std::size_t Node::DeleteQueue(const std::string& name) {
  Queue* const queue = FindLive(name);
  if (queue == nullptr) return 0;
  const std::size_t count = queue->ready.size() + queue->leaving.size() + queue->unacked;
  BeginEnd(*queue, LetGo::Cause::kQueueDeleted);
  return count;
}

std::size_t Node::Purge(const std::string& name) {
  Queue* const queue = FindLive(name);
  if (queue == nullptr) return 0;
  const std::size_t count = queue->ready.size();
  for (const auto& [place, stored] : std::exchange(queue->ready, {})) {
    LetItGo(LetGo::Cause::kPurged, *queue, stored);
  }
  Schedule(*queue);
  return count;
}

std::vector<std::string> Node::queues() const {
  std::vector<std::string> names;
  for (const auto& [name, queue] : queues_) {
    if (!queue->going) names.push_back(name);
  }
  return names;
}

std::vector<ContentPtr> Node::MessagesOf(const std::string& name) const {
  std::vector<ContentPtr> contents;
  for (const auto& [id, consumer] : consumers_) {
    if (consumer.queue != name) continue;
    for (const auto& [tag, unacked] : consumer.unacked) contents.push_back(unacked.stored.content);
  }
  if (const Queue* queue = Find(name); queue != nullptr) {
    for (const auto& [place, stored] : queue->leaving) contents.push_back(stored.content);
    for (const auto& [place, stored] : queue->ready) contents.push_back(stored.content);
  }
  return contents;
}

// Messages

absl::Status Node::CheckExchange(const std::string& name) const {
  if (name.empty() || exchanges_.Has(name)) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("no exchange '", name, "' in vhost '/'"));
}

Node::Published Node::Publish(const ContentPtr& content, Sync sync) {
  using Verdict = Published::Verdict;
  const auto route = exchanges_.Route(content->exchange(), content->routing_key());
  if (!route) return {Verdict::kNoExchange, {}};
  if (refuses_publishes_ && sync == Sync::kConfirmed) return {Verdict::kRefused, {}};
  absl::Duration on_disk_at = Now();
  bool taken = false;
  bool refused = false;
  for (const std::string& name : *route) {
    const auto found = queues_.find(name);
    if (found == queues_.end()) continue;
    Queue& queue = *found->second;
    if (queue.going) {  // (6)
      if (OneIn(2)) continue;
      LetItGo(queue.going->cause, queue, {.content = content});
      taken = true;
    } else if (IsFull(queue) && queue.reject_publish) {
      refused = true;
    } else {
      on_disk_at = std::max(on_disk_at, Enqueue(queue, content, sync));
      taken = true;
    }
  }
  if (refused) return {Verdict::kRefused, {}};
  return {taken ? Verdict::kTaken : Verdict::kUnroutable, on_disk_at};
}

absl::Duration Node::OnDiskAt(const Queue& queue, Sync sync) {
  if (sync == Sync::kAtOnce) return Now();
  const absl::Duration longest =
      sync == Sync::kUnconfirmed ? options_.max_lazy_sync : options_.max_sync;
  return std::max(Now(), queue.leader_from) + Moment(longest);
}

absl::Duration Node::Enqueue(Queue& queue, ContentPtr content, Sync sync) {
  Stored stored{.content = std::move(content),
                .on_disk_at = OnDiskAt(queue, sync),
                .unconfirmed = sync == Sync::kUnconfirmed};
  stored.deadline = DeadlineOf(*stored.content, queue, WallClock());
  const absl::Duration on_disk_at = stored.on_disk_at;
  queue.ready.emplace(++queue.last_place, std::move(stored));
  DropOverflow(queue);
  Deliver(queue);
  Schedule(queue);
  return on_disk_at;
}

void Node::DropOverflow(Queue& queue) {
  while (queue.max_length && !queue.reject_publish &&
         static_cast<std::int64_t>(queue.ready.size()) > *queue.max_length) {
    auto head = queue.ready.extract(queue.ready.begin());
    DeadLetter(queue, head.key(), std::move(head.mapped()), "maxlen", LetGo::Cause::kOverflow);
  }
}

// Messages expire only at the head (10).
void Node::ExpireHeads(Queue& queue) {
  while (!queue.ready.empty() && !IsHeldUp(queue) &&
         queue.ready.begin()->second.deadline <= WallClock()) {
    auto head = queue.ready.extract(queue.ready.begin());
    if (queue.at_least_once && queue.dead_letter_exchange) {
      const Place place = head.key();
      queue.leaving.insert(std::move(head));
      DeadLetterAtLeastOnce(queue.name, place, "expired");
    } else {
      DeadLetter(queue, head.key(), std::move(head.mapped()), "expired", LetGo::Cause::kExpired);
    }
  }
}

// If the queue sets no dead-letter routing key, the message keeps its own (12).
ContentPtr Node::Redirected(const Queue& queue, const Content& content,
                            std::string_view reason) const {
  return DeadLettered(content, queue.name, reason, WallClock(), *queue.dead_letter_exchange,
                      queue.dead_letter_routing_key.value_or(content.routing_key()));
}

// A classic queue does not wait for a confirm (11): a message that no queue accepts is lost, and an
// accepted message is not on disk yet.
void Node::DeadLetter(Queue& queue, Place place, Stored stored, std::string_view reason,
                      LetGo::Cause without_exchange) {
  if (!queue.dead_letter_exchange) return LetItGo(without_exchange, queue, stored);
  const ContentPtr content = Redirected(queue, *stored.content, reason);
  const bool drops_cycles = version_ < BrokerVersion{4, 0};
  bool taken = false;
  std::vector<LetGo::Cause> missed;  // the reasons why queues do not accept it
  for (const std::string& name : exchanges_.Route(content->exchange(), content->routing_key())
                                     .value_or(std::vector<std::string>())) {
    Queue* const target = FindLive(name);
    if (target == nullptr) continue;
    if (drops_cycles && reason == "expired" && HasExpiredIn(*stored.content, name)) {  // (14)
      missed.push_back(LetGo::Cause::kCycle);
    } else if (!Leads(*target)) {  // (26)
      missed.push_back(LetGo::Cause::kNoLeader);
    } else if (IsFull(*target) && target->reject_publish) {
      missed.push_back(LetGo::Cause::kOverflow);
    } else {
      Enqueue(*target, content, Sync::kUnconfirmed);
      taken = true;
    }
  }
  if (!taken && missed.empty()) missed.push_back(LetGo::Cause::kNoRoute);
  for (const LetGo::Cause why : missed) LetItGo(why, queue, stored);
  if (!taken) return;
  Remember(queue, place, std::move(stored), Now() + Moment(options_.max_lazy_sync), /*moved=*/true);
}

// The message stays in its queue until the other queue has it on disk.
void Node::DeadLetterAtLeastOnce(const std::string& name, Place place, std::string_view reason) {
  Queue* const queue = FindLive(name);
  if (queue == nullptr || !queue->leaving.contains(place)) return;
  const Published published =
      Publish(Redirected(*queue, *queue->leaving.at(place).content, reason), Sync::kDeadLettered);
  const bool taken = published.verdict == Published::Verdict::kTaken;
  const absl::Duration next = taken ? published.on_disk_at - Now() : kDeadLetterAgain;
  mail_.After(next, [this, name, place, taken, reason, life = lives_] {
    Queue* const source = FindLive(name);
    if (!up_ || life != lives_ || source == nullptr) return;
    if (taken) {
      const bool held_up = IsHeldUp(*source);
      source->leaving.erase(place);
      if (held_up) OnDue(name);
    } else {
      DeadLetterAtLeastOnce(name, place, reason);
    }
  });
}

void Node::Remember(const Queue& queue, Place place, Stored stored, absl::Duration until,
                    bool moved) {
  while (!ghosts_.empty() && ghosts_.front().until <= Now()) ghosts_.pop_front();
  ghosts_.push_back({queue.name, place, std::move(stored), until, moved});
}

void Node::Requeue(Queue& queue, Place place, Stored stored, Return how) {
  --queue.unacked;
  stored.redelivered = true;
  if (queue.quorum()) {  // (41)
    const bool counts_apart = version_.CountsFailuresOnly();
    if (how == Return::kFailed || !counts_apart) ++stored.returns;
    if (counts_apart) ++stored.acquired;
  }
  if (queue.delivery_limit && stored.returns > *queue.delivery_limit) {
    DeadLetter(queue, place, std::move(stored), "delivery_limit", LetGo::Cause::kDeliveryLimit);
    return;
  }
  queue.ready.emplace(place, std::move(stored));
}

void Node::LetItGo(LetGo::Cause cause, const Queue& queue, const Stored& stored) {
  let_go_.push_back({cause, queue.name, std::string(stored.content->id())});
}

void Node::LetAllGo(LetGo::Cause cause, Queue& queue) {
  for (const auto& [place, stored] : std::exchange(queue.ready, {})) LetItGo(cause, queue, stored);
  for (const auto& [place, stored] : std::exchange(queue.leaving, {})) {
    LetItGo(cause, queue, stored);
  }
}

}  // namespace retryq::testing
