#include "cli/plan/plan_command.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/flags/shared_flags.h"
#include "cli/text/duration.h"
#include "cli/text/io.h"
#include "cli/text/json_line.h"
#include "retryq/amqp/table.h"
#include "retryq/backoff.h"
#include "retryq/broker/broker.h"
#include "retryq/broker/delay_grid.h"
#include "retryq/broker/delay_queue_declaration.h"
#include "retryq/client.h"

namespace retryq::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr HelpText kPlanHelp = {
    .description =
        "Shows the schedule of a message that always fails: each delay, its delay queue, how long\n"
        "that queue exists without use (x-expires), and the time since the first failure. With\n"
        "--simulate: the effect of an outage on all messages. Connects to no broker.",
    .usage = "retryq plan [OPTIONS]",
    .footer =
        R"(attempt is the number of failures so far: RETRYQ_ATTEMPT of the call that follows the delay. The
plan does not contain delays that COMMAND sets (retry-after). With --jitter each delay is random
within its range; shorter delays pass through several of the queues that are counted.

--simulate simulates an outage of the downstream service that the handlers call, with the policy of
the other flags. How to read the result: share/doc/retryq/examples/planning.md. Keys:
  outage=DURATION    Let every call fail for this time. Required
  rate=NUMBER/s      Let this many messages arrive per second (/m: minute, /h: hour). rate, burst
                     or both are required
  burst=NUMBER       Let this many messages arrive at the start of the outage
  capacity=NUMBER/s  Let calls above this rate fail at once. Default: unlimited
  speed=NUMBER/s     With --breaker: limit the calls of the workers. Default: twice the rate, at
                     least 100/s

Workers that may not declare anything need queues that were created by another user:
  retryq plan --definitions --queue orders > retry.json
  rabbitmqctl import_definitions retry.json
  retryq work --queue orders --no-declare -- ./handle-order
Both commands need the same flags for delays. These queues never expire.

Example: retries after 1s, 10s, 100s, 500s, 500s
  retryq plan --base 1s --factor 10 --max 500s --max-attempts 6
Example: an outage of ten minutes, with full jitter
  retryq plan --jitter full --simulate outage=10m,rate=200/s,capacity=500/s
Example: the effect of a circuit breaker
  retryq plan --jitter full --simulate outage=10m,rate=200/s,capacity=500/s --breaker
)",
};

void AddPlanFlags(FlagParser& parser, PlanOptions* options) {
  parser.Group("Outage");
  const auto simulate = std::make_shared<std::optional<std::string>>();
  parser.Add("--simulate", "KEY=VALUE,...", simulate.get(),
             "Simulate an outage, such as outage=10m,rate=200/s,capacity=500/s: the load on the "
             "downstream, waiting and parked messages, the recovery");
  parser.Resolve([simulate, options](FlagReader& reader) {
    if (*simulate) options->outage = ReadSimulate(**simulate, reader);
  });
  AddBreakerFlags(parser,
                  "With --simulate: simulate the same outage again with the circuit breaker of "
                  "retryq work --breaker, and compare",
                  &options->breaker);

  parser.Group("Output");
  parser.Add("--json", &options->json,
             "Print one JSON object: {\"attempts\":[{\"attempt\",\"delay_ms\",\"queue\", "
             "\"expires_ms\",\"elapsed_ms\"},...],\"delay_queues\":N}; also \"delay_min_ms\" with "
             "--jitter, and \"simulation\" with --simulate");
  parser.Add("--svg", "FILE", &options->svg_file,
             "With --simulate: write an SVG image of the outage");
  parser.Add("--definitions", &options->definitions,
             "Print the queues, exchanges and bindings as a file for RabbitMQ to import, without "
             "x-expires, for workers with --no-declare");
  parser.Add("--any-delay", &options->any_delay,
             "With --definitions: add the queues for delays that COMMAND or retryq send sets. They "
             "are always there with --jitter");
  parser.AddName("--queue", "QUEUE", &options->queue,
                 "Set the work queue, which is part of the names of quorum delay queues. With "
                 "--definitions: add its parked queue");
  parser.Add("--parked", "QUEUE", &options->parked_queue,
             "With --definitions: set the parked queue. Default: QUEUE.parked");
  parser.Add("--work-queue", "classic|quorum", &options->work_queue,
             "With --definitions: add QUEUE itself, durable, of this type");
  parser.Add("--work-exchange", "EXCHANGE", &options->work_exchange,
             "With --definitions: let retries return through this exchange. Default: directly to "
             "their queue");
}

