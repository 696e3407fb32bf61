#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/escaped_text.h"
#include "base/iso_time.h"
#include "base/quoting.h"
#include "cli/connect/broker_session.h"
#include "cli/queues/queues_command.h"
#include "cli/text/duration.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

// The broker updates its statistics at this interval (collect_statistics_interval).
constexpr absl::Duration kStatisticsAge = absl::Seconds(5);

constexpr absl::Duration kRateWindow = absl::Seconds(60);

// A queue that was idle for longer than its TTL plus this time has released its due messages, even
// if the statistics are as old as possible.
constexpr absl::Duration kLateStatistics = absl::Seconds(10);

// Below this TTL the statistics are too coarse to estimate when a message was published.
constexpr absl::Duration kShortestEstimated = absl::Seconds(20);

std::optional<std::int64_t> CountOf(const Json& json, const char* name) {
  const std::optional<std::int64_t> value = IntegerOf(json, name);
  return value && *value >= 0 ? value : std::nullopt;
}

// The setting of the argument or the policy, whichever is smaller.
std::optional<absl::Duration> DurationSetting(const Json& queue, const char* key) {
  const std::optional<QueueSetting> setting = QueueSettingOf(queue, key);
  if (!setting || !setting->value.is_number_integer() || setting->value < 0) return std::nullopt;
  return absl::Milliseconds(setting->value.get<std::int64_t>());
}

// Returns the time of the queue's last activity.
std::optional<absl::Time> IdleSince(const Json& queue) {
  const std::optional<std::string> text = TextOf(queue, "idle_since");
  return text ? ParseIsoTime(*text) : std::nullopt;
}

struct StatisticsSample {
  absl::Time at;
  std::int64_t value;
};

// The samples of "publish" or "messages", newest first.
std::vector<StatisticsSample> SamplesOf(const Json& stats, const char* what) {
  std::vector<StatisticsSample> samples;
  const Json& list = FieldOf(FieldOf(stats, what), "samples");
  if (!list.is_array()) return samples;
  for (const Json& each : list) {
    const std::optional<std::int64_t> value = IntegerOf(each, "sample");
    const std::optional<std::int64_t> at = IntegerOf(each, "timestamp");
    if (value && at) samples.push_back({absl::FromUnixMillis(*at), *value});
  }
  return samples;
}

// The growth per second over the last minute.
std::optional<double> GrowthPerSecond(const std::vector<StatisticsSample>& samples) {
  for (const StatisticsSample& sample : samples) {
    const absl::Duration since = samples.front().at - sample.at;
    if (since < kRateWindow) continue;
    const auto growth =
        static_cast<double>(samples.front().value) - static_cast<double>(sample.value);
    return growth / absl::ToDoubleSeconds(since);
  }
  return std::nullopt;
}

// The time at which the message at the head was published: not after `latest`, and usually not
// before `earliest`.
struct Published {
  absl::Time earliest = absl::InfinitePast();
  absl::Time latest = absl::InfiniteFuture();
};

// The head of a queue with `waiting` messages is the message with this number from the last
// publish. Returns nullopt if the statistics do not reach back so far, for example after a restart
// of the broker.
std::optional<Published> WhenHeadWasPublished(const Json& stats, std::int64_t waiting) {
  const std::optional<std::int64_t> total = IntegerOf(stats, "publish");
  if (!total || *total < waiting || waiting < 1) return std::nullopt;
  const std::int64_t head = *total - waiting + 1;
  std::optional<Published> found;
  for (const StatisticsSample& sample : SamplesOf(stats, "publish_details")) {
    if (sample.value < head) {
      if (found) found->earliest = sample.at - kStatisticsAge;
      break;
    }
    found = Published{.latest = sample.at};
  }
  return found;
}

void ReadMessages(const Json& queue, absl::Time now, DelayQueueStatus* status) {
  status->waiting = CountOf(queue, "messages");
  status->undelivered = CountOf(queue, "messages_dlx");
  const Json& stats = FieldOf(queue, "message_stats");
  status->in_per_second = GrowthPerSecond(SamplesOf(stats, "publish_details"));
  const std::optional<double> growth = GrowthPerSecond(SamplesOf(queue, "messages_details"));
  if (status->in_per_second && growth) {
    status->out_per_second = std::max(0.0, *status->in_per_second - *growth);
  }

  status->overdue = status->undelivered;
  if (!status->overdue && status->waiting) status->overdue = 0;

  if (!status->ttl || status->waiting.value_or(0) == 0) return;
  absl::Duration at_most = *status->ttl;
  if (const std::optional<absl::Time> idle = IdleSince(queue)) {
    at_most = std::min(at_most, *idle + *status->ttl - now);
    if (at_most + kLateStatistics < absl::ZeroDuration()) status->overdue = status->waiting;
  }
  const std::optional<Published> head = WhenHeadWasPublished(stats, *status->waiting);
  if (head) at_most = std::min(at_most, head->latest + *status->ttl - now);
  status->next_due_at_most = std::max(at_most, absl::ZeroDuration());
  if (head && head->earliest != absl::InfinitePast() && *status->ttl >= kShortestEstimated) {
    const absl::Time middle = head->earliest + (head->latest - head->earliest) / 2;
    status->next_due =
        std::clamp(middle + *status->ttl - now, absl::ZeroDuration(), *status->next_due_at_most);
  }
}

