#include "cli/plan/schedule.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "cli/text/duration.h"
#include "cli/text/many_quorum_queues.h"
#include "retryq/amqp/table.h"
#include "retryq/backoff.h"
#include "retryq/broker.h"
#include "retryq/delay_grid.h"
#include "retryq/delay_queue_declaration.h"

namespace retryq::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

// The most rows of a schedule, which may be endless.
constexpr std::size_t kMostSteps = 1000;

// Stands for an unknown work queue in the names of delay queues.
constexpr char kAnyQueue[] = "QUEUE";

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

  void AddQueue(const std::string& name, OrderedJson arguments) {
    queues_.push_back({{"name", name},
                       {"vhost", options_.vhost},
                       {"durable", true},
                       {"auto_delete", false},
                       {"arguments", std::move(arguments)}});
  }

  std::string Text() const {
    const OrderedJson all = {
        {"queues", queues_}, {"exchanges", exchanges_}, {"bindings", bindings_}};
    return all.dump(2, ' ', false, OrderedJson::error_handler_t::replace).append("\n");
  }

 private:
  const PlanOptions& options_;
  OrderedJson queues_ = OrderedJson::array();
  OrderedJson exchanges_ = OrderedJson::array();
  OrderedJson bindings_ = OrderedJson::array();
};

}  // namespace

Schedule MakeSchedule(const RetryOptions& retry) {
  Schedule schedule;
  schedule.is_random =
      retry.backoff.jitter > 0 || retry.backoff.jitter_kind == JitterKind::kDecorrelated;
  std::vector<Schedule::Step>& steps = schedule.steps;
  std::set<absl::Duration> delays;
  absl::Duration elapsed = absl::ZeroDuration();
  const bool unbounded = retry.max_attempts == 0 && retry.max_age == absl::ZeroDuration();
  for (std::uint64_t failures = 0;; ++failures) {
    if (retry.max_attempts != 0 && failures + 1 >= retry.max_attempts) break;
    const auto [shortest, delay] = BackoffRange(retry.backoff, failures);
    if (retry.max_age > absl::ZeroDuration() && elapsed + delay > retry.max_age) break;
    const bool repeats = !steps.empty() && steps.back().delay == delay &&
                         BackoffRange(retry.backoff, failures + kMostSteps).longest == delay;
    if ((unbounded && repeats) || steps.size() == kMostSteps) {
      schedule.ends = false;
      break;
    }
    elapsed += delay;
    steps.push_back(
        {.attempt = failures + 1, .delay = delay, .elapsed = elapsed, .shortest_delay = shortest});
    delays.insert(delay);
  }
  schedule.delays.assign(delays.begin(), delays.end());
  return schedule;
}

std::string DelayText(const Schedule::Step& step) {
  if (step.shortest_delay == step.delay) return DurationText(step.delay);
  return absl::StrCat(DurationText(step.shortest_delay), "..", DurationText(step.delay));
}

PlannedQueues::PlannedQueues(const Schedule& schedule, const PlanOptions& options)
    : options_(options), all_(DelayQueueTtls(options.retry, options.delay_queues)), used_(all_) {
  const std::vector<absl::Duration>& delays = schedule.delays;
  several_ = !std::includes(all_.begin(), all_.end(), delays.begin(), delays.end());
  if (options.any_delay) return;
  if (!several_ && !schedule.is_random) {
    used_ = delays;
    return;
  }
  const absl::Duration longest = delays.empty() ? absl::ZeroDuration() : delays.back();
  std::erase_if(used_, [longest](absl::Duration ttl) { return ttl > longest; });
}

absl::Duration PlannedQueues::First(absl::Duration delay) const {
  return *std::prev(std::upper_bound(all_.begin(), all_.end(), delay));
}

std::size_t PlannedQueues::Further(absl::Duration delay) const {
  std::size_t further = 0;
  for (absl::Duration left = delay - First(delay); left >= DelayGrid::kShortestHop;
       left -= First(left)) {
    ++further;
  }
  return further;
}

std::string PlannedQueues::NameFor(absl::Duration delay) const {
  const DelayTarget target{.work_queue = options_.queue.empty() ? kAnyQueue : options_.queue};
  std::string name = DelayQueueDeclaration(First(delay), target, options_.delay_queues).queue.name;
  if (rotate()) name += "-q3";
  return name;
}

absl::Duration PlannedQueues::LifetimeFor(absl::Duration delay) const {
  return QueueLifetime(First(delay), options_.delay_queues);
}

bool PlannedQueues::belong_to_one() const {
  return options_.delay_queues.queue_type == QueueType::kQuorum && !options_.delay_queues.share;
}

bool PlannedQueues::rotate() const {
  return options_.delay_queues.queue_type == QueueType::kQuorum && options_.delay_queues.declare;
}

std::int64_t PlannedQueues::most_quorum_queues() const {
  return static_cast<std::int64_t>(used_.size()) * QuorumQueuesOfADelay(options_.delay_queues);
}

// With a named work exchange, messages that did not come through it return through the queue
// `.direct`.
std::string Definitions(const std::vector<absl::Duration>& delays, const PlanOptions& options) {
  DefinitionsWriter writer(options);
  for (const absl::Duration delay : delays) {
    writer.AddDelayQueue(
        delay, {.dead_letter_exchange = options.work_exchange, .work_queue = options.queue});
    if (options.work_exchange.empty()) continue;
    writer.AddDelayQueue(delay,
                         {.dead_letter_exchange = "", .direct = true, .work_queue = options.queue});
  }
  if (options.work_queue) {
    const bool quorum = *options.work_queue == QueueType::kQuorum;
    writer.AddQueue(options.queue, {{"x-queue-type", quorum ? "quorum" : "classic"}});
  }
  if (!options.parked_queue.empty()) {
    const bool quorum = options.delay_queues.queue_type == QueueType::kQuorum;
    OrderedJson arguments = {{"x-queue-type", quorum ? "quorum" : "classic"}};
    if (quorum) arguments["x-delivery-limit"] = kNoDeliveryLimit;
    writer.AddQueue(options.parked_queue, std::move(arguments));
  }
  return writer.Text();
}

}  // namespace retryq::cli
