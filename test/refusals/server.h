#ifndef RETRYQ_TEST_REFUSALS_SERVER_H_
#define RETRYQ_TEST_REFUSALS_SERVER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/codec/frame.h"
#include "amqp/codec/method_codec.h"
#include "loop/libevent_ptr.h"
#include "refusals/way.h"
#include "retryq/event_loop.h"
#include "support/loopback_listener.h"

namespace retryq::refusals {

// A broker on the loop of its clients, which takes and answers whatever they ask, except what it is
// to refuse. Every queue and exchange is there. What is published is confirmed and gone; messages
// to be delivered are added by the test, and those that are not acked come back.
class Server {
 public:
  // By which the consumer of "refused" is known before it names its queue.
  static constexpr std::uint16_t kRefusedPrefetch = 7;

  explicit Server(EventLoop& loop);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const { return listener_.port(); }

  // Into the queue "refused", whose requests are refused, or another one.
  void AddMessage(const std::string& queue);

  void Refuse(Request request, Way way);
  // No more. What waits for an answer gets it.
  void Relent();
  void HangUpOnAll();
  // As often as the client must hear something.
  void SendHeartbeats();

  // Since the last time it was asked for: how often the request came that is to be refused, or
  // connections were made or channels opened, whichever is most.
  int TakeAttempts();
  // How many messages of the queue have been acked, and messages published to it or, for
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
    // What is not answered, a frame each, and what came behind it on the same channel.
    struct Unanswered {
      std::uint16_t channel;
      std::string payload;
    };
    std::vector<Unanswered> unanswered = {};
    std::vector<Unanswered> unheard = {};  // acks, which hold up nothing
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
  // Does what it is asked; the answer.
  std::string CarryOut(Connection& connection, std::uint16_t number,
                       const amqp::ClientMethod& method);
  std::string Confirm(Connection& connection, std::uint16_t number, const Published& published);
  // `carry_out` does it, and returns the answer.
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
