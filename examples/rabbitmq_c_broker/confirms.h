#ifndef RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_CONFIRMS_H_
#define RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_CONFIRMS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "retryq/amqp/properties.h"
#include "retryq/broker.h"

namespace examples {

// What a returned message is known by: nothing in basic.return says which publish it was.
struct Fingerprint {
  std::size_t exact = 0;   // of the whole message
  std::size_t stable = 0;  // of the parts that no broker rewrites on the way

  // `encoded` are the properties as they are sent.
  static Fingerprint Of(std::string_view exchange, std::string_view routing_key,
                        const retryq::amqp::Properties& properties, std::string_view encoded,
                        std::string_view body);
};

// The publishes of a channel in confirm mode that the broker has not answered yet. Each is answered
// once, with what it came to.
class Confirms {
 public:
  // Like retryq::PublishResult, with a text of its own.
  struct Result {
    retryq::PublishOutcome outcome = retryq::PublishOutcome::kUnknown;
    std::uint16_t code = 0;
    std::string text = {};
  };
  using Answer = std::function<void(std::uint64_t id, Result)>;

  explicit Confirms(Answer answer) : answer_(std::move(answer)) {}

  // The next publish, as the broker counts them: from 1.
  void Add(std::uint64_t id, const Fingerprint& fingerprint);

  // basic.return. An ack follows, at some time, and counts as nothing more. False if there is no
  // such publish.
  [[nodiscard]] bool Return(const Fingerprint& fingerprint, std::uint16_t code, std::string text);

  // basic.ack and basic.nack: `tag`, or with `multiple` all up to it.
  void Settle(std::uint64_t tag, bool multiple, retryq::PublishOutcome outcome);

  // The broker has closed the channel, and begins to count anew on the next one.
  void FailAll(std::uint16_t code, const std::string& text);

  // Forgets all, unanswered, and begins anew.
  void Clear();

 private:
  struct Open {
    std::uint64_t id;
    Fingerprint fingerprint;
    std::optional<Result> returned;
  };
  using OpenByTag = std::map<std::uint64_t, Open>;

  OpenByTag::iterator End(OpenByTag::iterator open, Result result);

  const Answer answer_;
  OpenByTag open_;
  std::uint64_t last_tag_ = 0;
};

}  // namespace examples

#endif  // RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_CONFIRMS_H_
