#include "cli/plan/definitions.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "retryq/amqp/table.h"
#include "retryq/broker.h"
#include "retryq/delay_queue_declaration.h"

namespace retryq::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

// RabbitMQ 4 drops messages that a quorum queue has delivered 20 times, and 3.10 has no value for
// "unlimited". This is practically unlimited on both.
constexpr std::int64_t kNoDeliveryLimit = 1'000'000'000;

OrderedJson ArgumentsJson(const amqp::Table& arguments) {
  OrderedJson json = OrderedJson::object();
  for (const auto& [name, value] : arguments.fields()) {
    if (const auto* number = std::get_if<std::int64_t>(&value.variant)) {
      json[name] = *number;
    } else {
      json[name] = std::get<std::string>(value.variant);
    }
  }
  return json;
}

class DefinitionsWriter {
 public:
  explicit DefinitionsWriter(const PlanOptions& options) : options_(options) {}

  void AddDelayQueue(absl::Duration delay, const DelayTarget& target) {
    DelayQueueOptions undeclared = options_.delay_queues;
    undeclared.declare = false;
    const DeclareParams params = DelayQueueDeclaration(delay, target, undeclared);
    AddQueue(params.queue.name, ArgumentsJson(params.queue.arguments));
    exchanges_.push_back({{"name", params.exchange->name},
                          {"vhost", options_.vhost},
                          {"type", params.exchange->type},
                          {"durable", params.exchange->durable},
                          {"auto_delete", params.exchange->auto_delete},
                          {"internal", false},
                          {"arguments", OrderedJson::object()}});
    bindings_.push_back({{"source", params.exchange->name},
                         {"vhost", options_.vhost},
                         {"destination", params.queue.name},
                         {"destination_type", "queue"},
                         {"routing_key", ""},
                         {"arguments", OrderedJson::object()}});
  }

  void AddParkedQueue() {
    OrderedJson arguments = {{"x-queue-type", "classic"}};
    if (options_.delay_queues.queue_type == QueueType::kQuorum) {
      arguments = {{"x-queue-type", "quorum"}, {"x-delivery-limit", kNoDeliveryLimit}};
    }
    AddQueue(options_.parked_queue, std::move(arguments));
  }

  void AddWorkQueue(QueueType type) {
    AddQueue(options_.queue, {{"x-queue-type", type == QueueType::kQuorum ? "quorum" : "classic"}});
  }

  std::string Text() const {
    const OrderedJson all = {
        {"queues", queues_}, {"exchanges", exchanges_}, {"bindings", bindings_}};
    return all.dump(2, ' ', false, OrderedJson::error_handler_t::replace).append("\n");
  }

 private:
  void AddQueue(const std::string& name, OrderedJson arguments) {
    queues_.push_back({{"name", name},
                       {"vhost", options_.vhost},
                       {"durable", true},
                       {"auto_delete", false},
                       {"arguments", std::move(arguments)}});
  }

  const PlanOptions& options_;
  OrderedJson queues_ = OrderedJson::array();
  OrderedJson exchanges_ = OrderedJson::array();
  OrderedJson bindings_ = OrderedJson::array();
};

}  // namespace

// With a named work exchange, messages that did not come through it return through the queue
// `.direct`.
std::string Definitions(const std::vector<absl::Duration>& delays, const PlanOptions& options) {
  DefinitionsWriter writer(options);
  for (const absl::Duration delay : delays) {
    writer.AddDelayQueue(
        delay, {.dead_letter_exchange = options.work_exchange, .work_queue = options.queue});
    if (!options.work_exchange.empty()) {
      writer.AddDelayQueue(
          delay, {.dead_letter_exchange = "", .direct = true, .work_queue = options.queue});
    }
  }
  if (options.work_queue) writer.AddWorkQueue(*options.work_queue);
  if (!options.parked_queue.empty()) writer.AddParkedQueue();
  return writer.Text();
}

}  // namespace retryq::cli
