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
#include "retry/delivery/error_text.h"
#include "retry/delivery/headers.h"
#include "retryq/amqp/table.h"

namespace retryq {
namespace {

// Half of RabbitMQ's default limit: room for those who die before they have moved it.
constexpr std::int64_t kManyDeliveries = 10;

constexpr absl::Duration kToleratedSkew = absl::Seconds(1);
constexpr int kToleratedPart = 20;

constexpr char kEarlyRemedy[] =
    "; remedy: let no policy or operator policy set message-ttl, max-length or expires on delay "
    "queues (rabbitmqctl list_policies, list_operator_policies)";

using Field = std::optional<amqp::FieldView>;

// Follows a path, keys separated by dots, into nested tables: RetryOptions::earlier_counts. Shown
// all fields of a table, it keeps the one to follow: that with the longest name that the path
// begins with, of those of one name the first. It is what the path leads to where the whole path is
// its name; otherwise it must be a table.
class PathStep {
 public:
  void Consider(const amqp::FieldView& field, std::string_view path) {
    if (field_ && field.name.size() <= field_->name.size()) return;
    if (!path.starts_with(field.name)) return;
    const std::string_view rest = path.substr(field.name.size());
    if (rest.empty() || (rest.front() == '.' && field.type == 'F')) field_ = field;
  }

  // Goes on to the end of the path.
  Field Follow(std::string_view path) const {
    PathStep step = *this;
    for (int level = 1; step.field_ && step.field_->name.size() < path.size(); ++level) {
      if (level == amqp::kMaxTableDepth) return std::nullopt;
      path.remove_prefix(step.field_->name.size() + 1);
      const std::optional<amqp::TableView> table = step.field_->AsTable();
      step = {};
      if (!table) return std::nullopt;
      for (const amqp::FieldView& field : *table) step.Consider(field, path);
    }
    return step.field_;
  }

 private:
  Field field_;
};

// The fields of a message that say something about its way, found in one walk. Of fields of one
// name the first counts.
struct HeaderFields {
  // `names_of_counts`: RetryOptions::earlier_counts.
  HeaderFields(const amqp::Message& message, const std::vector<std::string>& names_of_counts) {
    if (!message.properties.headers) return;
    std::vector<PathStep> steps(names_of_counts.size());
    for (const amqp::FieldView& field : *message.properties.headers) {
      Field* const known = field.name.starts_with(kRetryPrefix) ? OfRetrying(field.name)
                           : field.name.starts_with("x-")       ? OfBroker(field.name)
                                                                : nullptr;
      if (known != nullptr && !*known) *known = field;
      for (std::size_t i = 0; i < steps.size(); ++i) steps[i].Consider(field, names_of_counts[i]);
    }
    if (id) whose = RetryHeadersIn(*message.properties.headers);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      earlier_counts.push_back(steps[i].Follow(names_of_counts[i]));
    }
  }

  Field* OfBroker(std::string_view name) {
    if (name == kDeliveryCountHeader) return &delivery_count;
    if (name == kAcquiredCountHeader) return &acquired_count;
    if (name == kDeathHeader) return &death;
    return nullptr;
  }

  Field* OfRetrying(std::string_view name) {
    if (name == kRetryCountHeader) return &count;
    if (name == kRetryFirstFailureHeader) return &first_failure;
    if (name == kRetryNotBeforeHeader) return &not_before;
    if (name == kRetryDelayHeader) return &delay;
    if (name == kRetryQueueHeader) return &queue;
    if (name == kRetryExchangeHeader) return &exchange;
    if (name == kRetryRoutingKeyHeader) return &routing_key;
    if (name == kRetryErrorHeader) return &error;
    if (name == kRetryIdHeader) return &id;
    if (name == kRetryRemainingHeader) return &remaining;
    return nullptr;
  }

