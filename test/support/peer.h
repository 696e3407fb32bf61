#ifndef RETRYQ_TEST_SUPPORT_PEER_H_
#define RETRYQ_TEST_SUPPORT_PEER_H_

#include <amqp.h>

#include "retryq/amqp/message.h"
#include "retryq/amqp/properties.h"
#include "retryq/amqp/table.h"
#include "support/standard.h"

namespace retryq::testing {

// Another client of the broker: sets up queues, publishes, and reads messages. It uses librabbitmq,
// which shares no mistake with our client, and blocks. Headers are sent and received as raw bytes.
// Throws std::runtime_error whenever the broker refuses.
class Peer {
 public:
  explicit Peer(const std::string& url);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  struct QueueKind {
    bool durable = true;
    bool exclusive = false;  // of this connection
    bool auto_delete = false;
  };
  void DeclareQueue(const std::string& name, const amqp::Table& arguments = {});  // durable
  void DeclareQueue(const std::string& name, const amqp::Table& arguments, const QueueKind& kind);
  // Durable.
  void DeclareExchange(const std::string& name, const std::string& type);
  void Bind(const std::string& queue, const std::string& exchange,
            const std::string& routing_key = "");

  // Publishes, mandatory, and waits until the broker has it in a queue.
  void Publish(const std::string& exchange, const std::string& routing_key, std::string_view body,
               const amqp::Properties& properties = {});
  // The same without waiting, for many messages; the second function waits for all.
  void Send(const std::string& exchange, const std::string& routing_key, std::string_view body,
            const amqp::Properties& properties = {});
  void AwaitConfirms();

  // Takes the first message from the queue; null if there is none.
  amqp::MessagePtr Get(const std::string& queue);

  // Both return the number of deleted messages.
  std::uint32_t Delete(const std::string& queue);
  std::uint32_t Purge(const std::string& queue);

  // How many messages wait in the queue.
  std::uint32_t Count(const std::string& queue);
  std::uint32_t Consumers(const std::string& queue);

 private:
  const amqp_queue_declare_ok_t& LookAt(const std::string& queue);
  void Check(const amqp_rpc_reply_t& reply, std::string_view what);
  void Write(std::string_view bytes);
  amqp_frame_t ReadFrame();
  void ReadContent(const std::string& exchange, const std::string& routing_key,
                   amqp::Message* message);
  void ReadConfirm();

  amqp_connection_state_t connection_;
  std::uint64_t published_ = 0;
  std::set<std::uint64_t> unconfirmed_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_PEER_H_
