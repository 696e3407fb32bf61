#ifndef RETRYQ_CLIENT_H_
#define RETRYQ_CLIENT_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/broker/retrier.h"
#include "retryq/consumer.h"
#include "retryq/delay_queue_options.h"
#include "retryq/duration.h"
#include "retryq/event_loop.h"
#include "retryq/export.h"
#include "retryq/observer.h"
#include "retryq/outgoing_message.h"
#include "retryq/publisher.h"
#include "retryq/tracing.h"
#include "retryq/work_queue.h"

namespace retryq {

// How to log in.
struct Credentials {
  std::string user = {};
  std::string password = {};  // or an OAuth 2 token
  // When RabbitMQ will no longer accept the password.
  absl::Time expires = absl::InfiniteFuture();
};

struct ClientOptions {
  // amqp://user:password@host:port/vhost, or amqps:// for TLS; see amqp::ParseUri.
  std::string url = "amqp://guest:guest@localhost:5672/";

  // More endpoints of the same cluster: URLs that differ from `url` only in host and port.
  std::vector<std::string> more_urls = {};

  // Returns the URLs, the one for `url` first; replaces `url` and `more_urls`. For a password that
  // changes while the client lives. Called when the client is made and again before each attempt to
  // connect, on the loop's thread, which it must not block. Only user, password, hosts and ports
  // may change. An error is reported as a failed attempt ("disconnected"), and the next attempt
  // follows.
  std::function<absl::StatusOr<std::vector<std::string>>()> url_source = nullptr;

  // Returns user and password, which replace those in the URLs: for a secret that is kept
  // elsewhere, or an OAuth 2 token. Called as `url_source`, and also while connected, when four
  // fifths of the time until `expires` have passed: the new password is sent on the open
  // connection. If that call fails, it is called again after four fifths of the remaining time, but
  // at least a second later. Each of the client's two connections calls it.
  std::function<absl::StatusOr<Credentials>()> credentials = nullptr;

  // Maximum number of `Client::Publish` calls that wait for their result; it limits the memory for
  // them. Above zero.
  std::size_t max_open_publishes = 10000;

  // How long received data may accumulate before it is read: see amqp::ConnectionOptions.
  Duration read_coalescing = absl::Milliseconds(2);

  // Connection name in the management UI. Empty: program name and process id.
  std::string name = {};

  // Receives all events. Not owned; must outlive the client. May be null. (A client that is made
  // with an Environment uses the observer of the Environment instead.)
  Observer* observer = nullptr;

  // Traces attempts, copies and publishes. Not owned; must outlive the client, and the calls of its
  // Publishers. May be null. (A client that is made with an Environment uses the tracer of the
  // Environment instead.)
  Tracer* tracer = nullptr;

  // This must be the last member: GCC 12 warns of uninitialized memory (-Wmaybe-uninitialized, with
  // -O3) if a designated initializer sets a member after this one.
  DelayQueueOptions delay_queues = {};
};

template <typename T>
class Task;  // retryq/coroutine.h

// A handler that is a coroutine: see retryq/coroutine.h.
template <typename Coroutine>
concept CoroutineHandler =
    std::is_same_v<std::invoke_result_t<Coroutine&, const Delivery&>, Task<Outcome>>;

// A connection to one vhost of one RabbitMQ, for any number of consumers and publishes. It connects
// at once, and reconnects by itself whenever the connection is lost.
//
// Delivery guarantee: at least once, for consumed messages (see `Consume`) and for publishes whose
// callback gets ok (see `Publish`).
//
// Used on its loop's thread, except its `publisher()`. While EventLoop::Run runs, a call on another
// thread ends the process (abort) with a line on stderr that names the function. Destroy the client
// on the loop's thread, before the loop. The destructor closes the connection without waiting, and
// drops open publishes without calling their callbacks, except those of a Publisher. It may run
// inside any callback, including an observer's. Consumers that outlive the client continue on its
// connection, and report to no observer and no tracer.
//
// When the loop drains, the client waits for open publishes while the broker keeps confirming some.
// If the broker confirms none for three seconds, the open publishes fail with kUnavailable, even
// while handlers run, because a handler may be waiting for its publish. From then on a message
// whose handler fails is requeued, and no attempt is counted. Open declares fail with kUnavailable
// at once.
//
// If a callback or the observer throws an exception, the loop drains and then ends with a kUnknown
// that names the callback (with an Environment, `fatal` receives it). In a forked child the client
// does nothing.
class RETRYQ_EXPORT Client {
 public:
  // Wrong options are reported by `Consume`, `Publish` and `Declare`.
  Client(EventLoop& loop, ClientOptions options);
  // Uses a Broker of your own, which must outlive the client.
  Client(EventLoop& loop, Broker& broker, ClientOptions options);
  // Uses a Broker and an event loop of your own, or those in retryq/testing/simulated_….
  // `environment` names the parts of the loop, which must outlive the client. `fatal` receives the
  // errors that would end an EventLoop, and may be called more than once. Nothing drains by itself:
  // see Client::Drain.
  Client(Environment environment, Broker& broker, ClientOptions options,
         std::function<void(absl::Status)> fatal);
  ~Client();
  // A client that was moved from can only be destroyed or assigned to.
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  // Starts consuming `options.queue` as soon as there is a connection. Returns an error, and starts
  // nothing, if options are invalid, including the client's (kInvalidArgument, which names all
  // invalid fields), or if the operating system refuses a thread of `handler_threads`
  // (kResourceExhausted).
  //
  // Errors that are found later, before the first success (queue, vhost or exchange not found:
  // kNotFound; refused: kPermissionDenied, kUnauthenticated), end the loop through
  // `EventLoop::Fail`. After a first success the consumer stays, reports errors to the observer at
  // most once a minute, and resumes by itself.
  //
  // The consumer drains by itself when the loop drains. Delivery guarantee: at least once. A
  // message is acked after the handler has returned ok, or after its copy is confirmed and not
  // returned. The handler is called only for a delivery whose channel is still open.
  [[nodiscard]] absl::StatusOr<Consumer> Consume(ConsumerOptions options, Handler handler);
  [[nodiscard]] absl::StatusOr<Consumer> Consume(ConsumerOptions options, AsyncHandler handler);
  // The handler is a coroutine: include retryq/coroutine.h.
  template <CoroutineHandler Coroutine>
  [[nodiscard]] absl::StatusOr<Consumer> Consume(ConsumerOptions options, Coroutine handler);
  // Rejects a handler that is none of these, or could be two of them, with an explanation.
  template <typename Wrong>
  requires(!CoroutineHandler<Wrong> &&
           std::is_constructible_v<Handler, Wrong> == std::is_constructible_v<AsyncHandler, Wrong>)
      absl::StatusOr<Consumer> Consume(ConsumerOptions /*options*/, Wrong&& /*handler*/) {
    static_assert(
        std::is_constructible_v<Handler, Wrong> != std::is_constructible_v<AsyncHandler, Wrong>,
        "a handler is a function of (const retryq::Delivery&) that returns absl::Status or "
        "retryq::Outcome, or a function of (retryq::Delivery, retryq::Settlement) that "
        "returns nothing");
    return absl::UnimplementedError("");
  }

