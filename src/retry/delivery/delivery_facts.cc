#include "retry/delivery/delivery_facts.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/header_names.h"
#include "base/name_size.h"
#include "base/utf8.h"
#include "retry/delivery/error_text.h"
#include "retry/delivery/header_fields.h"
#include "retry/delivery/headers.h"
#include "retryq/amqp/table.h"
#include "retryq/broker/delay_queue_name.h"

namespace retryq {
namespace {

// Half of RabbitMQ's default limit, to allow for workers that die before they have moved a message.
constexpr std::int64_t kManyDeliveries = 10;

constexpr absl::Duration kToleratedSkew = absl::Seconds(1);
constexpr int kToleratedPart = 20;

constexpr char kEarlyRemedy[] =
    "; remedy: let no policy or operator policy set message-ttl, max-length or expires on delay "
    "queues (rabbitmqctl list_policies, list_operator_policies)";

// Returns a quorum queue's count, which it writes as a 64-bit integer (F64).
std::optional<std::int64_t> Counted(const HeaderField& field, bool counts) {
  return counts && field && field->type == 'l' ? field->AsInt64() : std::nullopt;
}

std::string TextOf(const amqp::Table& table, std::string_view name) {
  const amqp::Value* value = table.Find(name);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(&value->variant);
  return text == nullptr ? std::string() : *text;
}

std::int64_t CountOf(const amqp::Table& table) {
  const amqp::Value* value = table.Find("count");
  const auto* count = value == nullptr ? nullptr : std::get_if<std::int64_t>(&value->variant);
  return count == nullptr ? 0 : std::max<std::int64_t>(*count, 0);
}

std::vector<Death> Deaths(const HeaderField& field) {
  if (!field) return {};
  const absl::StatusOr<amqp::Value> value = field->Decode();
  const auto* entries = value.ok() ? std::get_if<amqp::Array>(&value->variant) : nullptr;
  if (entries == nullptr) return {};
  std::vector<Death> deaths;
  for (const amqp::Value& entry : *entries) {
    const auto* table = std::get_if<std::shared_ptr<const amqp::Table>>(&entry.variant);
    if (table == nullptr) continue;
    deaths.push_back({.queue = TextOf(**table, "queue"),
                      .exchange = TextOf(**table, "exchange"),
                      .reason = TextOf(**table, "reason"),
                      .count = CountOf(**table)});
  }
  return deaths;
}

bool IsOneOf(std::string_view name, const RetrierOptions& options) {
  const std::vector<std::string>& former = options.former_queues;
  return name == options.queue || std::find(former.begin(), former.end(), name) != former.end();
}

Delivery::History ReadHistory(const HeaderFields& fields, const amqp::Message& message,
                              bool is_ours) {
  Delivery::History history;
  history.exchange = message.exchange;
  history.routing_key = message.routing_key;
  if (fields.whose == RetryHeaders::kForeign) return history;
  const bool is_copied = fields.whose == RetryHeaders::kCopied;
  if (is_copied && !is_ours) return history;
  history.id = NameIn(fields.id).value_or(std::string_view());
  if (fields.whose == RetryHeaders::kReplayed) return history;
  history.not_before = TimeIn(fields.not_before);
  history.delay = DurationIn(fields.delay);
  history.remaining = DurationIn(fields.remaining);
  // A message that was published with a delay states no queue and no failures.
  if (!is_copied) return history;

  history.failures = static_cast<std::uint64_t>(NaturalIn(fields.count).value_or(0));
  history.first_failure = TimeIn(fields.first_failure);
  history.last_error = CutUtf8(TextIn(fields.error).value_or(std::string_view()), kMaxErrorSize);

  const std::optional<std::string_view> exchange = NameIn(fields.exchange);
  const std::optional<std::string_view> routing_key = NameIn(fields.routing_key);
  if (exchange && routing_key) {
    history.exchange = *exchange;
    history.routing_key = *routing_key;
  }
  return history;
}

// On a first delivery, the publisher has set the count: 4.0 delivers the publisher's header.
Redeliveries CountRedelivered(const DeliveryFacts& facts, CountRedeliveries which) {
  if (which == CountRedeliveries::kNever || !facts.redelivered) return {};
  if (const std::int64_t count = facts.delivery_count.value_or(0); count > 0) {
    return {.count = static_cast<std::uint64_t>(count), .broker_counts = true};
  }
  // From 4.3 on, this means that the message was requeued and has not failed.
  if (facts.acquired_count > 0) return {};
  if (which == CountRedeliveries::kAlways) return {.count = 1, .broker_counts = false};
  return {};
}

// Some retry systems reject a message into its delay queue, which the entry of the work queue
// counts. Others publish a copy to the delay queue, and its expirations are counted. A message that
// expires in the work queue itself has not failed.
std::uint64_t CountDeaths(const HeaderField& field, std::string_view queue) {
  std::uint64_t rejected = 0;
  std::uint64_t delayed = 0;
  for (const Death& death : Deaths(field)) {
    const auto count = static_cast<std::uint64_t>(death.count);
    if (death.queue == queue && death.reason == "rejected")
      rejected = SaturatingSum(rejected, count);
    if (death.queue != queue && death.reason == "expired") delayed = SaturatingSum(delayed, count);
  }
  return std::max(rejected, delayed);
}

// Returns a number, or a number written as text; at most kMostCounted.
std::uint64_t CountIn(const amqp::FieldView& field) {
  if (const std::optional<std::int64_t> number = field.AsInt64()) {
    return *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
  }
  const std::optional<std::string_view> text = field.AsString();
  std::uint64_t number = 0;
  if (text && absl::SimpleAtoi(absl::string_view(text->data(), text->size()), &number)) {
    return std::min(number, kMostCounted);
  }
  return 0;
}

// Returns how often the message has failed in another retry system: the largest count of the
// headers in RetryOptions::earlier_counts. Counts of redeliveries are left out if redeliveries
// count anyway. For a message that retryq has copied, only the copy's count is used, so this is
// zero. A replayed message, which has only its id, starts from zero.
std::uint64_t CountEarlierFailures(const HeaderFields& fields, const RetrierOptions& options,
                                   bool redeliveries_count) {
  if (fields.whose != RetryHeaders::kForeign) return 0;
  std::uint64_t failures = 0;
  for (std::size_t i = 0; i < fields.earlier_counts.size(); ++i) {
    const std::string& name = options.retry.earlier_counts[i];
    const HeaderField& field = fields.earlier_counts[i];
    if (!field) continue;
    if (name == kDeathHeader) {
      failures = std::max(failures, CountDeaths(field, options.queue));
    } else if (name != kDeliveryCountHeader || !redeliveries_count) {
      failures = std::max(failures, CountIn(*field));
    }
  }
  return failures;
}

// Whether the queue's name is `<prefix>.<delay>` with any prefix, perhaps followed by a dot and
// more: `direct`, a hash. The exchange of a delay queue has the same name.
bool IsDelayQueue(const Death& death, std::int64_t delay) {
  const std::string part = absl::StrCat(".", delay, ".");
  return death.queue == death.exchange &&
         absl::StrCat(death.queue, ".").find(part, 1) != std::string::npos;
}

// Returns the parsed name of the delay queue, with any prefix; nullopt if it was no delay queue.
std::optional<DelayQueueName> DelayQueueOf(const Death& death) {
  if (death.queue != death.exchange) return std::nullopt;
  const std::string_view name = death.queue;
  for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
    if (auto parsed = ParseDelayQueueName(name, name.substr(0, dot))) return parsed;
  }
  return std::nullopt;
}

bool IsOthersRetry(const HeaderFields& fields, const amqp::Message& message,
                   const RetrierOptions& options) {
  if (fields.whose != RetryHeaders::kCopied) return false;
  const std::optional<std::string_view> failed_in = TextIn(fields.queue);
  if (!failed_in || IsOneOf(*failed_in, options)) return false;
  if (TextIn(fields.exchange) != message.exchange) return false;
  if (TextIn(fields.routing_key) != message.routing_key) return false;
  const std::optional<std::int64_t> delay = NaturalIn(fields.delay);
  if (!delay) return false;
  const std::vector<Death> deaths = Deaths(fields.death);
  return !deaths.empty() && deaths.front().reason == "expired" &&
         IsDelayQueue(deaths.front(), *delay);
}

// Whether the consumer itself may reject a message. Only `x-death` then records the failure.
bool Rejects(const RetryOptions& options) {
  return options.on_limit == OnLimit::kReject || options.on_permanent == OnLimit::kReject ||
         std::any_of(options.for_errors.begin(), options.for_errors.end(),
                     [](const ErrorRule& rule) { return rule.on_limit == OnLimit::kReject; });
}

struct QueueFailures {
  std::string queue;
  std::uint64_t failures;
};

// Returns how often the message has failed in each queue, apart from the count in its last copy:
// failures before that copy, which it states, and rejections since.
std::vector<QueueFailures> FailuresBesides(const HeaderFields& fields) {
  std::vector<QueueFailures> all;
  const auto add = [&all](std::string_view queue, std::int64_t failures) {
    if (failures <= 0 || queue.size() > kMaxNameSize) return;
    constexpr std::size_t kMostRead = 64;  // limits the work for a forged header
    for (QueueFailures& of : all) {
      if (of.queue != queue) continue;
      of.failures = SaturatingSum(of.failures, static_cast<std::uint64_t>(failures));
      return;
    }
    if (all.size() < kMostRead) {
      all.push_back({std::string(queue), static_cast<std::uint64_t>(failures)});
    }
  };
  if (fields.elsewhere) {
    if (const auto table = fields.elsewhere->AsTable()) {
      for (const amqp::FieldView& field : *table) add(field.name, field.AsInt64().value_or(0));
    }
  }
  // Most entries record expirations in a delay queue, and need not be decoded.
  if (fields.death && fields.death->bytes.find("rejected") != std::string_view::npos) {
    for (const Death& death : Deaths(fields.death)) {
      if (death.reason == "rejected" && !death.queue.empty()) add(death.queue, death.count);
    }
  }
  return all;
}

// Returns how often the message has failed in the consumer's queue.
std::uint64_t OwnFailuresBesides(const HeaderFields& fields, const RetrierOptions& options,
                                 bool last_copy_is_ours) {
  if (!fields.elsewhere && (!fields.death || !Rejects(options.retry))) return 0;
  std::uint64_t own = 0;
  std::uint64_t of_any = 0;
  bool is_listed = last_copy_is_ours;
  for (const QueueFailures& of : FailuresBesides(fields)) {
    if (of.queue.empty()) of_any = of.failures;
    if (!IsOneOf(of.queue, options)) continue;
    is_listed = true;
    own = SaturatingSum(own, of.failures);
  }
  return is_listed ? own : of_any;
}

}  // namespace