// The time range in which a quorum queue was created, from the epoch in its x-expires. That value
// is twice the length of an epoch, which is TTL plus outage, plus the number of the epoch modulo a
// prime in milliseconds. So the epoch can be derived if the outage is in whole seconds.
std::optional<std::pair<absl::Time, absl::Time>> WhenMade(absl::Duration ttl,
                                                          absl::Duration expires, absl::Time now) {
  constexpr std::int64_t kStamps = 997;
  constexpr std::int64_t kLongestLived = 3;  // epochs, including that of its creation
  absl::Duration stamp;
  const std::int64_t seconds = absl::IDivDuration(expires - 2 * ttl, absl::Seconds(2), &stamp);
  const std::int64_t residue = absl::ToInt64Milliseconds(stamp);
  if (seconds <= 0 || residue < 0 || residue >= kStamps) return std::nullopt;
  const absl::Duration length = ttl + absl::Seconds(seconds);
  absl::Duration into;
  const std::int64_t current = absl::IDivDuration(now - absl::UnixEpoch(), length, &into);
  for (std::int64_t epoch = current; epoch >= 0 && epoch > current - kLongestLived; --epoch) {
    if (epoch % kStamps != residue) continue;
    const absl::Time begin = now - into - (current - epoch) * length;
    return std::pair(begin, std::min(begin + length, now));
  }
  return std::nullopt;
}

void ReadLease(const Json& queue, absl::Time now, DelayQueueStatus* status) {
  if (!status->lease) return;
  status->lease_left_at_most = *status->lease;
  const auto bound = [now](absl::Time from, absl::Duration lease) {
    return std::clamp(from + lease - now, absl::ZeroDuration(), lease);
  };
  if (status->type != "quorum") {
    if (const std::optional<absl::Time> idle = IdleSince(queue)) {
      status->lease_left_at_most = bound(*idle, *status->lease);
    }
    return;
  }
  const auto stamped = CountOf(FieldOf(queue, "arguments"), "x-expires");
  if (!stamped) return;
  if (const auto made = WhenMade(status->parts.ttl, absl::Milliseconds(*stamped), now)) {
    status->lease_left_at_least = bound(made->first, *status->lease);
    status->lease_left_at_most = bound(made->second, *status->lease);
  }
}

}  // namespace

std::optional<DelayQueueStatus> ReadDelayQueue(const Json& queue, std::string_view prefix,
                                               absl::Time now) {
  const std::optional<std::string> name = TextOf(queue, "name");
  if (!name) return std::nullopt;
  const std::optional<DelayQueueName> parts = ParseDelayQueueName(*name, prefix);
  if (!parts || IsThrowAway(*parts)) return std::nullopt;

  DelayQueueStatus status{.name = *name, .parts = *parts};
  const Json& arguments = FieldOf(queue, "arguments");
  status.type =
      TextOf(queue, "type").value_or(TextOf(arguments, "x-queue-type").value_or("classic"));
  status.state = TextOf(queue, "state").value_or("");
  status.dead_letter_exchange = TextOf(arguments, "x-dead-letter-exchange").value_or("");
  status.policy = TextOf(queue, "policy").value_or("");
  status.operator_policy = TextOf(queue, "operator_policy").value_or("");
  status.ttl = DurationSetting(queue, "message-ttl");
  status.lease = DurationSetting(queue, "expires");
  ReadMessages(queue, now, &status);
  ReadLease(queue, now, &status);
  return status;
}

std::string Serves(const DelayQueueStatus& queue) {
  if (!queue.parts.exchange.empty()) {
    const std::string& key = queue.parts.routing_key;
    return "exchange " + Printable(queue.parts.exchange, 60) +
           (key.empty() ? "" : ", key " + Printable(key, 60));
  }
  const std::string owner =
      queue.parts.work_queue.empty() ? "many" : Printable(queue.parts.work_queue, 60);
  const std::string& exchange = queue.dead_letter_exchange;
  return exchange.empty() ? owner : absl::StrCat(owner, " through ", Printable(exchange, 60));
}

std::vector<std::string> Oddities(const DelayQueueStatus& queue) {
  std::vector<std::string> oddities;
  // "live" is the state of a queue without statistics.
  if (!queue.state.empty() && queue.state != "running" && queue.state != "idle" &&
      queue.state != "live") {
    oddities.push_back("its state is " + InQuotes(queue.state) + ": check the node that hosts it");
  }
  if (queue.undelivered.value_or(0) > 0) {
    const std::string name =
        queue.parts.work_queue.empty() ? "" : " " + InQuotes(queue.parts.work_queue);
    oddities.push_back(absl::StrCat(
        *queue.undelivered, " messages are due and not delivered yet. If this lasts, the queue",
        name, " that they return to is missing or full; RabbitMQ tries again every 3 minutes"));
  }
  if (queue.overdue.value_or(0) > queue.undelivered.value_or(0)) {
    oddities.push_back(absl::StrCat(*queue.overdue,
                                    " messages are overdue, and the queue has been idle for longer "
                                    "than its TTL: check the node that hosts it"));
  }
  if (!queue.ttl) {
    oddities.emplace_back("it has no TTL, so messages never leave it");
  } else if (*queue.ttl != queue.parts.ttl) {
    const std::string policy = !queue.policy.empty() ? " (policy " + InQuotes(queue.policy) + ")"
                               : !queue.operator_policy.empty()
                                   ? " (operator policy " + InQuotes(queue.operator_policy) + ")"
                                   : "";
    oddities.push_back("its TTL is " + DurationText(*queue.ttl) + " instead of that in its name" +
                       policy);
  }
  if (queue.lease && *queue.lease <= queue.parts.ttl) {
    oddities.emplace_back("it expires, with its messages, before they leave it");
  }
  return oddities;
}

}  // namespace retryq::cli
