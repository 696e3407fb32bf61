#ifndef RETRYQ_TEST_UNIT_AMQP_HOSTILE_CONNECTION_VIOLATIONS_H_
#define RETRYQ_TEST_UNIT_AMQP_HOSTILE_CONNECTION_VIOLATIONS_H_

#include <string>
#include <vector>

#include "unit/amqp/hostile/violation.h"

namespace retryq::amqp::hostile {

// Of an open connection: bytes that are no frames, and frames that belong to no open channel.
inline std::vector<Violation> ConnectionViolations() {
  using namespace method;  // NOLINT(google-build-using-namespace)
  constexpr When kOpen = When::kConnectionIsOpen;
  constexpr When kCloses = When::kConnectionCloses;
  constexpr Verdict kEnds = Verdict::kClosesConnection;
  constexpr Verdict kTolerates = Verdict::kTolerates;
  const std::string blocked = Say(0, ConnectionBlocked{.reason = "memory"});
  std::string lying_text = Payload(ConnectionBlocked{.reason = "memory"});
  lying_text[4] = '\xff';

  return {
      // ---- frames
      {"SendsAFrameOfTypeZero", kOpen, Frame(0, 0, ""), kEnds, 501, "frame of type 0"},
      {"EndsAFrameWithAWrongOctet", kOpen, FromHex("08 0000 00000000 00"), kEnds, 501,
       "heartbeat frame on channel 0: without its end octet"},
      {"SaysThatAFrameIsShorterThanItIs", kOpen, FromHex("01 0000 00000004 000a 003d 00 ce"), kEnds,
       501, "method frame connection.unblocked on channel 0: without its end octet"},
      {"SendsAMethodAboveFrameMax", kOpen, FrameHead(1, 0, 131'065), kEnds, 501,
       "method frame on channel 0: of 131073 bytes, where at most 131072 are allowed"},
      {"SendsABodyOf2GiB", kOpen, FrameHead(3, 1, 0x7fffffff), kEnds, 501,
       "content body frame on channel 1: of 2147483655 bytes"},
      {"SendsAContentHeaderOf4GiB", kOpen, FrameHead(2, 1, 0xffffffff), kEnds, 501,
       "content header frame on channel 1: of 4294967303 bytes"},
      {"SendsABodyOf2GiBAndMeansIt", kOpen, FrameHead(3, 1, 0x7fffffff), kEnds, 501,
       "content body frame on channel 1: of 2147483655 bytes", Ever(std::string(65536, 'x'))},
      {"SendsGarbageForEver", kOpen, "", kEnds, 501, "frame of type 120",
       Ever(std::string(65536, 'x'))},
      {"SendsAHeartbeatOnAChannel", kOpen, Frame(8, 1, ""), kEnds, 501,
       "heartbeat frame on channel 1: a heartbeat is empty and on channel 0"},
      {"SendsAHeartbeatWithAPayload", kOpen, Frame(8, 0, "x"), kEnds, 501,
       "heartbeat frame on channel 0: a heartbeat is empty"},
      {"SaysAnEmptyMethod", kOpen, MethodFrame(0, ""), kEnds, 502,
       "method frame on channel 0: it is too short for a method"},

      // ---- methods that do not exist, or not from a server
      {"SaysAMethodOfAClassThatDoesNotExist", kOpen, MethodFrame(0, FromHex("0063 0001")), kEnds,
       540, "method frame 99.1 on channel 0: unknown method"},
      {"SaysAMethodOfClients", kOpen, Say(0, ConnectionTuneOk{}), kEnds, 503,
       "method frame connection.tune-ok on channel 0: the other side does not send it"},

      // ---- methods of the connection
      {"StartsAnOpenConnection", kOpen, Say(0, ConnectionStart{.mechanisms = {"PLAIN"}}), kEnds,
       503, "method frame connection.start on channel 0: it arrived out of order"},
      {"AnswersAGoodbyeThatNobodySaid", kOpen, Say(0, ConnectionCloseOk{}), kEnds, 503,
       "method frame connection.close-ok on channel 0: no call awaits this reply"},
      {"TakesASecretThatNobodyGave", kOpen, Say(0, ConnectionUpdateSecretOk{}), kEnds, 503,
       "method frame connection.update-secret-ok on channel 0"},
      {"LeavesBytesOverBehindUnblocked", kOpen, SayTooMuch(0, ConnectionUnblocked{}), kEnds, 502,
       "connection.unblocked has bytes left over: 1"},
      {"LiesAboutTheReasonOfBlocked", kOpen, MethodFrame(0, lying_text), kEnds, 502,
       "connection.blocked on channel 0: connection.blocked ends early"},

      // ---- on the wrong channel
      {"OpensAChannelOnChannelZero", kOpen, Say(0, ChannelOpenOk{}), kEnds, 503,
       "method frame channel.open-ok on channel 0: it must be on a channel other than 0"},
      {"DeliversOnChannelZero", kOpen, Deliver(1, 0), kEnds, 503,
       "method frame basic.deliver on channel 0: it must be on a channel other than 0"},
      {"AcksOnChannelZero", kOpen, Say(0, BasicAck{.delivery_tag = 1}), kEnds, 503,
       "method frame basic.ack on channel 0: it must be on a channel other than 0"},
      {"SendsAContentHeaderOnChannelZero", kOpen, HeaderFrame(0, ""), kEnds, 504,
       "content header frame on channel 0: channel 0 carries no content"},
      {"SaysAMethodOnAChannelThatIsNotOpen", kOpen, Say(1, BasicAck{.delivery_tag = 1}), kEnds, 504,
       "method frame basic.ack on channel 1: the channel is not open"},
      {"SaysAMethodOnTheLastChannelThereCanBe", kOpen, Say(0xffff, ChannelOpenOk{}), kEnds, 504,
       "method frame channel.open-ok on channel 65535: the channel is not open"},
      {"SendsTheLargestContentHeaderThereCanBeOnAChannelThatIsNotOpen", kOpen,
       FrameHead(2, 1, kMaxInboundHeaderFrame - kFrameOverhead), kEnds, 501,
       "content header frame on channel 1: without its end octet", Ever(std::string(65536, 'x'))},

      // ---- to be put up with
      {"SendsHeartbeatsForEver", kOpen, "", kTolerates, 0, "", Ever(Repeat(8192, Frame(8, 0, "")))},
      {"BlocksTwice", kOpen, blocked + blocked, kTolerates},
      {"UnblocksWhatIsNotBlocked", kOpen, Say(0, ConnectionUnblocked{}), kTolerates},
      {"BlocksAndUnblocksForEver", kOpen, "", kTolerates, 0, "",
       Ever(Repeat(1000, blocked + Say(0, ConnectionUnblocked{})))},

      // ---- once the client has said goodbye, whatever comes but the answer is passed over
      {"AnswersNoGoodbye", kCloses, "", kTolerates},
      {"HangsUpOnAGoodbye", kCloses, "", kTolerates, 0, "", nullptr, true},
      {"SaysGoodbyeItself", kCloses, Say(0, ConnectionClose{.reply_code = 320}), kTolerates, 0,
       "0 connection.close-ok"},
      {"DeliversOnAfterAGoodbye", kCloses, WholeDelivery(1) + Say(0, ConnectionCloseOk{}),
       kTolerates},
      {"SpeaksOfOtherChannelsAfterAGoodbye", kCloses,
       Say(9, BasicAck{}) + Say(0, ConnectionCloseOk{}), kTolerates},
      {"SendsGarbageAfterAGoodbye", kCloses, std::string(64, 'x'), kTolerates},
      {"TalksForEverAfterAGoodbye", kCloses, "", kTolerates, 0, "",
       Ever(Repeat(100, WholeDelivery(1)))},
  };
}

}  // namespace retryq::amqp::hostile

#endif  // RETRYQ_TEST_UNIT_AMQP_HOSTILE_CONNECTION_VIOLATIONS_H_
