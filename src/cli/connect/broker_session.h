#ifndef RETRYQ_CLI_CONNECT_BROKER_SESSION_H_
#define RETRYQ_CLI_CONNECT_BROKER_SESSION_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/flags/flag_parser.h"
#include "cli/text/io.h"
#include "loop/libevent_ptr.h"
#include "retryq/amqp/connection.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/broker/broker.h"
#include "retryq/broker/delay_queue_declaration.h"
#include "retryq/broker/delay_queue_name.h"
#include "retryq/client.h"
#include "retryq/delay_queue_options.h"
#include "retryq/event_loop.h"
#include "retryq/observer.h"

namespace retryq::cli {

// How long a command waits at its end for the connection to close. RabbitMQ logs a connection that
// ends without a close as an error of the client.
inline constexpr absl::Duration kGoodbye = absl::Seconds(1);

// Closes the connection and runs the loop until it is closed.
void SayGoodbye(EventLoop& loop, amqp::Connection& connection);

// Closes the connections of the client on this loop.
void SayGoodbye(EventLoop& loop);

// Disables the default actions of SIGINT, SIGTERM and SIGHUP during its lifetime, so that no signal
// kills the process while it shuts down.
class HeldSignals {
 public:
  // kIgnored: the process exits with the exit code of the completed work.
  enum class Afterwards { kAsBefore, kIgnored };

  // `loop` must outlive it.
  explicit HeldSignals(EventLoop& loop, Afterwards afterwards = Afterwards::kAsBefore);

 private:
  std::vector<EventPtr> held_;
};

// How long a command waits for a reply of the broker.
inline constexpr absl::Duration kLongestSilence = absl::Seconds(10);

// The deadline of an operation of a command that then closes its connection.
inline const absl::Duration kLongestOperation = kLongestSilence - kGoodbye;

// Returns the options with this connection name, which the broker lists.
inline amqp::ConnectionOptions Named(amqp::ConnectionOptions options, std::string name) {
  options.connection_name = std::move(name);
  return options;
}

// Limits an attempt to connect to this time, over all its steps.
amqp::ConnectionOptions WithPatience(amqp::ConnectionOptions options, absl::Duration patience);

// Sends AMQP requests to a broker one after the other, each on its own channel, because a refusal
// closes the channel, and waits up to `patience` for each reply. Statuses are those of
// amqp::Channel, or kDeadlineExceeded without a reply, after which no request is sent any more.
class BrokerSession final : private amqp::ConnectionListener, private amqp::ChannelListener {
 public:
  // `loop` must outlive it.
  BrokerSession(EventLoop& loop, amqp::ConnectionOptions options,
                absl::Duration patience = kLongestSilence);
  // Closes the connection.
  ~BrokerSession() override;

  // Connects, which may also take up to `patience`. Returns the error of the first round of
  // attempts.
  absl::Status Open();

  absl::StatusOr<DeclareOk> DeclareQueue(const QueueDeclaration& queue);
  absl::Status DeclareExchange(const ExchangeDeclaration& exchange);
  absl::Status CheckExchange(std::string_view exchange);
  absl::Status Bind(std::string_view queue, std::string_view exchange);
  absl::Status DeleteQueue(std::string_view queue);
  absl::Status DeleteExchange(std::string_view exchange);

  // Check a permission without using it. Return kPermissionDenied, kNotFound or ok.
  //
  // MayConfigure, for a queue that does not exist: declares it with an argument that every broker
  // refuses after it has checked the permission.
  absl::Status MayConfigure(std::string_view queue);
  // MayConsume: consumes with an argument that every broker refuses.
  absl::Status MayConsume(std::string_view queue);
  // MayPublish: publishes an empty mandatory message with a routing key that matches no binding.
  absl::Status MayPublish(std::string_view exchange, std::string_view routing_key);

  // Runs the loop for this time.
  void Wait(absl::Duration duration);

  // Whether the broker has an alarm, which it reports only to connections that publish.
  bool blocked() const { return blocked_; }
  std::string server_version() const { return connection_.server_version(); }