std::string FailuresElsewhere(const amqp::Message& message, const RetrierOptions& options) {
  if (!message.properties.headers) return "";
  const HeaderFields fields(message, {});
  const std::string_view last = fields.whose == RetryHeaders::kCopied
                                    ? NameIn(fields.queue).value_or(std::string_view())
                                    : std::string_view();
  const bool last_is_ours = last.empty() || IsOneOf(last, options);
  if (last_is_ours && !fields.elsewhere && !fields.death) return "";
  std::vector<QueueFailures> all = FailuresBesides(fields);
  std::erase_if(all, [&](const QueueFailures& of) { return IsOneOf(of.queue, options); });
  if (const std::int64_t count = NaturalIn(fields.count).value_or(0); !last_is_ours && count > 0) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const QueueFailures& of) { return of.queue == last; });
    if (found == all.end()) {
      all.push_back({std::string(last), static_cast<std::uint64_t>(count)});
    } else {
      found->failures = SaturatingSum(found->failures, static_cast<std::uint64_t>(count));
    }
  }
  std::uint64_t left_out = 0;
  std::erase_if(all, [&left_out](const QueueFailures& of) {
    if (of.queue.empty()) left_out = of.failures;
    return of.queue.empty();
  });
  // Stable: of equal counts, those of earlier failures are left out.
  std::stable_sort(all.begin(), all.end(), [](const QueueFailures& a, const QueueFailures& b) {
    return a.failures < b.failures;
  });
  for (; all.size() > kMostQueuesElsewhere; all.erase(all.begin())) {
    left_out = std::max(left_out, all.front().failures);
  }
  amqp::Table table;
  for (const QueueFailures& of : all) table.Set(of.queue, static_cast<std::int64_t>(of.failures));
  if (left_out > 0) table.Set("", static_cast<std::int64_t>(left_out));
  if (table.empty()) return "";
  amqp::Table header;
  header.Set(kRetryElsewhereHeader, std::move(table));
  return header.Encode().value_or("");
}