  // Publishes `message` so that it arrives at the time that `options` set. The publish is
  // mandatory, and persistent unless `message.transient` is set. Calls `done` once, unless it is
  // empty. ok: the message is confirmed and not returned. kNotFound: the exchange does not exist,
  // or no queue matches the routing key; this is detected before the delay where possible.
  // kInvalidArgument: the message would make the broker close the connection (a number in a header
  // that is not finite, a name that is too long or contains NUL), or did so; the error names the
  // cause. kUnavailable: the deadline was over first. kResourceExhausted, with nothing sent:
  // `max_open_publishes` publishes are open (publish more in their callbacks), or, with quorum
  // delay queues that are not shared, the delay is for a 257th pair of exchange and routing key.
  // The client does not give up before the deadline: it waits while the connection is lost or a
  // resource alarm is on, and publishes the message again, so it can arrive twice.
  using Done = absl::AnyInvocable<void(absl::Status) &&>;
  void Publish(OutgoingMessage message, PublishOptions options = {}, Done done = nullptr);
  void Publish(OutgoingMessage message, Done done);

  // Waits for all earlier publishes, including those of a Publisher. Calls `done` once, unless it
  // is empty: with ok when all of them are answered, whatever their results, or with kUnavailable
  // when `deadline` is over; the publishes then continue. kResourceExhausted: `max_open_publishes`
  // calls are waiting already. An infinite deadline is no deadline.
  void Flush(Duration deadline, Done done = nullptr);

  // Stops gracefully, as when the loop drains: drains all consumers (see Consumer::Drain), waits
  // for open publishes while the broker keeps confirming some, and closes the connections,
  // including those of a Broker of your own. Calls `done` once, unless it is empty: with ok if
  // nothing was left, or with kUnavailable, at `deadline` at the latest, if deliveries were
  // requeued or publishes were not confirmed. May be called again: each `done` is called, and the
  // earliest deadline applies. An infinite deadline is no deadline. Afterwards Consume, Publish and
  // Declare fail with kCancelled.
  void Drain(Duration deadline, Done done = nullptr);

  // Returns a handle by which any thread may publish. It may outlive the client.
  Publisher publisher() const;

  // Declares a work queue, then its exchanges with the bindings. May be repeated. Calls `done`
  // once, unless it is empty. ok: everything exists as requested, newly created or not.
  // kFailedPrecondition: an object exists with other arguments (the message names the difference
  // and the remedy) or belongs to another connection. kInvalidArgument: the message names the
  // invalid fields, or the argument or type that the broker does not know. kPermissionDenied: the
  // user needs the right to configure queue and exchange, to write to the queue and to read from
  // the exchange. kResourceExhausted: the broker's limit of queues is reached. kUnavailable: the
  // deadline was over first, or the connection was lost each time. Objects that were created before
  // an error remain. Other calls do not wait for it: a publish to a new queue may fail with
  // kNotFound before `done` is called.
  void Declare(WorkQueue work_queue, DeclareOptions options = {}, Done done = nullptr);
  void Declare(WorkQueue work_queue, Done done);

 private:
  friend class Publisher;
  class RETRYQ_NO_EXPORT Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace retryq

#endif  // RETRYQ_CLIENT_H_
