#ifndef RETRYQ_SRC_RETRY_DELAY_QUEUES_ROUTE_DECLARATION_H_
#define RETRYQ_SRC_RETRY_DELAY_QUEUES_ROUTE_DECLARATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "retry/delay_queues/delay_queue_route.h"
#include "retryq/broker.h"
#include "retryq/delay_queue_options.h"

namespace retryq {

// The two names that a delay queue can have. Those of a quorum queue have its priority and its
// owner behind them, unless it has none, and `.q0` to `.q3`: its slot.
enum class NameFamily {
  kPlain,   // `<prefix>.<T>`, `<prefix>.<T>.direct`
  kHashed,  // the same with `.<hash>` behind it: eight hex digits over all arguments
};

// Whether each work queue has delay queues of its own. At-least-once dead lettering holds at most
// 32 messages of a queue that it cannot deliver, and nothing behind them leaves (F37): so what one
// work queue does not take must not be in the way of another's.
bool HasOwnDelayQueues(const DelayQueueOptions& options);

// From 4.0 on a quorum queue delivers, and lets expire, messages of higher priority first (F63):
// those of other levels would hold up messages that are due, and so each level has a delay queue of
// its own. The level of a message, as the broker `version` tells them apart; none where it makes no
// difference, or nothing may be declared.
std::optional<std::uint8_t> PriorityLevel(std::optional<std::uint8_t> priority,
                                          std::string_view version,
                                          const DelayQueueOptions& options);

// Parts of names, as DelayQueueName has them.
inline constexpr std::string_view kDirectPart = ".direct";
inline constexpr char kPriorityMark = 'p';
inline constexpr std::uint8_t kHighestPriority = 31;
inline constexpr std::string_view kExchangePart = ".exchange";
inline constexpr std::string_view kKeyPart = ".key.";
inline constexpr std::size_t kArgumentsHashDigits = 8;
inline constexpr char kOwnerHashMark = '#';
inline constexpr std::size_t kOwnerHashDigits = 16;

// Reads "p9"; none if it is something else.
std::optional<std::uint8_t> ParsePriorityPart(std::string_view part);

// Whether this is so many hexadecimal digits, as hashes are written, and nothing else.
bool IsHash(std::string_view text, std::size_t digits);

// What stands before the first dot, or all if there is none.
inline std::string_view FirstPart(std::string_view text) { return text.substr(0, text.find('.')); }

// Which of the quorum queues of one TTL. Each epoch has the next slot; where that is not free, as
// an earlier epoch's queue is still there, the one behind it.
struct QuorumSlot {
  static constexpr int kSlots = 4;

  std::int64_t epoch = 0;
  int slot = 0;  // 0 … kSlots - 1
};

// What to declare for a route: the queue with its arguments, and the fanout exchange
// of the same name. Depends on nothing else: all processes, platforms and
// versions agree on the names. `slot` is for quorum queues: the epoch is stamped on x-expires, so
// that a queue left over from another epoch refuses the declare (406) and does not swallow what
// it would not outlive.
DeclareParams DelayQueueDeclaration(const DelayRoute& route, const DelayQueueOptions& options,
                                    NameFamily family, const QuorumSlot& slot = {});

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELAY_QUEUES_ROUTE_DECLARATION_H_
