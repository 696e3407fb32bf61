#ifndef RETRYQ_SRC_RETRY_DELAY_QUEUES_DELAY_QUEUE_ROUTE_H_
#define RETRYQ_SRC_RETRY_DELAY_QUEUES_DELAY_QUEUE_ROUTE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace retryq {

// Identifies a delay queue by its TTL and its dead-letter target.
struct DelayRoute {
  // Whole milliseconds, above zero.
  absl::Duration ttl;
  // "" is the default exchange.
  std::string_view dead_letter_exchange;
  // For `<prefix>.<T>.direct`, which exists beside the `<prefix>.<T>` of a named work exchange, for
  // copies that must return through the default exchange. `dead_letter_exchange` is "" then.
  bool direct = false;
  // The work queue or, with `owner_key`, the exchange that the queue belongs to. Empty if work
  // queues share it, as they share all classic delay queues. See DelayTarget.
  std::string_view owner = {};
  std::optional<std::string_view> owner_key = std::nullopt;
  // The priority level of the messages in a quorum queue, see PriorityLevel. Not set for messages
  // that are treated as if they had no priority.
  std::optional<std::uint8_t> priority = std::nullopt;

  friend bool operator==(const DelayRoute&, const DelayRoute&) = default;
};

// A route that owns its texts. Maps with this key can be searched by a DelayRoute.
class DelayRouteKey {
 public:
  explicit DelayRouteKey(const DelayRoute& route)
      : ttl_(route.ttl),
        dead_letter_exchange_(route.dead_letter_exchange),
        direct_(route.direct),
        owner_(route.owner),
        owner_key_(route.owner_key),
        priority_(route.priority) {}

  DelayRoute route() const {
    return {.ttl = ttl_,
            .dead_letter_exchange = dead_letter_exchange_,
            .direct = direct_,
            .owner = owner_,
            .owner_key = owner_key_,
            .priority = priority_};
  }

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const DelayRoute& route) const {
      const auto hashable = [](std::string_view text) {
        return absl::string_view(text.data(), text.size());
      };
      return absl::HashOf(route.ttl, hashable(route.dead_letter_exchange), route.direct,
                          hashable(route.owner), route.owner_key.has_value(),
                          hashable(route.owner_key.value_or(std::string_view())), route.priority);
    }
    std::size_t operator()(const DelayRouteKey& key) const { return (*this)(key.route()); }
  };

  struct Equal {
    using is_transparent = void;
    static DelayRoute Of(const DelayRoute& route) { return route; }
    static DelayRoute Of(const DelayRouteKey& key) { return key.route(); }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return Of(a) == Of(b);
    }
  };

 private:
  absl::Duration ttl_;
  std::string dead_letter_exchange_;
  bool direct_;
  std::string owner_;
  std::optional<std::string> owner_key_;
  std::optional<std::uint8_t> priority_;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELAY_QUEUES_DELAY_QUEUE_ROUTE_H_