DeliveryFacts ReadFacts(const amqp::Message& message, const RetrierOptions& options,
                        const Clock& clock, TimedOut& timed_out, bool counts) {
  const HeaderFields fields(message, options.retry.earlier_counts);
  const bool others_retry = IsOthersRetry(fields, message, options);
  const bool is_own = IsOneOf(TextIn(fields.queue).value_or(std::string_view()), options);
  const bool is_ours = is_own || (others_retry && options.share_retries);
  DeliveryFacts facts{.history = ReadHistory(fields, message, is_ours),
                      .others_retry = others_retry && !options.share_retries,
                      .redelivered = message.redelivered,
                      .delivery_count = Counted(fields.delivery_count, counts),
                      .acquired_count = Counted(fields.acquired_count, counts)};
  if (is_own) facts.stated_failures = facts.history.failures;
  if (facts.others_retry) return facts;
  if (message.left_out > 0) {
    facts.left_out = message.left_out;
    facts.read_at = clock.Now();
    return facts;
  }
  facts.near_delivery_limit = facts.redelivered && facts.delivery_count >= kManyDeliveries;

  const std::uint64_t besides = OwnFailuresBesides(fields, options, is_ours);
  facts.came_back = besides > 0 && !(others_retry && options.share_retries);
  if (facts.came_back) facts.history.failures = SaturatingSum(facts.history.failures, besides);
  Redeliveries redeliveries = CountRedelivered(facts, options.retry.count_redeliveries);
  redeliveries.count -= std::min(redeliveries.count, timed_out.ignored_failures());
  facts.history.failures =
      std::max(facts.history.failures, CountEarlierFailures(fields, options, /*redeliveries_count=*/
                                                            redeliveries.broker_counts));
  // A message that another queue returned has been handled since its delay, which is therefore
  // over.
  if (!facts.came_back && (facts.history.remaining || facts.history.not_before)) {
    facts.read_at = clock.Now();
    facts.left = RemainingDelay(facts.history, facts.read_at);
    facts.early = FindEarlyReturn(facts.history, message, facts.read_at);
    if (facts.early && facts.early->left > absl::ZeroDuration()) {
      facts.left = facts.early->left;
      facts.history.remaining = facts.left;
    }
    if (facts.left > absl::ZeroDuration()) return facts;
  }
  facts.redeliveries = redeliveries;
  if (const std::uint64_t times = timed_out.Take(message); times > 0) {
    facts.redeliveries = {.count = SaturatingSum(redeliveries.count, times),
                          .broker_counts = false,
                          .timed_out = times};
  }
  if (facts.came_back || facts.redeliveries.count > 0 || facts.near_delivery_limit) {
    facts.read_at = clock.Now();
  }
  if (facts.redeliveries.count > 0) {
    facts.history.first_failure = facts.history.first_failure.value_or(facts.read_at);
  }
  return facts;
}

