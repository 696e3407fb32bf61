#include "cli/plan/plan.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/plan/definitions.h"
#include "cli/text/duration.h"
#include "cli/text/json_line.h"
#include "cli/text/many_quorum_queues.h"
#include "retryq/backoff.h"
#include "retryq/delay_grid.h"
#include "retryq/delay_queue_declaration.h"

namespace retryq::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

// The most rows of a plan, which may be endless.
constexpr std::size_t kMostSteps = 1000;

bool RotatesNames(const DelayQueueOptions& options) {
  return options.queue_type == QueueType::kQuorum && options.declare;
}

// Stands for an unknown work queue in the names of delay queues.
constexpr char kAnyQueue[] = "QUEUE";

// Returns whether each work queue has its own delay queues.
bool BelongToOne(const DelayQueueOptions& options) {
  return options.queue_type == QueueType::kQuorum && !options.share;
}

std::string QueueName(absl::Duration delay, const PlanOptions& options) {
  const DelayTarget target{.work_queue = options.queue.empty() ? kAnyQueue : options.queue};
  std::string name = DelayQueueDeclaration(delay, target, options.delay_queues).queue.name;
  if (RotatesNames(options.delay_queues)) name += "-q3";
  return name;
}

// The queues that a client with this policy may use, and those that a plan uses.
class PlannedQueues {
 public:
  PlannedQueues(const Plan& plan, const PlanOptions& options)
      : options_(options), all_(DelayQueueTtls(options.retry, options.delay_queues)), used_(all_) {
    const bool exact =
        std::includes(all_.begin(), all_.end(), plan.delays.begin(), plan.delays.end());
    const bool any = options.any_delay || HasJitter(options.retry.backoff);
    several_ = !exact;
    if (options.any_delay) return;
    if (exact && !any) {
      used_ = plan.delays;
      return;
    }
    const absl::Duration longest = plan.delays.empty() ? absl::ZeroDuration() : plan.delays.back();
    std::erase_if(used_, [longest](absl::Duration ttl) { return ttl > longest; });
  }

  // The TTLs in use: for delays through several queues, all that are short enough.
  const std::vector<absl::Duration>& used() const { return used_; }

  // Whether some delays pass through several queues.
  bool several() const { return several_; }

  // The TTL of the first queue of a delay.
  absl::Duration First(absl::Duration delay) const {
    return *std::prev(std::upper_bound(all_.begin(), all_.end(), delay));
  }

  // The number of further queues, if none delays the message longer than necessary.
  std::size_t Further(absl::Duration delay) const {
    std::size_t further = 0;
    for (absl::Duration left = delay - First(delay); left >= DelayGrid::kShortestHop;
         left -= First(left)) {
      ++further;
    }
    return further;
  }

  std::string NameFor(absl::Duration delay) const { return QueueName(First(delay), options_); }
  absl::Duration LifetimeFor(absl::Duration delay) const {
    return QueueLifetime(First(delay), options_.delay_queues);
  }

 private:
  const PlanOptions& options_;
  const std::vector<absl::Duration> all_;
  std::vector<absl::Duration> used_;
  bool several_ = false;
};

