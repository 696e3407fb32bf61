#include "retry/delay_queues/route_declaration.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/broker_version.h"
#include "base/name_size.h"
#include "retry/policy/delay_steps.h"
#include "retryq/broker/delay_queue_declaration.h"

namespace retryq {
namespace {

constexpr char kExpires[] = "x-expires";

// A prime number, so that two epochs whose queues can exist at the same time have different stamps.
constexpr std::int64_t kStamps = 997;

bool IsLimited(const DelayQueueOptions& options) {
  return options.max_length > 0 || options.max_length_bytes > 0;
}

// Returns all arguments, except for the stamp of a quorum queue's epoch.
amqp::Table Arguments(const DelayRoute& route, const DelayQueueOptions& options,
                      NameFamily family) {
  const bool quorum = options.queue_type == QueueType::kQuorum;
  amqp::Table arguments = {
      {"x-queue-type", quorum ? "quorum" : "classic"},
      {"x-message-ttl", absl::ToInt64Milliseconds(route.ttl)},
  };
  if (options.declare) {
    arguments.Set(kExpires, absl::ToInt64Milliseconds(QueueLifetime(route.ttl, options)));
  }
  arguments.Set("x-dead-letter-exchange", route.dead_letter_exchange);
  // With these arguments the delay queue keeps a message until the work queue has it; the strategy
  // requires reject-publish.
  if (quorum) arguments.Set("x-dead-letter-strategy", "at-least-once");
  // A policy with reject-publish-dlx sends each copy that it nacks to the work queue, too, which
  // makes one message more. The argument wins over the policy. A nack changes to the hashed name.
  if (quorum || IsLimited(options) || family == NameFamily::kHashed) {
    arguments.Set("x-overflow", "reject-publish");
  }
  const auto set_limit = [&arguments](std::string_view name, std::uint64_t limit) {
    if (limit > 0) arguments.Set(name, static_cast<std::int64_t>(limit));
  };
  set_limit("x-max-length", options.max_length);
  set_limit("x-max-length-bytes", options.max_length_bytes);
  return arguments;
}

// FNV-1a.
std::uint64_t LongHashOf(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

// FNV-1a, folded to 32 bits.
std::uint32_t HashOf(std::string_view text) {
  const std::uint64_t hash = LongHashOf(text);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

// Whether the beginning of the owner's name could be taken for another part of the queue's name.
bool IsAmbiguous(const DelayRoute& route) {
  if (route.owner.front() == kOwnerHashMark) return true;
  if (route.owner_key) return (std::string(route.owner) + ".").find(kKeyPart) != std::string::npos;
  const std::string_view first = FirstPart(route.owner);
  return first == kDirectPart.substr(1) || first == kExchangePart.substr(1) ||
         ParsePriorityPart(first) || IsHash(first, kArgumentsHashDigits);
}

// ".<work queue>", or ".exchange.<exchange>.key.<key>"
std::string OwnerPart(const DelayRoute& route, std::size_t longest) {
  const std::string kind = std::string(route.owner_key ? kExchangePart : std::string_view()) + ".";
  const auto joined = [&route](std::string_view between) {
    std::string text(route.owner);
    if (route.owner_key) text.append(between).append(*route.owner_key);
    return text;
  };
  const std::string owner = joined(kKeyPart);
  if (!IsAmbiguous(route) && kind.size() + owner.size() <= longest) return kind + owner;
  constexpr std::string_view kInNoName("\0", 1);
  return absl::StrCat(kind, std::string(1, kOwnerHashMark),
                      absl::Hex(LongHashOf(joined(kInNoName)), absl::kZeroPad16));
}

// "x-queue-type=classic;x-message-ttl=1000;…"
std::string CanonicalText(const amqp::Table& arguments) {
  std::string text;
  for (const auto& [name, value] : arguments.fields()) {
    const auto* number = std::get_if<std::int64_t>(&value.variant);
    absl::StrAppend(
        &text, name, "=",
        number != nullptr ? absl::StrCat(*number) : std::get<std::string>(value.variant), ";");
  }
  return text;
}

}  // namespace

bool HasOwnDelayQueues(const DelayQueueOptions& options) {
  return options.queue_type == QueueType::kQuorum && !options.share;
}

std::optional<std::uint8_t> PriorityLevel(std::optional<std::uint8_t> priority,
                                          const BrokerVersion& version,
                                          const DelayQueueOptions& options) {
  constexpr std::uint8_t kDefault = 4;  // of a message without a priority
  if (!priority || options.queue_type != QueueType::kQuorum || !options.declare) {
    return std::nullopt;
  }
  if (version >= BrokerVersion{4, 3}) {
    const std::uint8_t level = std::min(*priority, kHighestPriority);
    return level == kDefault ? std::nullopt : std::optional(level);
  }
  if (version < BrokerVersion{4, 0} || *priority <= kDefault) return std::nullopt;
  return kDefault + 1;
}

std::optional<std::uint8_t> ParsePriorityPart(std::string_view part) {
  if (part.size() < 2 || part.size() > 3 || part.front() != kPriorityMark) return std::nullopt;
  const std::string_view digits = part.substr(1);
  unsigned level = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') return std::nullopt;
    level = level * 10 + static_cast<unsigned>(digit - '0');
  }
  if (level > kHighestPriority || (digits.size() > 1 && digits.front() == '0')) return std::nullopt;
  return static_cast<std::uint8_t>(level);
}

bool IsHash(std::string_view text, std::size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

DeclareParams DelayQueueDeclaration(const DelayRoute& route, const DelayQueueOptions& options,
                                    NameFamily family, const QuorumSlot& slot) {
  amqp::Table arguments = Arguments(route, options, family);
  std::string name = absl::StrCat(options.prefix, ".", absl::ToInt64Milliseconds(route.ttl));
  if (route.direct) name += kDirectPart;
  if (route.priority) absl::StrAppend(&name, ".", std::string(1, kPriorityMark), *route.priority);
  if (family == NameFamily::kHashed) {
    absl::StrAppend(&name, ".", absl::Hex(HashOf(CanonicalText(arguments)), absl::kZeroPad8));
  }
  const bool rotates = options.queue_type == QueueType::kQuorum && options.declare;
  if (HasOwnDelayQueues(options) && !route.owner.empty()) {
    constexpr std::size_t kSlotBytes = 3;
    name += OwnerPart(route, kMaxNameSize - kSlotBytes - name.size());
    if (!rotates) name += ".q";
  }
  if (rotates) {
    absl::StrAppend(&name, ".q", slot.slot);
    const absl::Duration stamp = absl::Milliseconds(slot.epoch % kStamps);
    arguments.Set(kExpires, absl::ToInt64Milliseconds(QueueLifetime(route.ttl, options) + stamp));
  }
  ExchangeDeclaration exchange{.name = name, .auto_delete = options.declare};
  return {.queue = {.name = std::move(name), .arguments = std::move(arguments)},
          .exchange = std::move(exchange)};
}

DeclareParams DelayQueueDeclaration(absl::Duration delay, const DelayTarget& target,
                                    const DelayQueueOptions& options) {
  const DelayRoute route{.ttl = delay,
                         .dead_letter_exchange = target.dead_letter_exchange,
                         .direct = target.direct,
                         .owner = target.work_queue};
  return DelayQueueDeclaration(route, options, NameFamily::kPlain);
}

std::vector<absl::Duration> DelayQueueTtls(const RetryOptions& policy,
                                           const DelayQueueOptions& options) {
  DelaySteps steps(options.max_delay_queues, options.exact_queues);
  steps.Add(policy);
  return steps.steps();
}

}  // namespace retryq