void CheckPlanFlags(PlanOptions* options, FlagReader& reader) {
  for (const char* flag : {"--breaker", "--svg"}) {
    reader.RequireFor(flag, reader.given("--simulate"), "--simulate");
  }
  for (const char* flag : {"--any-delay", "--parked", "--work-queue", "--work-exchange"}) {
    reader.RequireFor(flag, options->definitions, "--definitions");
  }
  if (options->definitions) {
    for (const char* flag : {"--json", "--simulate"}) {
      reader.RefuseTogether(flag, "--definitions");
    }
    const bool quorum = options->delay_queues.queue_type == QueueType::kQuorum;
    if (quorum && !options->delay_queues.share) {
      reader.Require("--queue",
                     "quorum delay queues belong to one work queue; name it, or add "
                     "--share-delay-queues");
    } else {
      reader.RequireFor("--work-queue", reader.given("--queue"), "--queue");
    }
    const bool has_queue = !options->queue.empty();
    if (has_queue && options->parked_queue.empty()) {
      options->parked_queue = options->queue + ".parked";
    }
  }
  if (reader.status().ok()) {
    reader.Complain(ValidateLease(LongestDelay(options->retry.backoff), options->delay_queues));
  }
}

// The schedule of a message that always fails.
struct Schedule {
  struct Step {
    std::uint64_t attempt;          // failures so far: RETRYQ_ATTEMPT of the next call
    absl::Duration delay;           // until that call, at most
    absl::Duration elapsed;         // from the first failure to that call
    absl::Duration shortest_delay;  // the least; `delay` without a random part

    // The length or range of the delay: "1s", "500ms..1s".
    std::string text() const {
      if (shortest_delay == delay) return DurationText(delay);
      return absl::StrCat(DurationText(shortest_delay), "..", DurationText(delay));
    }
  };
  std::vector<Step> steps;
  bool ends = true;                    // otherwise repeats the last step forever
  bool is_random = false;              // delays have a random part
  std::vector<absl::Duration> delays;  // distinct longest delays, ascending
};

// The most rows of a schedule, which may be endless.
constexpr std::size_t kMostSteps = 1000;

// With a random part or a maximum age, the schedule contains the longest delays.
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

// Stands for an unknown work queue in the names of delay queues.
constexpr char kAnyQueue[] = "QUEUE";

// The delay queues that a client with a policy may use, and those that a schedule uses.
class PlannedQueues {
 public:
  // The options must outlive it.
  PlannedQueues(const Schedule& schedule, const PlanOptions& options)
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

  // The TTLs in use: for delays through several queues, all that are short enough.
  const std::vector<absl::Duration>& used() const { return used_; }
  // Whether some delays pass through several queues.
  bool several() const { return several_; }

  // Of the first queue of a delay: its name and its x-expires.
  std::string NameFor(absl::Duration delay) const {
    const DelayTarget target{.work_queue = options_.queue.empty() ? kAnyQueue : options_.queue};
    std::string name =
        DelayQueueDeclaration(First(delay), target, options_.delay_queues).queue.name;
    if (rotate()) name += "-q3";
    return name;
  }
  absl::Duration LifetimeFor(absl::Duration delay) const {
    return QueueLifetime(First(delay), options_.delay_queues);
  }

