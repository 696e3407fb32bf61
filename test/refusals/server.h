#ifndef RETRYQ_TEST_REFUSALS_SERVER_H_
#define RETRYQ_TEST_REFUSALS_SERVER_H_

#include "amqp/codec/frame.h"
#include "amqp/codec/method_codec.h"
#include "loop/libevent_ptr.h"
#include "refusals/way.h"
#include "retryq/event_loop.h"
#include "support/loopback_listener.h"
#include "support/test.h"

namespace retryq::refusals {

// A broker on the loop of its clients, which accepts every request except those that it must
// refuse. Every queue and exchange exists. Published messages are confirmed and dropped; the test
// adds the messages to deliver, and unacked messages are requeued.
class Server {
 public:
  // The mark by which the consumer of "refused" is recognized before it names its queue.
  static constexpr std::uint16_t kRefusedPrefetch = 7;

  explicit Server(EventLoop& loop);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const { return listener_.port(); }

  // Into the queue "refused", whose requests are refused, or another one.
  void AddMessage(const std::string& queue);

  void Refuse(Request request, Way way);
  // Refuses nothing any more. Requests without a reply are answered.
  void Relent();
  void HangUpOnAll();
  // Sent as often as the heartbeat requires.
  void SendHeartbeats();

  // Since the last call: the number of refused requests, of opened connections, or of opened
  // channels, whichever is largest.
  int TakeAttempts();
  // The number of acked messages of the queue, and of messages published to it or, for
  // "retry.20000", to the exchange.
  int acked(const std::string& queue) { return acked_[queue]; }
  int confirmed(const std::string& target) { return confirmed_[target]; }

 private:
  struct Published {
    std::string exchange;
    std::string routing_key;
    std::string header = {};
    std::string body = {};
    std::uint64_t body_size = 0;

    const std::string& target() const { return exchange.empty() ? routing_key : exchange; }
  };

  struct Channel {
    std::size_t prefetch = 0;
    std::string queue = {};  // of its consumer, which may have gone
    std::string consumer_tag = {};
    bool consumes = false;
    std::uint64_t delivered = 0;
    std::set<std::uint64_t> unacked = {};
    std::optional<Published> incoming = {};
    std::uint64_t published = 0;
    bool is_closing = false;  // the client has not answered yet
  };

  struct Connection {
    Server* server = nullptr;
    std::uint64_t id = 0;
    int fd = -1;
    EventPtr readable = nullptr;
    std::string unread = {};
    bool greeted = false;
    bool is_closing = false;
    bool is_gone = false;
    std::map<std::uint16_t, Channel> channels = {};
    // Unanswered requests, one frame each, and later frames on the same channel.
    struct Unanswered {
      std::uint16_t channel;
      std::string payload;
    };
    std::vector<Unanswered> unanswered = {};
    std::vector<Unanswered> unheard = {};  // acks, which delay no other request
    std::vector<std::pair<std::uint16_t, std::uint64_t>> unconfirmed = {};  // channel and number
  };

  struct Message {
    std::uint64_t number;
    bool redelivered;
  };

  void Accept(int fd);
  void OnReadable(Connection& connection);
  void OnFrame(Connection& connection, const amqp::FrameView& frame);
  void OnMethod(Connection& connection, std::uint16_t number, std::string_view payload,
                bool may_refuse);
  void OnContent(Connection& connection, const amqp::FrameView& frame);
  void OnPublished(Connection& connection, std::uint16_t number, const Published& published);

  // Which request it is, if it is one of the queue "refused".
  std::optional<Request> Classify(Connection& connection, std::uint16_t number,
                                  const amqp::ClientMethod& method);
  bool IsToBeRefused(std::optional<Request> request);
  // Carries out the request, and returns the reply.
  std::string CarryOut(Connection& connection, std::uint16_t number,
                       const amqp::ClientMethod& method);
  std::string Confirm(Connection& connection, std::uint16_t number, const Published& published);
  // `carry_out` carries out the request, and returns the reply.
  void RefuseNow(Connection& connection, std::uint16_t number,
                 const std::function<std::string()>& carry_out);

  void Send(Connection& connection, std::string_view bytes);
  void CloseChannel(Connection& connection, std::uint16_t number, std::uint16_t code);
  void CloseConnection(Connection& connection, std::uint16_t code);
  void HangUp(Connection& connection);
  void Requeue(Channel& channel);
  void Deliver();
  Connection* Find(std::uint64_t id);
  void After(absl::Duration delay, std::function<void()> call);

  EventLoop& loop_;
  const testing::LoopbackListener listener_;
  std::uint64_t last_connection_ = 0;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Timer>> timers_;

  std::optional<Request> refused_;
  Way way_ = {};
  int asked_ = 0;
  int connected_ = 0;
  int channels_opened_ = 0;

  std::map<std::string, std::deque<Message>> ready_;
  std::uint64_t last_message_ = 0;
  std::map<std::string, int> acked_;
  std::map<std::string, int> confirmed_;
};

}  // namespace retryq::refusals

#endif  // RETRYQ_TEST_REFUSALS_SERVER_H_
