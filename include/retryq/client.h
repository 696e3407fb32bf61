#ifndef RETRYQ_CLIENT_H_
#define RETRYQ_CLIENT_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/consumer.h"
#include "retryq/delay_queue_options.h"
#include "retryq/event_loop.h"
#include "retryq/export.h"
#include "retryq/observer.h"
#include "retryq/outgoing_message.h"
#include "retryq/retrier.h"
#include "retryq/work_queue.h"

namespace retryq {

struct ClientOptions {
  // amqp://user:password@host:port/vhost, or amqps:// for TLS; see amqp::ParseUri.
  std::string url = "amqp://guest:guest@localhost:5672/";

  // More endpoints of the same cluster: URLs that differ from `url` in host and
  // port only.
  std::vector<std::string> more_urls = {};

  // Returns the URLs, `url` first, in place of `url` and `more_urls`: for a password that changes
  // while the client lives. Called when the client is made, and again before each attempt to
  // connect, on the loop's thread, which it must not block. Only user, password, hosts and ports
  // may change. An error is reported as a failed attempt ("disconnected"), and the next one
  // follows.
  std::function<absl::StatusOr<std::vector<std::string>>()> url_source = nullptr;

  DelayQueueOptions delay_queues = {};

  // How many calls of `Client::Publish` may be unanswered, which bounds their
  // memory. Above zero.
  std::size_t max_open_publishes = 10000;

  // How long what comes may gather before it is read: see amqp::ConnectionOptions.
  absl::Duration read_coalescing = absl::Milliseconds(2);

  // Shown in the management UI. Empty: program name and process id.
  std::string name = {};

  // Is told of everything. Not owned; must outlive the client. May be null. (Where an Environment
  // is given, that one's observer.)
  Observer* observer = nullptr;
};

// A connection to one vhost of one RabbitMQ, for any number of consumers and
// publishes: connects at once, and again by itself whenever the connection
// goes.
//
// Delivery guarantee: at least once, for what is consumed (see `Consume`) and for what is published
// and answered ok (see `Publish`).
//
// Used on its loop's thread. Destroy it there, before the loop: that closes the connection without
// waiting, and drops publishes that are unanswered, whose callbacks are not called. That may be
// inside any callback, an observer's included. Consumers that outlive it go on, on its connection,
// and report to nobody.
//
// When the loop drains, publishes that are open are waited for as long as some are still confirmed.
// Where for three seconds none is, they are answered with kUnavailable, also while handlers run,
// which may wait for them: from then on a message whose handler fails goes back to its queue, and
// no attempt is counted. Declares that are open are answered so at once.
//
// An exception of a callback or of the observer ends the loop, after a drain, with a kUnknown that
// names the callback (with an Environment: `fatal` hears it). In a forked child it does nothing.
class RETRYQ_EXPORT Client {
 public:
  // Wrong options are reported by `Consume`, `Publish` and `Declare`.
  Client(EventLoop& loop, ClientOptions options);
  // On a Broker of your own, which must outlive the client.
  Client(EventLoop& loop, Broker& broker, ClientOptions options);
  // On a Broker and an event loop of your own, or on retryq/testing/simulated_…: `environment`
  // names the loop's parts, which must outlive the client. `fatal` hears what would end an
  // EventLoop, and may be called more than once. Nothing drains by itself: see Consumer::Drain.
  Client(Environment environment, Broker& broker, ClientOptions options,
         std::function<void(absl::Status)> fatal);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Starts consuming `options.queue`, as soon as there is a connection. The
  // error, if any, is about options, the client's included (kInvalidArgument,
  // all wrong fields named); or kResourceExhausted, where the operating system refuses a thread of
  // `handler_threads`. Then nothing is started.
  //
  // What turns out wrong later and before the first success (no such queue,
  // vhost or exchange: kNotFound; refused: kPermissionDenied, kUnauthenticated)
  // ends the loop by `EventLoop::Fail`. After a first success the consumer
  // stays, reports it to the observer at most once a minute, and resumes by
  // itself.
  //
  // Drains by itself when the loop does. Delivery guarantee: at least once. A
  // message is acked after the handler's ok, or after its copy is confirmed and
  // not returned. A handler is begun only for a delivery whose channel is still there.
  absl::StatusOr<Consumer> Consume(ConsumerOptions options, Handler handler);
  absl::StatusOr<Consumer> Consume(ConsumerOptions options, AsyncHandler handler);

  // Publishes `message` so that it arrives when `options` say. Persistent and mandatory. Calls
  // `done` once, unless it is empty: ok when confirmed and not returned; kNotFound:
  // no such exchange, or no queue for the routing key, found out before the
  // delay where it can be; kInvalidArgument, which names what would make the broker close the
  // connection (a header that is no finite number, a name that is too long or holds NUL), or
  // found to make it do so; kUnavailable when the deadline is
  // over first; kResourceExhausted, with nothing sent, where
  // `max_open_publishes` are unanswered: go on in their answers; and, with quorum delay queues that
  // are not shared, for a delay to a 257th pair of exchange and routing key. Nothing is
  // given up before the deadline: a lost connection and a resource alarm are
  // waited for, and the message published again, so it can arrive twice.
  void Publish(OutgoingMessage message, PublishOptions options,
               std::function<void(absl::Status)> done);

  // Declares a work queue, then its exchanges with the bindings. May be repeated. Calls `done`
  // once, unless it is empty: ok when all is there as asked, made or found; kFailedPrecondition:
  // something exists with other arguments (the message says which, and the remedy) or belongs to
  // another connection; kInvalidArgument names the wrong fields, or what the broker does not know;
  // kPermissionDenied: it takes the right to configure queue and exchange, to write to the queue
  // and to read from the exchange; kResourceExhausted: the broker's limit of queues is reached;
  // kUnavailable when the deadline is over first, or where the connection is lost each time. What
  // was made before an error stays.
  void Declare(WorkQueue work_queue, DeclareOptions options,
               std::function<void(absl::Status)> done);

 private:
  class RETRYQ_NO_EXPORT Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace retryq

#endif  // RETRYQ_CLIENT_H_