  // The number of further queues, if each queue is the longest one that fits.
  std::size_t Further(absl::Duration delay) const {
    std::size_t further = 0;
    for (absl::Duration left = delay - First(delay); left >= DelayGrid::kShortestHop;
         left -= First(left)) {
      ++further;
    }
    return further;
  }

  // Whether each work queue has its own delay queues.
  bool belong_to_one() const { return is_quorum() && !options_.delay_queues.share; }
  // Whether names rotate, with up to three queues of a delay at a time.
  bool rotate() const { return is_quorum() && options_.delay_queues.declare; }
  // The number of quorum queues at a time for one work queue; 0 if they are classic.
  std::int64_t most_quorum_queues() const {
    return static_cast<std::int64_t>(used_.size()) * QuorumQueuesOfADelay(options_.delay_queues);
  }

 private:
  // The TTL of the first queue of a delay.
  absl::Duration First(absl::Duration delay) const {
    return *std::prev(std::upper_bound(all_.begin(), all_.end(), delay));
  }
  bool is_quorum() const { return options_.delay_queues.queue_type == QueueType::kQuorum; }

  const PlanOptions& options_;
  const std::vector<absl::Duration> all_;
  std::vector<absl::Duration> used_;
  bool several_ = false;
};

std::string Count(std::size_t count, const char* what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

// A warning if so many queues cost a broker too much; otherwise empty.
std::string WarningOf(const PlannedQueues& queues, const PlanOptions& options) {
  if (queues.most_quorum_queues() <= kManyQuorumQueues) return "";
  return absl::StrCat("up to ", queues.most_quorum_queues(), " quorum queues",
                      queues.belong_to_one() ? " for each work queue" : "", ": ",
                      ManyQuorumQueuesCost(),
                      "; remedy: ", FewerQuorumQueues(options.delay_queues));
}

// The rows of the table, with columns that are as wide as necessary.
std::string Rows(const Schedule& schedule, const PlannedQueues& queues, bool expire) {
  const auto name = [&queues](absl::Duration delay) {
    const std::size_t further = queues.Further(delay);
    return absl::StrCat(queues.NameFor(delay), further == 0 ? "" : absl::StrCat(" +", further));
  };
  std::size_t name_width = 5;
  std::size_t delay_width = 12;
  for (const Schedule::Step& step : schedule.steps) {
    name_width = std::max(name_width, name(step.delay).size());
    delay_width = std::max(delay_width, step.text().size());
  }
  const auto row = [&](const std::string& attempt, const std::string& delay,
                       const std::string& queue, const std::string& expires,
                       const std::string& elapsed) {
    return absl::StrFormat("%7s  %*s  %-*s  %14s  %14s\n", attempt, static_cast<int>(delay_width),
                           delay, static_cast<int>(name_width), queue, expires, elapsed);
  };
  std::string text = row("attempt", "delay", "queue", "x-expires", "elapsed");
  for (const Schedule::Step& step : schedule.steps) {
    text += row(absl::StrCat(step.attempt), step.text(), name(step.delay),
                expire ? DurationText(queues.LifetimeFor(step.delay)) : "none",
                DurationText(step.elapsed));
  }
  return schedule.ends ? text : text + row("...", "", "", "", "");
}

std::string Table(const Schedule& schedule, const PlannedQueues& queues,
                  const PlanOptions& options) {
  const absl::Duration end =
      schedule.steps.empty() ? absl::ZeroDuration() : schedule.steps.back().elapsed;
  std::string text = absl::StrCat(
      Rows(schedule, queues, options.delay_queues.declare), "\n",
      schedule.ends
          ? absl::StrCat(Count(schedule.steps.size() + 1, "attempt"), " within ", DurationText(end))
          : std::string("unlimited attempts"),
      ", through ", Count(queues.used().size(), "delay queue"),
      queues.belong_to_one() ? " of each work queue" : "",
      queues.rotate() ? ", up to three of each at a time" : "", "\n");
  if (queues.several()) {
    text += "+N: the message passes through N shorter queues for the rest of the delay.\n";
  }
  if (schedule.is_random) {
    text +=
        "Each delay is random within its range; queue, x-expires and elapsed are for the longest "
        "one.\n";
  }
  if (const std::string warning = WarningOf(queues, options); !warning.empty()) {
    absl::StrAppend(&text, "warning: ", warning, "\n");
  } else if (queues.belong_to_one() && queues.most_quorum_queues() > 0) {
    absl::StrAppend(&text, "More than ", kManyQuorumQueues / queues.most_quorum_queues(),
                    " work queues with this policy need more than ", kManyQuorumQueues,
                    " quorum queues: add --share-delay-queues.\n");
  }
  return text;
}

OrderedJson PlanJson(const Schedule& schedule, const PlannedQueues& queues,
                     const PlanOptions& options) {
  OrderedJson attempts = OrderedJson::array();
  for (const Schedule::Step& step : schedule.steps) {
    OrderedJson attempt = {{"attempt", step.attempt},
                           {"delay_ms", absl::ToInt64Milliseconds(step.delay)}};
    if (schedule.is_random) {
      attempt["delay_min_ms"] = absl::ToInt64Milliseconds(step.shortest_delay);
    }
    attempt["queue"] = queues.NameFor(step.delay);
    if (queues.several()) attempt["hops"] = 1 + queues.Further(step.delay);
    if (options.delay_queues.declare) {
      attempt["expires_ms"] = absl::ToInt64Milliseconds(queues.LifetimeFor(step.delay));
    }
    attempt["elapsed_ms"] = absl::ToInt64Milliseconds(step.elapsed);
    attempts.push_back(std::move(attempt));
  }
  OrderedJson json = {{"attempts", std::move(attempts)}, {"delay_queues", queues.used().size()}};
  if (const std::string warning = WarningOf(queues, options); !warning.empty()) {
    json["warnings"] = OrderedJson::array({warning});
  }
  return json;
}

absl::Status WriteImage(const std::string& file, const std::string& image) {
  const FileDescriptor opened(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (opened.is_open() && WriteAll(opened.get(), image)) return absl::OkStatus();
  const std::string why =
      absl::StrCat("--svg '", file, "': cannot be written: ", std::strerror(errno));
  // Reports a result that cannot be written separately, because other files may have no space
  // either.
  if (opened.is_open()) return absl::DataLossError(why);
  return absl::InvalidArgumentError(absl::StrCat(why, "; name a file that you may write"));
}

// RabbitMQ 4 drops messages that a quorum queue has delivered 20 times, and 3.10 has no value for
// "unlimited". This value is practically unlimited on both versions.
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

// Delay queues for these delays in RabbitMQ's definitions format, for an import by a user with
// configure permission: queues that never expire, their exchanges and bindings, the parked queue
// and, optionally, the work queue. For workers that declare nothing (`DelayQueueOptions::declare`).
// With a named work exchange, messages that did not come through it return through the queue
// `.direct`.
std::string Definitions(const std::vector<absl::Duration>& delays, const PlanOptions& options) {
  const OrderedJson none = OrderedJson::object();
  OrderedJson queues = OrderedJson::array();
  OrderedJson exchanges = OrderedJson::array();
  OrderedJson bindings = OrderedJson::array();
  const auto add_queue = [&](const std::string& name, OrderedJson arguments) {
    queues.push_back({{"name", name},
                      {"vhost", options.vhost},
                      {"durable", true},
                      {"auto_delete", false},
                      {"arguments", std::move(arguments)}});
  };
  DelayQueueOptions undeclared = options.delay_queues;
  undeclared.declare = false;
  const auto add_delay_queue = [&](absl::Duration delay, const DelayTarget& target) {
    const DeclareParams params = DelayQueueDeclaration(delay, target, undeclared);
    add_queue(params.queue.name, ArgumentsJson(params.queue.arguments));
    exchanges.push_back({{"name", params.exchange->name},
                         {"vhost", options.vhost},
                         {"type", params.exchange->type},
                         {"durable", params.exchange->durable},
                         {"auto_delete", params.exchange->auto_delete},
                         {"internal", false},
                         {"arguments", none}});
    bindings.push_back({{"source", params.exchange->name},
                        {"vhost", options.vhost},
                        {"destination", params.queue.name},
                        {"destination_type", "queue"},
                        {"routing_key", ""},
                        {"arguments", none}});
  };
  for (const absl::Duration delay : delays) {
    add_delay_queue(delay,
                    {.dead_letter_exchange = options.work_exchange, .work_queue = options.queue});
    if (options.work_exchange.empty()) continue;
    add_delay_queue(delay,
                    {.dead_letter_exchange = "", .direct = true, .work_queue = options.queue});
  }
  const auto of_type = [](QueueType type) -> OrderedJson {
    return {{"x-queue-type", type == QueueType::kQuorum ? "quorum" : "classic"}};
  };
  if (options.work_queue) add_queue(options.queue, of_type(*options.work_queue));
  if (!options.parked_queue.empty()) {
    OrderedJson arguments = of_type(options.delay_queues.queue_type);
    if (options.delay_queues.queue_type == QueueType::kQuorum) {
      arguments["x-delivery-limit"] = kNoDeliveryLimit;
    }
    add_queue(options.parked_queue, std::move(arguments));
  }
  const OrderedJson all = {{"queues", queues}, {"exchanges", exchanges}, {"bindings", bindings}};
  return all.dump(2, ' ', false, OrderedJson::error_handler_t::replace).append("\n");
}

}  // namespace

Parsed<PlanOptions> ParsePlan(const Arguments& arguments) {
  PlanOptions options;
  ClientOptions client;
  FlagParser parser(kPlanHelp);
  AddRetryFlags(parser, &options.retry);
  AddDelayQueueFlags(parser, &client);
  AddPlanFlags(parser, &options);
  AddUrlFlags(parser, "With --definitions: take the vhost from this address.", &client);
  parser.Check([&](FlagReader& reader) {
    options.delay_queues = client.delay_queues;
    options.vhost = ConnectionOf(client).vhost;
    CheckPlanFlags(&options, reader);
  });
  return parser.ParseInto(arguments, options);
}

absl::StatusOr<std::string> ShowPlan(const PlanOptions& options) {
  const Schedule schedule = MakeSchedule(options.retry);
  const PlannedQueues queues(schedule, options);
  if (options.definitions) return Definitions(queues.used(), options);
  // The results without and with the breaker.
  std::vector<OutageReport> reports;
  if (options.outage) {
    for (const auto& breaker : {std::optional<BreakerOptions>(), options.breaker}) {
      if (!reports.empty() && !breaker) continue;
      auto report = SimulateOutage(*options.outage, options.retry, breaker);
      if (!report.ok()) return report.status();
      reports.push_back(*std::move(report));
    }
  }
  if (!options.svg_file.empty()) {
    const std::string image = OutageSvg(*options.outage, reports.front());
    if (absl::Status status = WriteImage(options.svg_file, image); !status.ok()) return status;
  }
  if (!options.json) {
    if (reports.empty()) return Table(schedule, queues, options);
    return OutageText(*options.outage, reports.front(), options.breaker,
                      options.breaker ? &reports.back() : nullptr);
  }
  OrderedJson json = PlanJson(schedule, queues, options);
  if (options.outage) json["simulation"] = OutageJson(*options.outage, reports.front());
  if (options.breaker) {
    json["simulation"]["with_breaker"] =
        OutageJson(*options.outage, reports.back(), options.breaker);
  }
  return JsonLine(json).append("\n");
}

}  // namespace retryq::cli
