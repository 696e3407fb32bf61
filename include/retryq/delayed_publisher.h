#ifndef RETRYQ_DELAYED_PUBLISHER_H_
#define RETRYQ_DELAYED_PUBLISHER_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/client.h"
#include "retryq/duration.h"
#include "retryq/outgoing_message.h"

namespace retryq {

struct DelayedPublisherOptions {
  // See PublishOptions.
  bool round_up = false;
  Duration deadline = absl::Seconds(30);
};

// Publishes messages that arrive later, in any queue or through any exchange. Uses publisher
// confirms and ordinary queues, and no plugin. PublishOptions documents the delays, Client::Publish
// the results.
//
//   DelayedPublisher publisher(client);
//   publisher.PublishAfter({.routing_key = "orders", .body = "42"}, absl::Minutes(10), done);
//
// Delivery guarantee: at least once, for publishes whose callback gets ok. Copies of a publisher
// share the client, which must outlive them. Used on the loop's thread.
class DelayedPublisher {
 public:
  explicit DelayedPublisher(Client& client, DelayedPublisherOptions options = {})
      : client_(&client), options_(options) {}

  // Publishes `message` so that it arrives after `delay`.
  void PublishAfter(OutgoingMessage message, Duration delay, Client::Done done) {
    client_->Publish(std::move(message),
                     {.delay = delay, .round_up = options_.round_up, .deadline = options_.deadline},
                     std::move(done));
  }

  // Publishes `message` so that it arrives no earlier than `time`, by this machine's clock.
  void PublishAt(OutgoingMessage message, absl::Time time, Client::Done done) {
    client_->Publish(std::move(message),
                     {.at = time, .round_up = options_.round_up, .deadline = options_.deadline},
                     std::move(done));
  }

 private:
  Client* client_;
  DelayedPublisherOptions options_;
};

}  // namespace retryq

#endif  // RETRYQ_DELAYED_PUBLISHER_H_