  Field count, first_failure, not_before, delay, queue, exchange, routing_key, error, id, remaining;
  RetryHeaders whose = RetryHeaders::kForeign;
  Field delivery_count, acquired_count, death;
  std::vector<Field> earlier_counts;  // by their place among the names
};

std::optional<std::int64_t> Integer(const Field& field) {
  return field ? field->AsInt64() : std::nullopt;
}

// What a quorum queue has counted, which it writes as a 64-bit integer (F64).
std::optional<std::int64_t> Counted(const Field& field, bool counts) {
  return counts && field && field->type == 'l' ? field->AsInt64() : std::nullopt;
}

std::optional<std::string_view> Text(const Field& field) {
  return field ? field->AsString() : std::nullopt;
}

std::optional<std::string_view> ShortText(const Field& field) {
  const std::optional<std::string_view> text = Text(field);
  return text && text->size() <= kLongestName ? text : std::nullopt;
}

std::optional<std::int64_t> Natural(const Field& field) {
  const std::optional<std::int64_t> number = Integer(field);
  return number >= 0 ? number : std::nullopt;
}

std::optional<absl::Time> Time(const Field& field) {
  const std::optional<std::int64_t> millis = Natural(field);
  if (!millis) return std::nullopt;
  return absl::FromUnixMillis(*millis);
}

std::optional<absl::Duration> Duration(const Field& field) {
  const std::optional<std::int64_t> millis = Natural(field);
  if (!millis) return std::nullopt;
  return absl::Milliseconds(*millis);
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

std::vector<Death> Deaths(const Field& field) {
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
  history.id = ShortText(fields.id).value_or(std::string_view());
  if (fields.whose == RetryHeaders::kReplayed) return history;
  history.not_before = Time(fields.not_before);
  history.delay = Duration(fields.delay);
  history.remaining = Duration(fields.remaining);
  // What was published with a delay does not know which queue it comes to.
  if (!is_copied) return history;

  history.failures = static_cast<std::uint64_t>(Natural(fields.count).value_or(0));
  history.first_failure = Time(fields.first_failure);
  history.last_error = CutUtf8(Text(fields.error).value_or(std::string_view()), kMaxErrorSize);

  const std::optional<std::string_view> exchange = ShortText(fields.exchange);
  const std::optional<std::string_view> routing_key = ShortText(fields.routing_key);
  if (exchange && routing_key) {
    history.exchange = *exchange;
    history.routing_key = *routing_key;
  }
  return history;
}

// The count of a message that is not redelivered came with it: 4.0 shows on the first delivery what
// its publisher has written.
Redeliveries CountRedelivered(const DeliveryFacts& facts, CountRedeliveries which) {
  if (which == CountRedeliveries::kNever || !facts.redelivered) return {};
  if (const std::int64_t count = facts.delivery_count.value_or(0); count > 0) {
    return {.count = static_cast<std::uint64_t>(count), .broker_counts = true};
  }
  // 4.3: it was given back, and that is all.
  if (facts.acquired_count > 0) return {};
  if (which == CountRedeliveries::kAlways) return {.count = 1, .broker_counts = false};
  return {};
}

// Systems of the one kind reject a message into its delay queue, and the work queue's entry counts
// that. Those of the other publish a copy to it, and what counts are the times it has expired
// there. What expires in the work queue itself has not failed.
std::uint64_t CountDeaths(const Field& field, std::string_view queue) {
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

// A number, or one written as text, of which none is above kMostCounted.
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

// How often the message has failed in another retry system, as the headers say that
// RetryOptions::earlier_counts names: the largest of them. What counts as redeliveries anyway is
// left out. A message that retryq has copied goes by that alone; a replayed one has only its id,
// and starts anew.
std::uint64_t CountEarlierFailures(const HeaderFields& fields, const RetrierOptions& options,
                                   bool redeliveries_count) {
  if (fields.whose != RetryHeaders::kForeign) return 0;
  std::uint64_t failures = 0;
  for (std::size_t i = 0; i < fields.earlier_counts.size(); ++i) {
    const std::string& name = options.retry.earlier_counts[i];
    const Field& field = fields.earlier_counts[i];
    if (!field) continue;
    if (name == kDeathHeader) {
      failures = std::max(failures, CountDeaths(field, options.queue));
    } else if (name != kDeliveryCountHeader || !redeliveries_count) {
      failures = std::max(failures, CountIn(*field));
    }
  }
  return failures;
}

// `<prefix>.<delay>` of any prefix, and whatever may follow after one more dot: `direct`, a hash.
// The exchange in front of a delay queue has its name.
bool IsDelayQueue(const Death& death, std::int64_t delay) {
  const std::string part = absl::StrCat(".", delay, ".");
  return death.queue == death.exchange &&
         absl::StrCat(death.queue, ".").find(part, 1) != std::string::npos;
}

bool IsOthersRetry(const HeaderFields& fields, const amqp::Message& message,
                   const RetrierOptions& options) {
  if (fields.whose != RetryHeaders::kCopied) return false;
  const std::optional<std::string_view> failed_in = Text(fields.queue);
  if (!failed_in || IsOneOf(*failed_in, options)) return false;
  if (Text(fields.exchange) != message.exchange) return false;
  if (Text(fields.routing_key) != message.routing_key) return false;
  const std::optional<std::int64_t> delay = Natural(fields.delay);
  if (!delay) return false;
  const std::vector<Death> deaths = Deaths(fields.death);
  return !deaths.empty() && deaths.front().reason == "expired" &&
         IsDelayQueue(deaths.front(), *delay);
}

}  // namespace

DeliveryFacts ReadFacts(const amqp::Message& message, const RetrierOptions& options,
                        const Clock& clock, TimedOut& timed_out, bool counts) {
  const HeaderFields fields(message, options.retry.earlier_counts);
  const bool others_retry = IsOthersRetry(fields, message, options);
  const bool is_own = IsOneOf(Text(fields.queue).value_or(std::string_view()), options);
  const bool is_ours = is_own || (others_retry && options.share_retries);
  DeliveryFacts facts{.history = ReadHistory(fields, message, is_ours),
                      .others_retry = others_retry && !options.share_retries,
                      .redelivered = message.redelivered,
                      .delivery_count = Counted(fields.delivery_count, counts),
                      .acquired_count = Counted(fields.acquired_count, counts)};
  if (is_own) facts.stated_failures = facts.history.failures;
  if (facts.others_retry) return facts;
  facts.near_delivery_limit = facts.redelivered && facts.delivery_count >= kManyDeliveries;

  const Redeliveries redeliveries = CountRedelivered(facts, options.retry.count_redeliveries);
  facts.history.failures =
      std::max(facts.history.failures, CountEarlierFailures(fields, options, /*redeliveries_count=*/
                                                            redeliveries.broker_counts));
  if (facts.history.remaining) {
    facts.read_at = clock.Now();
    facts.left = RemainingDelay(facts.history, facts.read_at);
    if (facts.left > absl::ZeroDuration()) return facts;
  }
  facts.redeliveries = redeliveries;
  if (const std::uint64_t times = timed_out.Take(message); times > 0) {
    facts.redeliveries = {.count = SaturatingSum(redeliveries.count, times),
                          .broker_counts = false,
                          .timed_out = times};
  }
  if (facts.redeliveries.count > 0 || facts.near_delivery_limit) facts.read_at = clock.Now();
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

std::optional<EarlyReturn> FindEarlyReturn(const Delivery& delivery, absl::Time now) {
  const Delivery::History& history = delivery.history();
  if (!history.not_before || !history.delay) return std::nullopt;
  // Of several delay queues this one was to keep it only until so much is left.
  const absl::Time due = *history.not_before - history.remaining.value_or(absl::ZeroDuration());
  if (now >= due) return std::nullopt;
  const std::vector<Death> deaths = ReadDeaths(*delivery.message());
  if (deaths.empty()) return std::nullopt;
  const Death& last = deaths.front();
  const absl::Duration early = due - now;
  const std::string how_early = absl::FormatDuration(absl::Trunc(early, absl::Milliseconds(1)));
  if (last.reason == "maxlen") {
    return EarlyReturn{last.queue,
                       absl::StrCat("'", last.queue, "' is limited in length and let a message go ",
                                    how_early, " early", kEarlyRemedy)};
  }
  // A quorum queue counts how often it was looked at, except from 4.3 on.
  if (last.reason == "delivery_limit") {
    return EarlyReturn{
        last.queue, absl::StrCat("'", last.queue, "' let a message go ", how_early,
                                 " early, as it was looked at more often than its delivery limit "
                                 "allows; remedy: look less often (retryq waiting, the management "
                                 "UI), or a policy with delivery-limit -1 for delay queues")};
  }
  if (early <= std::max(kToleratedSkew, *history.delay / kToleratedPart)) return std::nullopt;
  return EarlyReturn{last.queue,
                     absl::StrCat("'", last.queue, "' let a message go ", how_early, " early",
                                  kEarlyRemedy, "; and see that the workers' clocks agree")};
}

std::vector<Death> ReadDeaths(const amqp::Message& message) {
  return message.properties.headers ? Deaths(message.properties.headers->Find(kDeathHeader))
                                    : std::vector<Death>();
}

}  // namespace retryq