std::string Count(std::size_t count, const char* what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

// The number of queues at a time for one work queue; a plan has no others.
std::int64_t MostQuorumQueues(const PlannedQueues& queues, const PlanOptions& options) {
  return static_cast<std::int64_t>(queues.used().size()) *
         QuorumQueuesOfADelay(options.delay_queues);
}

// A warning if so many queues cost a broker too much; otherwise empty.
std::string WarningOf(const PlannedQueues& queues, const PlanOptions& options) {
  const std::int64_t most = MostQuorumQueues(queues, options);
  if (most <= kManyQuorumQueues) return "";
  return absl::StrCat("up to ", most, " quorum queues",
                      BelongToOne(options.delay_queues) ? " for each work queue" : "", ": ",
                      ManyQuorumQueuesCost(),
                      "; remedy: ", FewerQuorumQueues(options.delay_queues));
}

std::string Table(const Plan& plan, const PlanOptions& options) {
  const PlannedQueues queues(plan, options);
  const auto name = [&queues](absl::Duration delay) {
    const std::size_t further = queues.Further(delay);
    return further == 0 ? queues.NameFor(delay)
                        : absl::StrCat(queues.NameFor(delay), " +", further);
  };
  std::size_t width = 5;
  for (const absl::Duration delay : plan.delays) width = std::max(width, name(delay).size());
  std::size_t delay_width = 12;
  for (const Plan::Step& step : plan.steps) {
    delay_width = std::max(delay_width, DelayText(step).size());
  }
  const auto row = [width, delay_width](const std::string& attempt, const std::string& delay,
                                        const std::string& queue, const std::string& expires,
                                        const std::string& elapsed) {
    return absl::StrFormat("%7s  %*s  %-*s  %14s  %14s\n", attempt, static_cast<int>(delay_width),
                           delay, static_cast<int>(width), queue, expires, elapsed);
  };
  std::string text = row("attempt", "delay", "queue", "x-expires", "elapsed");
  for (const Plan::Step& step : plan.steps) {
    text +=
        row(absl::StrCat(step.attempt), DelayText(step), name(step.delay),
            options.delay_queues.declare ? DurationText(queues.LifetimeFor(step.delay)) : "none",
            DurationText(step.elapsed));
  }
  if (!plan.ends) text += row("...", "", "", "", "");
  absl::StrAppend(
      &text, "\n",
      plan.ends ? absl::StrCat(Count(plan.steps.size() + 1, "attempt"), " within ",
                               DurationText(plan.steps.empty() ? absl::ZeroDuration()
                                                               : plan.steps.back().elapsed))
                : std::string("no limit of attempts"),
      ", through ", Count(queues.used().size(), "delay queue"),
      BelongToOne(options.delay_queues) ? " of each work queue" : "",
      RotatesNames(options.delay_queues) ? ", up to three of each at a time" : "", "\n");
  if (queues.several())
    text += "+ and through so many shorter ones for what is left of the delay.\n";
  if (HasJitter(options.retry.backoff)) {
    text +=
        "Chance chooses each delay from its range; queue, x-expires and elapsed are those of the "
        "longest.\n";
  }
  const std::int64_t of_each = MostQuorumQueues(queues, options);
  if (const std::string warning = WarningOf(queues, options); !warning.empty()) {
    absl::StrAppend(&text, "warning: ", warning, "\n");
  } else if (of_each > 0 && BelongToOne(options.delay_queues)) {
    absl::StrAppend(&text, "More than ", kManyQuorumQueues / of_each,
                    " such work queues have more than ", kManyQuorumQueues,
                    " quorum queues: --share-delay-queues then.\n");
  }
  return text;
}

}  // namespace

std::string DelayText(const Plan::Step& step) {
  if (step.shortest_delay == step.delay) return DurationText(step.delay);
  return absl::StrCat(DurationText(step.shortest_delay), "..", DurationText(step.delay));
}

bool HasJitter(const BackoffOptions& backoff) {
  return backoff.jitter > 0 || backoff.jitter_kind == JitterKind::kDecorrelated;
}

Plan MakePlan(const RetryOptions& retry) {
  Plan plan;
  std::set<absl::Duration> delays;
  absl::Duration elapsed = absl::ZeroDuration();
  for (std::uint64_t failures = 0;; ++failures) {
    if (retry.max_attempts != 0 && failures + 1 >= retry.max_attempts) break;
    const auto [shortest, delay] = BackoffRange(retry.backoff, failures);
    if (retry.max_age > absl::ZeroDuration() && elapsed + delay > retry.max_age) break;
    const bool unbounded = retry.max_attempts == 0 && retry.max_age == absl::ZeroDuration();
    const bool repeats = !plan.steps.empty() && plan.steps.back().delay == delay &&
                         BackoffRange(retry.backoff, failures + kMostSteps).longest == delay;
    if ((unbounded && repeats) || plan.steps.size() == kMostSteps) {
      plan.ends = false;
      break;
    }
    elapsed += delay;
    plan.steps.push_back(
        {.attempt = failures + 1, .delay = delay, .elapsed = elapsed, .shortest_delay = shortest});
    delays.insert(delay);
  }
  plan.delays.assign(delays.begin(), delays.end());
  return plan;
}

OrderedJson PlanJson(const PlanOptions& options) {
  const Plan plan = MakePlan(options.retry);
  const PlannedQueues queues(plan, options);
  OrderedJson attempts = OrderedJson::array();
  for (const Plan::Step& step : plan.steps) {
    OrderedJson attempt = {{"attempt", step.attempt},
                           {"delay_ms", absl::ToInt64Milliseconds(step.delay)}};
    if (HasJitter(options.retry.backoff)) {
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

std::string PlanText(const PlanOptions& options) {
  const Plan plan = MakePlan(options.retry);
  switch (options.format) {
    case PlanOptions::Format::kJson:
      return JsonLine(PlanJson(options)).append("\n");
    case PlanOptions::Format::kDefinitions:
      return Definitions(PlannedQueues(plan, options).used(), options);
    case PlanOptions::Format::kTable:
      break;
  }
  return Table(plan, options);
}

}  // namespace retryq::cli
