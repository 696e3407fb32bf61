#ifndef RETRYQ_CLI_CONNECT_BROKER_SESSION_H_
#define RETRYQ_CLI_CONNECT_BROKER_SESSION_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/amqp/connection.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/broker.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

// How long a command waits for a broker that does not answer.
inline constexpr absl::Duration kLongestSilence = absl::Seconds(10);

// Has an attempt to connect fail after that time, whichever step of it takes so long.
amqp::ConnectionOptions WithPatience(amqp::ConnectionOptions options, absl::Duration patience);

// Asks a broker one thing after the other by AMQP, and waits for each answer for `patience`. Each
// question has a channel of its own, as a refusal closes it. Statuses are those of amqp::Channel;
// kDeadlineExceeded where there is no answer, and nothing is asked after that.
class BrokerSession final : private amqp::ConnectionListener, private amqp::ChannelListener {
 public:
  // `loop` must outlive it.
  BrokerSession(EventLoop& loop, amqp::ConnectionOptions options,
                absl::Duration patience = kLongestSilence);
  // Closes the connection.
  ~BrokerSession() override;

  // Connects, which may take `patience` as well. The error is that of the first round of attempts.
  absl::Status Open();

  absl::StatusOr<DeclareOk> DeclareQueue(const QueueDeclaration& queue);
  absl::Status DeclareExchange(const ExchangeDeclaration& exchange);
  absl::Status CheckExchange(std::string_view exchange);
  absl::Status Bind(std::string_view queue, std::string_view exchange);
  absl::Status DeleteQueue(std::string_view queue);
  absl::Status DeleteExchange(std::string_view exchange);

  // Whether one may do a thing, without doing it: kPermissionDenied, kNotFound, or ok.
  //
  // Configure a queue that is not there: declares it with an argument that no broker takes, which
  // is looked at only behind the right.
  absl::Status MayConfigure(std::string_view queue);
  // Consume a queue: the same.
  absl::Status MayConsume(std::string_view queue);
  // Publish to an exchange: publishes an empty message, mandatory, with a routing key that leads
  // to no queue.
  absl::Status MayPublish(std::string_view exchange, std::string_view routing_key);

  // Runs the loop for so long.
  void Wait(absl::Duration duration);

  // Whether the broker has an alarm, which it says only to those who publish.
  bool blocked() const { return blocked_; }
  std::string server_version() const { return connection_.server_version(); }

 private:
  void OnOpen() override;
  void OnLost(const absl::Status& why) override;
  void OnBlocked(bool blocked, std::string_view reason) override;
  void OnChannelClosed(const amqp::ChannelError& why) override;

  // Runs the loop until what `ask` asks has been answered.
  template <typename Answer>
  Answer Ask(const std::function<void(amqp::Channel&, std::function<void(Answer)>)>& ask);

  EventLoop& loop_;
  const std::string broker_;  // for people
  const absl::Duration patience_;
  bool silent_ = false;  // a question was not answered
  std::optional<absl::Status> opened_;
  bool blocked_ = false;
  amqp::Connection connection_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_CONNECT_BROKER_SESSION_H_
