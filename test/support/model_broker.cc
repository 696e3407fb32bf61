#include "support/model_broker.h"

#include <algorithm>
#include <variant>

namespace retryq {
namespace {

absl::Duration MillisecondsOf(const DeclareParams& params, const char* argument) {
  const amqp::Value* value = params.queue.arguments.Find(argument);
  return absl::Milliseconds(std::get<std::int64_t>(value->variant));
}

}  // namespace

DeclareOk ModelBroker::Declare(const DeclareParams& params) {
  const absl::Duration now = time_.SinceBoot();
  const auto [found, is_new] = queues_.try_emplace(
      params.queue.name, Queue{.ttl = MillisecondsOf(params, "x-message-ttl"),
                               .expires = MillisecondsOf(params, "x-expires"),
                               .end = now + MillisecondsOf(params, "x-expires")});
  Queue& queue = found->second;
  Settle(queue);
  const auto waiting = static_cast<std::uint32_t>(queue.messages.size());
  const bool at_its_end = now >= queue.end - kEdge && now < queue.end + kEdge;
  if (at_its_end && !queue.has_deceived && random_.OneIn(2)) {
    queue.has_deceived = true;
    ++deceptions_;
    return {.message_count = waiting};
  }
  if (queue.has_deceived) Bury(queue);
  if (queue.gone) {
    queue.has_deceived = false;
    queue.gone = false;
  }
  queue.end = now + queue.expires;
  for (Message& message : queue.messages) message.counted = true;
  return {.message_count = static_cast<std::uint32_t>(queue.messages.size())};
}

bool ModelBroker::Publish(const std::string& name, MessageId message) {
  const auto found = queues_.find(name);
  if (found == queues_.end()) return false;
  Queue& queue = found->second;
  Settle(queue);
  if (queue.gone) {
    if (time_.SinceBoot() >= queue.end + kEdge || random_.OneIn(2)) return false;
    lost_.insert(message);
    return true;
  }
  queue.messages.push_back({.id = message, .deadline = time_.Now() + queue.ttl});
  return true;
}

void ModelBroker::StepWallClock(absl::Duration by) {
  Settle();
  for (auto& [name, queue] : queues_) {
    for (Message& message : queue.messages) message.set_back -= by;
  }
  time_.StepWallClock(by);
}

absl::Duration ModelBroker::ToleratedStep(absl::Duration limit, bool but_counted) {
  Settle();
  absl::Duration tolerated = limit;
  for (const auto& [name, queue] : queues_) {
    for (const Message& message : queue.messages) {
      if (but_counted && message.counted) continue;
      tolerated = std::min(tolerated, limit - message.set_back);
    }
  }
  return std::max(tolerated, absl::ZeroDuration());
}

std::optional<absl::Duration> ModelBroker::EndOf(const std::string& name) const {
  const auto found = queues_.find(name);
  if (found == queues_.end()) return std::nullopt;
  return found->second.end;
}

void ModelBroker::Settle() {
  for (auto& [name, queue] : queues_) Settle(queue);
}

void ModelBroker::Settle(Queue& queue) {
  const absl::Duration now = time_.SinceBoot();
  while (!queue.messages.empty()) {
    const absl::Duration leaves = now + (queue.messages.front().deadline - time_.Now());
    if (leaves > now || leaves >= queue.end) break;
    queue.messages.pop_front();
  }
  if (now >= queue.end) Bury(queue);
}

void ModelBroker::Bury(Queue& queue) {
  for (const Message& message : queue.messages) lost_.insert(message.id);
  queue.messages.clear();
  queue.gone = true;
}

}  // namespace retryq
