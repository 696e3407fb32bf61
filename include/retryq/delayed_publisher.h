#ifndef RETRYQ_DELAYED_PUBLISHER_H_
#define RETRYQ_DELAYED_PUBLISHER_H_

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/client.h"
#include "retryq/outgoing_message.h"

namespace retryq {

struct DelayedPublisherOptions {
  // As PublishOptions has them.
  bool round_up = false;
  absl::Duration deadline = absl::Seconds(30);
};

// Publishes messages so that they arrive later, in any queue or through any exchange, confirmed, on
// plain queues and without a plugin. What holds for a delay, and how each ends, is told at
// PublishOptions and Client::Publish.
//
//   DelayedPublisher publisher(client);
//   publisher.PublishAfter({.routing_key = "orders", .body = "42"}, absl::Minutes(10), done);
//
// Delivery guarantee: at least once, for what is answered ok. Copies share the client, which must
// outlive them. Used on the loop's thread.
class DelayedPublisher {
 public:
  explicit DelayedPublisher(Client& client, DelayedPublisherOptions options = {})
      : client_(&client), options_(options) {}

  // So long after it is published.
  void PublishAfter(OutgoingMessage message, absl::Duration delay,
                    std::function<void(absl::Status)> done) {
    client_->Publish(std::move(message),
                     {.delay = delay, .round_up = options_.round_up, .deadline = options_.deadline},
                     std::move(done));
  }

  // Not before `time`, by this machine's clock.
  void PublishAt(OutgoingMessage message, absl::Time time, std::function<void(absl::Status)> done) {
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