absl::Status WhyUnsettled(const Redeliveries& redeliveries) {
  const char* const why = redeliveries.timed_out == 0
                              ? "the worker that had it died or lost its connection"
                          : redeliveries.timed_out < redeliveries.count
                              ? "the workers that had it died, lost their connections, or exceeded "
                                "the broker's consumer timeout"
                              : "the worker that had it exceeded the broker's consumer timeout";
  return absl::AbortedError(absl::StrCat(
      why, redeliveries.count == 1 ? "" : absl::StrCat(", ", redeliveries.count, " times")));
}

absl::Duration RemainingDelay(const Delivery::History& history, absl::Time now) {
  if (!history.remaining) return absl::ZeroDuration();
  absl::Duration left = *history.remaining;
  if (history.not_before) left = std::min(left, *history.not_before - now);
  return absl::Ceil(std::max(left, absl::ZeroDuration()), absl::Milliseconds(1));
}

std::optional<EarlyReturn> FindEarlyReturn(const Delivery::History& history,
                                           const amqp::Message& message, absl::Time now) {
  if (!history.not_before || !history.delay) return std::nullopt;
  // If more delay queues follow, this queue was to release it when `remaining` was left.
  const absl::Duration remaining = history.remaining.value_or(absl::ZeroDuration());
  const absl::Duration early = *history.not_before - remaining - now;
  if (early <= absl::ZeroDuration()) return std::nullopt;
  const std::vector<Death> deaths = ReadDeaths(message);
  if (deaths.empty()) return std::nullopt;
  const Death& last = deaths.front();
  const std::optional<DelayQueueName> name = DelayQueueOf(last);
  if (!name) return std::nullopt;
  EarlyReturn found{.delay_queue = last.queue, .reason = last.reason, .early = early};
  const bool expired = last.reason == "expired";
  const bool tolerated = expired && early <= *history.delay / kToleratedPart;
  found.reported = !tolerated && (!expired || early > kToleratedSkew);
  found.stayed = std::max(name->ttl - early, absl::ZeroDuration());
  found.is_possible = early <= *history.delay - remaining + kToleratedSkew;
  if (found.is_possible && (!tolerated || early <= kToleratedSkew)) {
    const absl::Duration left = std::min(early + remaining, *history.delay);
    found.left = absl::Ceil(left, absl::Milliseconds(1));
  }
  return found;
}

