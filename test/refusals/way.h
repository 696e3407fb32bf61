#ifndef RETRYQ_TEST_REFUSALS_WAY_H_
#define RETRYQ_TEST_REFUSALS_WAY_H_

#include "support/test.h"

namespace retryq::refusals {

// The requests that the server may refuse. Requests that name a queue are
// refused only for the queue "refused" and its delay queue.
enum class Request {
  kOpen,      // connection.open, of all connections
  kChannel,   // channel.open, of all channels
  kConfirm,   // confirm.select, of all channels
  kLook,      // queue.declare, passive: the work queue, at a start
  kDeclare,   // queue.declare: a delay queue
  kExchange,  // exchange.declare: its exchange
  kBind,      // queue.bind: of the two
  kQos,       // basic.qos
  kConsume,   // basic.consume
  kCopy,      // basic.publish: a copy, to the delay exchange
  kPublish,   // basic.publish: a message of Client::Publish
  kAck,       // basic.ack
  kCancel,    // basic.cancel, over and over: Consumer::Pause and Resume
  kClose,     // channel.close, over and over: consumers that come and go
};

inline const char* NameOf(Request request) {
  static constexpr const char* kNames[] = {"open",     "channel", "confirm", "look",    "declare",
                                           "exchange", "bind",    "qos",     "consume", "copy",
                                           "publish",  "ack",     "cancel",  "close"};
  return kNames[static_cast<int>(request)];
}

// The ways to refuse a request.
struct Way {
  enum class Kind {
    kChannelClose,     // with `code`
    kConnectionClose,  // with `code`
    kHangUpBefore,     // the answer
    kHangUpDuring,     // in the middle of the answer
    kHangUpAfter,      // right after the answer
    kShortChannel,     // answered; after 10 ms the channel is closed, with 406
    kShortConnection,  // answered; after 10 ms the connection is gone
    kSilence,          // answered when the refusals end
    kReturn,           // a publish: basic.return with `code`
    kNack,             // a publish
  };
  Kind kind;
  std::uint16_t code = 0;
};

// Every reply code of AMQP 0-9-1 and RabbitMQ.
inline constexpr std::uint16_t kCodes[] = {311, 312, 313, 320, 402, 403, 404, 405, 406,
                                           501, 502, 503, 504, 505, 506, 530, 540, 541};

inline constexpr std::uint16_t kReturnCodes[] = {311, 312, 313};

inline std::vector<Way> AllWays() {
  std::vector<Way> ways;
  for (const std::uint16_t code : kCodes) ways.push_back({Way::Kind::kChannelClose, code});
  for (const std::uint16_t code : kCodes) ways.push_back({Way::Kind::kConnectionClose, code});
  for (const Way::Kind kind :
       {Way::Kind::kHangUpBefore, Way::Kind::kHangUpDuring, Way::Kind::kHangUpAfter,
        Way::Kind::kShortChannel, Way::Kind::kShortConnection, Way::Kind::kSilence}) {
    ways.push_back({kind});
  }
  for (const std::uint16_t code : kReturnCodes) ways.push_back({Way::Kind::kReturn, code});
  ways.push_back({Way::Kind::kNack});
  return ways;
}

// Whether a request can be refused in this way.
inline bool Applies(Request request, const Way& way) {
  const bool of_publish = request == Request::kCopy || request == Request::kPublish;
  const bool has_answer = request != Request::kAck;
  switch (way.kind) {
    case Way::Kind::kChannelClose:
    case Way::Kind::kShortChannel:
      return request != Request::kOpen && request != Request::kClose;
    case Way::Kind::kHangUpDuring:
    case Way::Kind::kHangUpAfter:
      return has_answer;
    case Way::Kind::kReturn:
    case Way::Kind::kNack:
      return of_publish;
    default:
      return true;
  }
}

// Whether the connection is lost, with all other requests on it.
inline bool TakesConnection(const Way& way) {
  using Kind = Way::Kind;
  return way.kind != Kind::kChannelClose && way.kind != Kind::kShortChannel &&
         way.kind != Kind::kSilence && way.kind != Kind::kReturn && way.kind != Kind::kNack;
}

inline std::string NameOf(const Way& way) {
  static constexpr const char* kNames[] = {"channel",
                                           "connection",
                                           "hang up before",
                                           "hang up during",
                                           "hang up after",
                                           "10 ms, then channel 406",
                                           "10 ms, then hang up",
                                           "no answer",
                                           "returned",
                                           "nack"};
  const std::string name = kNames[static_cast<int>(way.kind)];
  return way.code == 0 ? name : name + " " + std::to_string(way.code);
}

}  // namespace retryq::refusals

#endif  // RETRYQ_TEST_REFUSALS_WAY_H_
