#include "retry/delivery/timed_out.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>

#include "absl/hash/hash.h"
#include "base/header_names.h"
#include "retry/delivery/headers.h"

namespace retryq {
namespace {

struct Identity {
  std::uint64_t hash;
  bool has_id;
  std::int64_t failures;  // in the headers of its copy
};

// A message with an id is identified by it in all its copies. A message without an id is identified
// by its whole content, and gets an id with its first copy.
Identity Identify(const amqp::Message& message) {
  const amqp::TableView headers = message.properties.headers.value_or(amqp::TableView());
  const std::string_view message_id = message.properties.message_id.value_or(std::string_view());
  const RetryHeaders whose = RetryHeadersIn(headers);
  const std::string_view id = whose == RetryHeaders::kForeign
                                  ? message_id
                                  : headers.FindString(kRetryIdHeader).value_or(message_id);
  using Content =
      std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;
  const Content content = id.empty()
                              ? Content(id, message.exchange, message.routing_key, message.body)
                              : Content(id, {}, {}, message.body);
  return {.hash = absl::Hash<Content>{}(content),
          .has_id = !id.empty(),
          .failures = whose == RetryHeaders::kCopied
                          ? headers.FindInt64(kRetryCountHeader).value_or(0)
                          : 0};
}

// Returns how often a quorum queue of 4.3 or newer has had `message` returned without counting a
// failure: by basic.nack, or by a consumer timeout (F41, F42 in doc/rabbitmq_facts.md).
std::int64_t CountUncounted(const amqp::Message& message) {
  const amqp::TableView headers = message.properties.headers.value_or(amqp::TableView());
  return std::max<std::int64_t>(0, headers.FindInt64(kAcquiredCountHeader).value_or(0)) -
         std::max<std::int64_t>(0, headers.FindInt64(kDeliveryCountHeader).value_or(0));
}

}  // namespace

void TimedOut::Remember(const amqp::Message& message) {
  const Identity identity = Identify(message);
  const auto [known, is_new] = known_.try_emplace(identity.hash);
  if (is_new) order_.push_back(known->first);
  known->second.failures = identity.failures;
  known->second.uncounted = CountUncounted(message);
  ++known->second.times;
  while (known_.size() > kMost) {
    known_.erase(order_.front());
    order_.pop_front();
  }
}

std::uint64_t TimedOut::Take(const amqp::Message& message) {
  if (known_.empty()) return 0;
  const Identity identity = Identify(message);
  const auto known = known_.find(identity.hash);
  if (known == known_.end()) return 0;
  const bool same_copy = identity.failures == known->second.failures && message.redelivered &&
                         CountUncounted(message) > known->second.uncounted;
  const bool later_copy = identity.has_id && identity.failures > known->second.failures;
  if (!same_copy && !later_copy) return 0;
  const std::uint64_t times = known->second.times;
  std::erase(order_, known->first);
  known_.erase(known);
  return times;
}

}  // namespace retryq