std::string WhyEarly(const EarlyReturn& early) {
  const std::string how_early =
      absl::FormatDuration(absl::Trunc(early.early, absl::Milliseconds(1)));
  if (early.reason == "maxlen") {
    return absl::StrCat("'", early.delay_queue, "' is limited in length and released a message ",
                        how_early, " early", kEarlyRemedy);
  }
  // Before 4.3, a quorum queue counts each read of a message as a delivery.
  if (early.reason == "delivery_limit") {
    return absl::StrCat("'", early.delay_queue, "' released a message ", how_early,
                        " early, because it was read more often than the delivery limit allows; "
                        "remedy: read it less often (retryq waiting, the management UI), or set a "
                        "policy with delivery-limit -1 for delay queues");
  }
  if (!early.is_possible) {
    return absl::StrCat("a message from '", early.delay_queue, "' seems to be ", how_early,
                        " early, which is longer than its delay: a clock was set back, or the "
                        "clocks of two workers differ; remedy: check that the workers' clocks "
                        "agree");
  }
  return absl::StrCat("'", early.delay_queue, "' released a message ", how_early, " early",
                      kEarlyRemedy, "; and check that the workers' clocks agree");
}

std::vector<Death> ReadDeaths(const amqp::Message& message) {
  return message.properties.headers ? Deaths(message.properties.headers->Find(kDeathHeader))
                                    : std::vector<Death>();
}

}  // namespace retryq
