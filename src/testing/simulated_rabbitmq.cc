#include "retryq/testing/simulated_rabbitmq.h"

#include <array>
#include <utility>

#include "retryq/broker/broker.h"
#include "testing/node.h"
#include "testing/simulated_content.h"

namespace retryq::testing {

std::string_view NameOf(LetGo::Cause cause) {
  // In the order of LetGo::Cause.
  static constexpr std::array<std::string_view, 13> kNames = {
      "its queue expired",
      "its queue was deleted",
      "its queue was purged",
      "dead-lettered to nowhere",
      "dead-lettered to a queue without leader",
      "dead-lettered right before a crash",
      "its queue was made right before a crash",
      "transient, at a restart",
      "dead-lettered in a cycle",
      "expired, with no dead-letter exchange",
      "rejected, with no dead-letter exchange",
      "returned too often",
      "its queue was full",
  };
  static_assert(kNames.size() == static_cast<std::size_t>(LetGo::Cause::kOverflow) + 1);
  return kNames.at(static_cast<std::size_t>(cause));
}

SimulatedRabbitMq::SimulatedRabbitMq(SimulatedTime& time, Random& random)
    : SimulatedRabbitMq(time, random, Options()) {}
SimulatedRabbitMq::SimulatedRabbitMq(SimulatedTime& time, Random& random, Options options)
    : node_(std::make_shared<Node>(time, random, std::move(options))) {}
SimulatedRabbitMq::~SimulatedRabbitMq() = default;

void SimulatedRabbitMq::DeclareQueue(std::string_view name, const amqp::Table& arguments) {
  if (node_->Find(std::string(name)) != nullptr) return;
  // An earlier queue of this name may be in deletion, or about to be deleted.
  for (int i = 0; i < 3 && node_->Find(std::string(name)) == nullptr; ++i) {
    node_->DeclareQueue({.name = std::string(name), .arguments = arguments}).IgnoreError();
  }
}

void SimulatedRabbitMq::DeclareExchange(std::string_view name, std::string_view type) {
  node_->exchanges().Declare(name, type, /*auto_delete=*/false);
}

void SimulatedRabbitMq::Bind(std::string_view exchange, std::string_view queue,
                             std::string_view routing_key) {
  node_->exchanges().Bind(exchange, queue, routing_key);
}

bool SimulatedRabbitMq::Publish(std::string_view exchange, std::string_view routing_key,
                                amqp::Properties properties, std::string_view body) {
  if (!properties.delivery_mode) properties.delivery_mode = 2;
  const auto content = std::make_shared<const Content>(exchange, routing_key, properties, body);
  return node_->Publish(content, Node::Sync::kAtOnce).verdict == Node::Published::Verdict::kTaken;
}

std::size_t SimulatedRabbitMq::DeleteQueue(std::string_view name) {
  return node_->DeleteQueue(std::string(name));
}
void SimulatedRabbitMq::DeleteExchange(std::string_view name) { node_->exchanges().Delete(name); }
std::size_t SimulatedRabbitMq::Purge(std::string_view name) {
  return node_->Purge(std::string(name));
}
void SimulatedRabbitMq::Crash() { node_->Crash(); }
void SimulatedRabbitMq::ShutDown() { node_->ShutDown(); }
void SimulatedRabbitMq::Start() { node_->Start(); }
void SimulatedRabbitMq::SetAlarm(bool alarm) { node_->SetAlarm(alarm); }
void SimulatedRabbitMq::RefuseDeclares(bool refuse) { node_->RefuseDeclares(refuse); }
void SimulatedRabbitMq::RefusePublishes(bool refuse) { node_->RefusePublishes(refuse); }
void SimulatedRabbitMq::StepClock(Duration by) { node_->StepClock(by); }

bool SimulatedRabbitMq::up() const { return node_->up(); }
bool SimulatedRabbitMq::HasQueue(std::string_view name) const {
  return node_->Find(std::string(name)) != nullptr;
}
bool SimulatedRabbitMq::HasExchange(std::string_view name) const {
  return node_->exchanges().Has(name);
}
std::size_t SimulatedRabbitMq::Count(std::string_view queue) const {
  return node_->MessagesOf(std::string(queue)).size();
}

std::vector<amqp::MessagePtr> SimulatedRabbitMq::Messages(std::string_view queue) const {
  std::vector<amqp::MessagePtr> messages;
  for (const ContentPtr& content : node_->MessagesOf(std::string(queue))) {
    messages.push_back(MakeDelivery(content, {}, /*redelivered=*/false));
  }
  return messages;
}

std::vector<std::string> SimulatedRabbitMq::queues() const { return node_->queues(); }

std::optional<amqp::Value> SimulatedRabbitMq::Argument(std::string_view queue,
                                                       std::string_view name) const {
  const Queue* const found = node_->Find(std::string(queue));
  const amqp::Value* value = found == nullptr ? nullptr : found->arguments.Find(name);
  if (value == nullptr) return std::nullopt;
  return *value;
}

const std::vector<LetGo>& SimulatedRabbitMq::let_go() const { return node_->let_go(); }
const std::vector<std::string>& SimulatedRabbitMq::brought_back() const {
  return node_->brought_back();
}

}  // namespace retryq::testing