 private:
  void OnOpen() override;
  void OnLost(const absl::Status& why) override;
  void OnBlocked(bool blocked, std::string_view reason) override;
  void OnChannelClosed(const amqp::ChannelError& why) override;

  // Calls `ask` and runs the loop until its reply.
  template <typename Answer>
  Answer Ask(const std::function<void(amqp::Channel&, std::function<void(Answer)>)>& ask);

  EventLoop& loop_;
  const std::string broker_;  // for messages
  const absl::Duration patience_;
  bool silent_ = false;  // a request had no reply
  std::optional<absl::Status> opened_;
  bool blocked_ = false;
  amqp::Connection connection_;
};

// A temporary delay queue for checks of a broker, with a TTL of nearly ten years that no other
// queue has. It expires after `lease`. The destructor deletes the queue and its exchange.
class ThrowAwayQueue {
 public:
  // Does not declare the queue yet. `session` must outlive the object. No message is sent to
  // `target`.
  ThrowAwayQueue(BrokerSession& session, const DelayQueueOptions& options,
                 const DelayTarget& target, absl::Duration lease);
  ~ThrowAwayQueue();
  ThrowAwayQueue(const ThrowAwayQueue&) = delete;
  ThrowAwayQueue& operator=(const ThrowAwayQueue&) = delete;

  const QueueDeclaration& queue() const { return params_.queue; }
  const ExchangeDeclaration& exchange() const { return *params_.exchange; }

  // Declares the queue, the first time or again.
  absl::Status Declare();
  // Returns kNotFound if it does not exist. (This use renews its lease.)
  absl::Status Look();

 private:
  BrokerSession& session_;
  DeclareParams params_;
  bool declared_ = false;
};

// The declarations for a check of permissions. Names and target are those of a temporary delay
// queue, but the queue is always classic, which is cheap for the broker.
DeclareParams ThrowAwayForRights(const DelayQueueOptions& options, const DelayTarget& target,
                                 absl::Duration lease);

// Returns whether this is the name of a temporary queue.
bool IsThrowAway(const DelayQueueName& name);

// The default time to wait for a broker that cannot be reached.
inline constexpr absl::Duration kDefaultWait = absl::Milliseconds(1500);

// Adds --url, --url-file and --wait, for a command that does one operation on a broker.
void AddBrokerFlags(FlagParser& parser, ClientOptions* client, absl::Duration* wait);

// For a command that does one operation on a broker: fails the loop, with the remedy, if the broker
// refuses the connection or cannot be reached for `wait`. Reports longer waits on stderr, also for
// a connection that is lost later. If the permission to declare delay queues is missing, it calls
// `refused` or, without a callback, fails the loop.
class BrokerWatch : public Observer {
 public:
  // `loop` must outlive it. `wait` is for the first connection. `then` is the reason why the
  // command waits after it has connected; empty: it does not wait.
  using Refused = std::function<void(const absl::Status& why)>;
  BrokerWatch(EventLoop& loop, const ClientOptions& client, absl::Duration wait, std::string then,
              Refused refused = nullptr);

  void OnEvent(const Event& event) override;

  bool has_connected() const { return has_connected_; }

  // Calls `begin` once, when the first connection is open.
  void WhenConnected(std::function<void()> begin) { begin_ = std::move(begin); }

  // Runs the loop until it is stopped, and closes the connections. Returns why the loop failed;
  // otherwise `result`.
  absl::Status Run(const absl::Status& result);

 private:
  void OnDisconnected(std::string_view error);
  void Begin(std::string_view why);
  void GiveUp();

  EventLoop& loop_;
  const std::string broker_;
  const std::string then_;
  const Refused refused_;
  std::function<void()> begin_;
  std::optional<Waiting> waiting_;
  bool has_connected_ = false;
  bool is_overdue_ = false;
  std::string problem_;
  std::unique_ptr<Timer> timer_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_CONNECT_BROKER_SESSION_H_
