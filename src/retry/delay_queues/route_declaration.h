#ifndef RETRYQ_SRC_RETRY_DELAY_QUEUES_ROUTE_DECLARATION_H_
#define RETRYQ_SRC_RETRY_DELAY_QUEUES_ROUTE_DECLARATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/broker_version.h"
#include "retry/delay_queues/delay_queue_route.h"
#include "retryq/broker/broker.h"
#include "retryq/delay_queue_options.h"

namespace retryq {

// The two names of a delay queue. The name of a quorum queue continues with its priority and its
// owner, if it has them, and ends with its slot, `.q0` to `.q3`.
enum class NameFamily {
  kPlain,   // `<prefix>.<T>`, `<prefix>.<T>.direct`
  kHashed,  // the plain name, then `.<hash>`: eight hex digits over all arguments
};

// Whether each work queue has delay queues of its own. At-least-once dead lettering stops after 32
// messages of a queue that it cannot deliver (F37), so a work queue that does not take its messages
// must not delay those of another.
bool HasOwnDelayQueues(const DelayQueueOptions& options);

// From 4.0 on, quorum queues deliver and expire messages of higher priority first (F63). In a
// shared queue, messages of one level would delay due messages of another level, so each level has
// its own delay queue. Returns the level of a message in a broker of this version; nullopt if the
// priority makes no difference, or nothing may be declared.
std::optional<std::uint8_t> PriorityLevel(std::optional<std::uint8_t> priority,
                                          const BrokerVersion& version,
                                          const DelayQueueOptions& options);

// Parts of names, see DelayQueueName.
inline constexpr std::string_view kDirectPart = ".direct";
inline constexpr char kPriorityMark = 'p';
inline constexpr std::uint8_t kHighestPriority = 31;
inline constexpr std::string_view kExchangePart = ".exchange";
inline constexpr std::string_view kKeyPart = ".key.";
inline constexpr std::size_t kArgumentsHashDigits = 8;
inline constexpr char kOwnerHashMark = '#';
inline constexpr std::size_t kOwnerHashDigits = 16;

// Parses "p9"; returns nullopt for other text.
std::optional<std::uint8_t> ParsePriorityPart(std::string_view part);

// Whether the text consists of exactly `digits` hexadecimal digits, in lower case.
bool IsHash(std::string_view text, std::size_t digits);

// Returns the text before the first dot, or all of it if there is no dot.
inline std::string_view FirstPart(std::string_view text) { return text.substr(0, text.find('.')); }

// Identifies one of the quorum queues of a TTL. Each epoch uses the next slot, or a later one if a
// queue of an earlier epoch still has that name.
struct QuorumSlot {
  static constexpr int kSlots = 4;

  std::int64_t epoch = 0;
  int slot = 0;  // 0 … kSlots - 1
};

// Returns the declaration for a route: the queue with its arguments, and the fanout exchange of the
// same name. It depends only on the parameters, so all processes, platforms and versions agree on
// the names. `slot` is for quorum queues. The epoch is stamped on x-expires: a queue that is left
// from another epoch then refuses the declare (406), so retryq publishes no messages to it that
// would be deleted with it.
DeclareParams DelayQueueDeclaration(const DelayRoute& route, const DelayQueueOptions& options,
                                    NameFamily family, const QuorumSlot& slot = {});

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELAY_QUEUES_ROUTE_DECLARATION_H_
