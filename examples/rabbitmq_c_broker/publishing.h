#ifndef RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_PUBLISHING_H_
#define RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_PUBLISHING_H_

#include <amqp.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "blocking_connection.h"
#include "confirms.h"
#include "connection_thread.h"
#include "content.h"
#include "loop_calls.h"
#include "retryq/broker.h"
#include "retryq/executor.h"

namespace examples {

// The connection for publishing and declaring: what retryq::Broker promises of these. Functions are
// called on the loop's thread, except those of ConnectionUser.
//
// Callbacks never leave the loop's thread: the connection's thread knows them by a number, and what
// it has to say about one that is gone by then is dropped.
class Publishing final : private ConnectionUser {
 public:
  Publishing(const retryq::amqp::ConnectionOptions& options, const std::string& name,
             std::shared_ptr<retryq::Executor> loop);

  void SetListener(retryq::BrokerListener* listener);
  void Declare(retryq::DeclareParams params, retryq::Broker::DeclareCallback done);
  void CheckExchange(std::string name, std::function<void(absl::Status)> done);
  void Publish(const retryq::PublishParams& params, retryq::Broker::PublishCallback done);
  void Reconnect(const absl::Status& why);
  void Close(std::function<void()> closed);

  std::size_t unsent_bytes() const { return *unsent_bytes_; }
  std::size_t max_header_size() const { return max_header_size_; }
  std::string server_version() const { return server_version_; }

 private:
  struct Outgoing;
  // Declares something: a call of rabbitmq-c after the other, as long as they are answered ok.
  using Declaration = std::function<absl::StatusOr<retryq::DeclareOk>(Connection&)>;

  // On the loop's thread.
  void DeclareOnThread(Declaration declaration, retryq::Broker::DeclareCallback done);
  void OnConnected(std::uint64_t number, std::size_t max_header_size, std::string server_version);
  void OnDisconnected(const absl::Status& why);
  void AnswerPublish(std::uint64_t id, const Confirms::Result& result);
  void AnswerDeclare(std::uint64_t id, const absl::StatusOr<retryq::DeclareOk>& result);
  void ForgetCallbacks();

  // On the connection's.
  absl::Status OnOpen(Connection& connection, std::uint64_t number) override;
  absl::Status OnFrame(Connection& connection, const amqp_frame_t& frame) override;
  void OnLost(const absl::Status& why) override;
  absl::Status OnMethod(Connection& connection, amqp_channel_t channel,
                        const amqp_method_t& method);
  absl::Status OnReturnedContent(const retryq::amqp::Message& message);
  absl::Status Send(Connection& connection, const Outgoing& message);
  static absl::Status OpenPublishChannel(Connection& connection);

  // Of the loop's thread.
  retryq::BrokerListener* listener_ = nullptr;
  std::uint64_t connection_ = 0;  // the number of the one that is open, or 0
  std::size_t max_header_size_;
  std::string server_version_;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, retryq::Broker::PublishCallback> publishes_;
  std::map<std::uint64_t, retryq::Broker::DeclareCallback> declares_;

  // Of the connection's.
  Confirms confirms_;
  std::uint16_t return_code_ = 0;
  std::string return_text_;
  IncomingContent returned_;

  const std::shared_ptr<std::atomic<std::size_t>> unsent_bytes_;
  const LoopCalls loop_;
  ConnectionThread thread_;  // the first to go
};

}  // namespace examples

#endif  // RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_PUBLISHING_H_
