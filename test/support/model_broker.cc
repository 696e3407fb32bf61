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

void ModelBroker::GoDown() {
  Settle();
  up_ = false;
}

void ModelBroker::ComeBack() {
  for (auto& [name, queue] : queues_) {
    Settle(queue);  // first removes everything that has expired
    if (restarts_renew_ && !queue.gone) queue.end = time_.SinceBoot() + queue.expires;
  }
  up_ = true;
  Settle();
}

absl::StatusOr<DeclareOk> ModelBroker::Declare(const DeclareParams& params) {
  const auto found = queues_.find(params.queue.name);
  if (found == queues_.end()) {
    queues_.emplace(params.queue.name, NewQueue(params));
    return DeclareOk{};
  }
  Queue& queue = found->second;
  Settle(queue);
  return queue.quorum ? DeclareQuorum(queue, params) : DeclareClassic(queue);
}

DeclareOk ModelBroker::DeclareClassic(Queue& queue) {
  const absl::Duration now = time_.SinceBoot();
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

absl::StatusOr<DeclareOk> ModelBroker::DeclareQuorum(Queue& queue, const DeclareParams& params) {
  if (queue.gone) {
    queue = NewQueue(params);
  } else if (queue.arguments != params.queue.arguments) {
    return absl::FailedPreconditionError("inequivalent arg 'x-expires'");
  }
  return DeclareOk{};
}

ModelBroker::Queue ModelBroker::NewQueue(const DeclareParams& params) const {
  const amqp::Value* const type = params.queue.arguments.Find("x-queue-type");
  const absl::Duration expires = MillisecondsOf(params, "x-expires");
  return {.arguments = params.queue.arguments,
          .quorum = type != nullptr && *type == amqp::Value("quorum"),
          .ttl = MillisecondsOf(params, "x-message-ttl"),
          .expires = expires,
          .end = time_.SinceBoot() + expires};
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

absl::Duration ModelBroker::NextLoss() {
  Settle();
  absl::Duration next = absl::InfiniteDuration();
  for (const auto& [name, queue] : queues_) {
    if (!queue.messages.empty()) next = std::min(next, queue.end);
  }
  return next;
}

void ModelBroker::Settle() {
  if (!up_) return;
  for (auto& [name, queue] : queues_) Settle(queue);
}

void ModelBroker::Settle(Queue& queue) {
  const absl::Duration now = time_.SinceBoot();
  while (up_ && !queue.messages.empty()) {
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
