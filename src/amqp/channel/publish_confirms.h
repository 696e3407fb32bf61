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
#include "retryq/broker.h"

namespace retryq::amqp {

// What a returned message is recognised by. A return names no publish, and its ack may come
// much later or within a `multiple`, so nothing but the content tells which one it was.
struct Fingerprint {
  std::uint64_t exact = 0;  // of exchange, routing key and properties, byte for byte
  // The same except for the properties that a broker may rewrite: 3.10 takes BCC out of the
  // headers, 4.x encodes all of them anew.
  std::uint64_t stable = 0;
  std::uint64_t body = 0;
  // Instead of that: to hash a large body costs more than the rest of its publish, and few
  // publishes are returned.
  std::string_view kept_body;
  std::shared_ptr<const void> body_owner;

  // `encoded` is the content header's payload. A body that has an owner may be kept until the
  // fingerprint goes.
  static Fingerprint Of(std::string_view exchange, std::string_view routing_key,
                        const Properties& properties, std::string_view encoded,
                        std::string_view body,
                        const std::shared_ptr<const void>& body_owner = nullptr);

  bool HasBodyOf(const Fingerprint& other) const;
};

// The unanswered publishes of one channel in confirm mode, joined with their returns: every
// one ends exactly once.
//
// Callbacks may add further publishes, and may call `Abandon`.
class PublishConfirms {
 public:
  using Callback = std::function<void(const PublishResult&)>;

  // The next publish, numbered from 1 as the broker does. One that is not mandatory
  // needs no fingerprint.
  void Add(Fingerprint fingerprint, Callback done);

  // basic.return. Of several publishes of the same content any is as good as another. False if
  // there is none.
  bool Return(const Fingerprint& fingerprint, std::uint16_t code, std::string_view text);

  // basic.ack and basic.nack: `tag`, or with `multiple` all up to it (0: all). What is answered
  // already is passed over. False, and nothing is settled, for a number that no publish had.
  [[nodiscard]] bool Settle(std::uint64_t tag, bool multiple, PublishOutcome outcome);

  // The channel is gone: what is not known to be returned ends as kUnknown with this code.
  void FailAll(std::uint16_t code, std::string_view text);

  // Nobody wants to know any more.
  void Abandon() { open_.clear(); }

  // Publishes not answered yet, and some that wait for older ones to be.
  std::size_t size() const { return open_.size(); }

  // How many have been answered since this was last asked.
  std::size_t TakeAnswered() { return std::exchange(answered_, 0); }

 private:
  struct Refusal {
    std::uint16_t code;
    std::string text;
  };
  struct Entry {
    Fingerprint fingerprint;
    Callback done;                     // null once answered
    std::unique_ptr<Refusal> refusal;  // set once returned: few are
  };

  // The next that agrees with `returned` in this and in the body.
  Entry* FindReturned(std::uint64_t Fingerprint::*hash, const Fingerprint& returned);
  Entry PopFront();
  void Answer(const Entry& entry, const PublishResult& otherwise);

  Ring<Entry> open_;               // by number
  std::uint64_t first_ = 1;        // the number of open_[0]
  std::uint64_t next_return_ = 1;  // returns come in order: where to look first
  std::size_t answered_ = 0;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CHANNEL_PUBLISH_CONFIRMS_H_
