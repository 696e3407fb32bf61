// The consumers of a node: deliveries, acks, requeues, and the consumer timeout.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "testing/node.h"

namespace retryq::testing {
namespace {

// How long after an ack a crash can undo it.
constexpr absl::Duration kAckSync = absl::Milliseconds(200);

// How long a quorum queue continues to send to a consumer that is cancelled (61).
constexpr absl::Duration kCancelling = absl::Milliseconds(5);

}  // namespace

// Whether another consumer of the queue prevents this one, which may itself be exclusive.
bool Node::HasExclusive(const Queue& queue, bool exclusive) const {
  return std::any_of(queue.consumers.begin(), queue.consumers.end(),
                     [&](ChannelId id) { return exclusive || consumers_.at(id).exclusive; });
}

absl::Status Node::Consume(ChannelId id, std::shared_ptr<Channel> channel,
                           const ConsumeParams& params) {
  const std::string& name = params.queue;
  Queue* const queue = FindLive(name);
  if (queue == nullptr) {
    return absl::NotFoundError(absl::StrCat("no queue '", name, "' in vhost '/'"));
  }
  if (!queue->quorum() && HasExclusive(*queue, params.exclusive)) {
    return absl::PermissionDeniedError(absl::StrCat("consuming queue '", name,
                                                    "': ACCESS_REFUSED - queue '", name,
                                                    "' in vhost '/' in exclusive use"));
  }
  absl::Duration timeout = options_.consumer_timeout;
  if (version_.CountsFailuresOnly()) {  // (42)
    timeout = ConsumerTimeoutIn(params.arguments).value_or(timeout);
    if (!queue->quorum()) timeout = absl::InfiniteDuration();
  }
  consumers_.emplace(
      id, Consumer{std::move(channel), name, params.prefetch, timeout, params.exclusive});
  queue->consumers.push_back(id);
  Schedule(*queue);
  Deliver(*queue);
  return absl::OkStatus();
}

void Node::StopConsuming(ChannelId id, std::function<void()> stopped) {
  FinishStop(id);
  const auto found = consumers_.find(id);
  if (found == consumers_.end()) return stopped();
  found->second.stopped = std::move(stopped);
  const Queue* const queue = FindLive(found->second.queue);
  if (queue == nullptr || !queue->quorum()) return FinishStop(id);
  mail_.After(Moment(kCancelling), [this, id] { FinishStop(id); });
}

// (61) The channel processes this before any later request.
void Node::FinishStop(ChannelId id) {
  const auto found = consumers_.find(id);
  if (found == consumers_.end() || found->second.stopped == nullptr) return;
  Consumer& consumer = found->second;
  const std::function<void()> stopped = std::exchange(consumer.stopped, nullptr);
  consumer.consuming = false;
  if (Queue* const queue = FindLive(consumer.queue)) {
    const bool was_there = std::erase(queue->consumers, id) > 0;
    for (const std::uint64_t tag : std::exchange(consumer.withheld, {})) {
      auto unacked = consumer.unacked.extract(tag);
      if (unacked.empty()) continue;
      Requeue(*queue, unacked.mapped().place, std::move(unacked.mapped().stored),
              Return::kGivenBack);
    }
    if (was_there && !queue->consumed()) Touch(*queue);
    Deliver(*queue);
    Schedule(*queue);
  }
  stopped();
}

void Node::ResumeConsuming(ChannelId id, std::uint16_t prefetch) {
  FinishStop(id);
  const auto found = consumers_.find(id);
  if (found == consumers_.end() || found->second.consuming) return;
  Queue* const queue = FindLive(found->second.queue);
  if (queue == nullptr) return found->second.channel->Cancelled();
  found->second.consuming = true;
  found->second.prefetch = prefetch;
  found->second.before = found->second.last_tag;
  queue->consumers.push_back(id);
  Schedule(*queue);
  Deliver(*queue);
}

void Node::Deliver(Queue& queue) {
  if (!up_ || !Leads(queue)) return;
  for (std::size_t busy = 0; !queue.ready.empty() && busy < queue.consumers.size();) {
    const ChannelId id = queue.consumers.front();
    std::rotate(queue.consumers.begin(), queue.consumers.begin() + 1, queue.consumers.end());
    Consumer& consumer = consumers_.at(id);
    if (!consumer.HasRoom()) {
      ++busy;
      continue;
    }
    busy = 0;
    auto head = queue.ready.extract(queue.ready.begin());
    ContentPtr content = head.mapped().content;
    if (head.mapped().returns > 0 || head.mapped().acquired > 0) {
      content = WithDeliveryCounts(*content, head.mapped().returns, head.mapped().acquired);
    }
    const std::uint64_t tag = ++consumer.last_tag;
    const bool redelivered = head.mapped().redelivered;
    ++queue.unacked;
    consumer.unacked.emplace(tag, Unacked{head.key(), std::move(head.mapped())});
    if (consumer.timeout < absl::InfiniteDuration()) WatchTimeout(id, tag, consumer.timeout);
    if (consumer.stopped != nullptr) {
      consumer.withheld.push_back(tag);
    } else {
      consumer.channel->Deliver(tag, redelivered, std::move(content));
    }
  }
}

void Node::Ack(ChannelId id, std::uint64_t tag) {
  FinishStop(id);
  const auto found = consumers_.find(id);
  if (found == consumers_.end()) return;
  auto unacked = found->second.unacked.extract(tag);
  Queue* const queue = FindLive(found->second.queue);
  if (unacked.empty() || queue == nullptr) return;
  --queue->unacked;
  Remember(*queue, unacked.mapped().place, std::move(unacked.mapped().stored),
           Now() + Moment(kAckSync), /*moved=*/false);
  Deliver(*queue);
}

void Node::Reject(ChannelId id, std::uint64_t tag, bool requeue) {
  FinishStop(id);
  const auto found = consumers_.find(id);
  if (found == consumers_.end()) return;
  auto unacked = found->second.unacked.extract(tag);
  Queue* const queue = FindLive(found->second.queue);
  if (unacked.empty() || queue == nullptr) return;
  const Place place = unacked.mapped().place;
  if (requeue) {
    Requeue(*queue, place, std::move(unacked.mapped().stored), Return::kGivenBack);
  } else {
    --queue->unacked;
    DeadLetter(*queue, place, std::move(unacked.mapped().stored), "rejected",
               LetGo::Cause::kRejected);
  }
  Deliver(*queue);
  Schedule(*queue);
}

void Node::CloseChannel(ChannelId id, bool given_back) {
  FinishStop(id);
  auto closed = consumers_.extract(id);
  if (closed.empty()) return;
  Leave(closed.mapped(), id, given_back ? Return::kGivenBack : Return::kFailed);
}

void Node::WatchTimeout(ChannelId id, std::uint64_t tag, absl::Duration timeout) {
  mail_.After(timeout, [this, id, tag, life = lives_] {
    if (up_ && life == lives_) OnTimeout(id, tag);
  });
}

// (42) Other deliveries to the consumer stay unacked until it is gone.
void Node::OnTimeout(ChannelId id, std::uint64_t tag) {
  FinishStop(id);
  const auto found = consumers_.find(id);
  if (found == consumers_.end() || !found->second.unacked.contains(tag)) return;
  Consumer& consumer = found->second;
  Queue* const queue = FindLive(consumer.queue);
  if (!version_.CountsFailuresOnly()) {
    const std::shared_ptr<Channel> channel = consumer.channel;
    CloseChannel(id);
    channel->Closed(
        absl::FailedPreconditionError("PRECONDITION_FAILED - delivery acknowledgement timed out"));
    return;
  }
  auto unacked = consumer.unacked.extract(tag);
  if (queue == nullptr) return;
  const bool was_consuming = std::exchange(consumer.consuming, false);
  std::erase(queue->consumers, id);
  Requeue(*queue, unacked.mapped().place, std::move(unacked.mapped().stored), Return::kGivenBack);
  if (was_consuming) consumer.channel->Cancelled();
  Deliver(*queue);
  Schedule(*queue);
}

void Node::Leave(Consumer& consumer, ChannelId id, Return how) {
  Queue* const queue = FindLive(consumer.queue);
  if (queue == nullptr) return;
  const bool consumed = std::erase(queue->consumers, id) > 0;
  for (auto& [tag, unacked] : consumer.unacked) {
    Requeue(*queue, unacked.place, std::move(unacked.stored), how);
  }
  if (consumed && !queue->consumed()) Touch(*queue);
  Deliver(*queue);
  Schedule(*queue);
}

}  // namespace retryq::testing
