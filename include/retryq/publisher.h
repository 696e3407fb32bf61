#ifndef RETRYQ_PUBLISHER_H_
#define RETRYQ_PUBLISHER_H_

#include <future>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "retryq/export.h"
#include "retryq/outgoing_message.h"

namespace retryq {

// Publishes on a Client from any thread: see Client::publisher. A cheap handle: copies share the
// client, which need not outlive them. Thread-safe.
//
// Every publish gets a result: one of those of Client::Publish, or one of these:
//
//   kCancelled            the client or the loop was destroyed or has drained, or the handler that
//                         published was abandoned; the message may still arrive
//   kResourceExhausted    ClientOptions::max_open_publishes publishes are open or on their way to
//                         the loop's thread
//   kFailedPrecondition   PublishAndWait was called on the loop's thread
//
// Messages of one thread are sent in the order of their publishes. On the loop's thread it
// publishes at once, as Client::Publish does, unless publishes of other threads are on their way.
class RETRYQ_EXPORT Publisher {
 public:
  using Done = absl::AnyInvocable<void(absl::Status) &&>;

  // Calls `done` once, unless it is empty: on the loop's thread, and never before this returns, if
  // the loop's thread has received the message. Otherwise (kCancelled, kResourceExhausted) it is
  // called on the calling thread before this returns, or on the thread that destroys the loop.
  void Publish(OutgoingMessage message, PublishOptions options, Done done) const;

  // The future is always fulfilled, as described above. It does not wait when it is destroyed. Do
  // not wait for it on the loop's thread.
  [[nodiscard]] std::future<absl::Status> Publish(OutgoingMessage message,
                                                  PublishOptions options = {}) const;

  // Publishes and waits for the result, for handlers on `handler_threads` and for other threads.
  // If the loop does not run, returns kUnavailable a second after `options.deadline`.
  absl::Status PublishAndWait(OutgoingMessage message, PublishOptions options = {}) const;

  // Made by the client.
  class RETRYQ_NO_EXPORT Link;
  explicit Publisher(std::shared_ptr<Link> link);

 private:
  std::shared_ptr<Link> link_;
};

}  // namespace retryq

#endif  // RETRYQ_PUBLISHER_H_
