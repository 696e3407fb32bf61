#include "retry/delay_queue_name.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "retry/delay_steps.h"
#include "retryq/delay_queue_declaration.h"

namespace retryq {
namespace {

constexpr char kExpires[] = "x-expires";

// A prime, so that no two epochs that can meet share a stamp.
constexpr std::int64_t kStamps = 997;

bool IsLimited(const DelayQueueOptions& options) {
  return options.max_length > 0 || options.max_length_bytes > 0;
}

// All but the stamp of a quorum queue's epoch.
amqp::Table Arguments(const DelayRoute& route, const DelayQueueOptions& options) {
  const bool quorum = options.queue_type == QueueType::kQuorum;
  amqp::Table arguments = {
      {"x-queue-type", quorum ? "quorum" : "classic"},
      {"x-message-ttl", absl::ToInt64Milliseconds(route.ttl)},
  };
  if (options.declare) {
    arguments.Set(kExpires, absl::ToInt64Milliseconds(QueueLifetime(route.ttl, options)));
  }
  arguments.Set("x-dead-letter-exchange", route.dead_letter_exchange);
  // Kept until the work queue has it; and that needs the overflow below.
  if (quorum) arguments.Set("x-dead-letter-strategy", "at-least-once");
  if (quorum || IsLimited(options)) arguments.Set("x-overflow", "reject-publish");
  const auto set_limit = [&arguments](std::string_view name, std::uint64_t limit) {
    if (limit > 0) arguments.Set(name, static_cast<std::int64_t>(limit));
  };
  set_limit("x-max-length", options.max_length);
  set_limit("x-max-length-bytes", options.max_length_bytes);
  return arguments;
}

// FNV-1a, folded from 64 to 32 bits.
std::uint32_t HashOf(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
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

DeclareParams DelayQueueDeclaration(const DelayRoute& route, const DelayQueueOptions& options,
                                    NameFamily family, const QuorumSlot& slot) {
  amqp::Table arguments = Arguments(route, options);
  std::string name = absl::StrCat(options.prefix, ".", absl::ToInt64Milliseconds(route.ttl),
                                  route.direct ? ".direct" : "");
  if (family == NameFamily::kHashed) {
    absl::StrAppend(&name, ".", absl::Hex(HashOf(CanonicalText(arguments)), absl::kZeroPad8));
  }
  if (options.queue_type == QueueType::kQuorum && options.declare) {
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
  const DelayRoute route{
      .ttl = delay, .dead_letter_exchange = target.dead_letter_exchange, .direct = target.direct};
  return DelayQueueDeclaration(route, options, NameFamily::kPlain);
}

std::vector<absl::Duration> DelayQueueTtls(const RetryOptions& policy,
                                           const DelayQueueOptions& options) {
  DelaySteps steps(options.max_delay_queues, options.exact_queues);
  steps.Add(policy);
  return steps.steps();
}

}  // namespace retryq
