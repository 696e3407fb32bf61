#ifndef RETRYQ_SRC_AMQP_CHANNEL_PUBLISH_CONFIRMS_H_
#define RETRYQ_SRC_AMQP_CHANNEL_PUBLISH_CONFIRMS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "amqp/transport/ring.h"
#include "retryq/broker/broker.h"

namespace retryq::amqp {

// Identifies a returned message. A return does not name its publish, and the ack of the publish may
// come much later or in a `multiple`, so only the content shows which publish it was.
struct Fingerprint {
  std::uint64_t exact = 0;  // hash of exchange, routing key and encoded properties
  // The same without the properties that a broker may rewrite: 3.10 removes BCC from the headers,
  // 4.x re-encodes all headers.
  std::uint64_t stable = 0;
  std::uint64_t body = 0;
  // Used instead of `body` for large bodies: hashing them costs more than the rest of a publish,
  // and few publishes are returned.
  std::string_view kept_body;
  std::shared_ptr<const void> body_owner;

  // `encoded` is the payload of the content header. A body that has an owner may be kept for the
  // life of the fingerprint.
  static Fingerprint Of(std::string_view exchange, std::string_view routing_key,
                        const Properties& properties, std::string_view encoded,
                        std::string_view body,
                        const std::shared_ptr<const void>& body_owner = nullptr);

  bool HasBodyOf(const Fingerprint& other) const;
};

// The unanswered publishes of one channel in confirm mode, and their returns. Each publish ends
// exactly once.
//
// Callbacks may add further publishes, and may call `Abandon`.
class PublishConfirms {
 public:
  using Callback = std::function<void(const PublishResult&)>;

  // Add the next publish. They are numbered from 1, as the broker numbers them. A publish that is
  // not mandatory needs no fingerprint. `frames` are those that `Outbox::AddPublish` returns: if
  // they are small, they are copied, and fingerprinted only when a message is returned, which is
  // rare.
  void Add(Fingerprint fingerprint, Callback done);
  void Add(const PublishParams& params, std::string_view frames, Callback&& done);

  // Handles basic.return. If several publishes have the same content, any of them is used. Returns
  // false if there is none.
  bool Return(const Fingerprint& fingerprint, std::uint16_t code, std::string_view text);

  // Handles basic.ack and basic.nack: `tag`, or with `multiple` all up to it (0: all). Skips
  // publishes that were answered before. Returns false, and settles nothing, for a number that no
  // publish has had.
  [[nodiscard]] bool Settle(std::uint64_t tag, bool multiple, PublishOutcome outcome);

  // The channel is gone: publishes that were not returned end as kUnknown with this code.
  void FailAll(std::uint16_t code, std::string_view text);

  // Drops all callbacks.
  void Abandon() { open_.clear(); }

  // Number of unanswered publishes, and of answered ones that wait for older ones.
  std::size_t size() const { return open_.size(); }

  // Returns the number of answers since the last call.
  std::size_t TakeAnswered() { return std::exchange(answered_, 0); }

 private:
  struct Refusal {
    std::uint16_t code;
    std::string text;
  };
  struct Entry {
    // Sets the fingerprint if it is not set, and returns it.
    const Fingerprint& print();

    Fingerprint fingerprint;  // not set while there is a copy
    std::string copy;         // of its frames; empty if there is none. Entries keep its memory
    Callback done;            // null once answered
    std::unique_ptr<Refusal> refusal;  // set if returned, as few are
  };

  // Returns the next publish whose `hash` and body are those of `returned`.
  Entry* FindReturned(std::uint64_t Fingerprint::*hash, const Fingerprint& returned);
  // What remains of a publish when it is answered.
  struct Answered {
    Callback done;
    std::unique_ptr<Refusal> refusal;
    std::shared_ptr<const void> body_owner;
  };
  static Answered Take(Entry& entry);
  Answered PopFront();
  void Answer(const Answered& answered, const PublishResult& otherwise);

  Ring<Entry> open_;               // by number
  std::uint64_t first_ = 1;        // number of open_[0]
  std::uint64_t next_return_ = 1;  // start of the search: returns arrive in order
  std::size_t answered_ = 0;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CHANNEL_PUBLISH_CONFIRMS_H_
