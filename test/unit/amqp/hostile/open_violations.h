#ifndef RETRYQ_TEST_UNIT_AMQP_HOSTILE_OPEN_VIOLATIONS_H_
#define RETRYQ_TEST_UNIT_AMQP_HOSTILE_OPEN_VIOLATIONS_H_

// Violations of an open connection; of the handshake: handshake_violations.h.

#include "support/standard.h"
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

// Methods on a channel: replies without a request, and acks without a publish.
inline std::vector<Violation> ChannelViolations() {
  using namespace method;  // NOLINT(google-build-using-namespace)
  constexpr When kOpening = When::kChannelIsOpening;
  constexpr When kOpen = When::kChannelIsOpen;
  constexpr When kDeclaring = When::kDeclaring;
  constexpr When kPublishing = When::kPublishing;
  constexpr When kClosing = When::kChannelIsClosing;
  constexpr Verdict kEnds = Verdict::kClosesConnection;
  constexpr Verdict kEndsChannel = Verdict::kClosesChannel;
  constexpr Verdict kTolerates = Verdict::kTolerates;
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  const auto asked_for_nothing = [](const char* method) {
    return std::string("method frame ") + method + " on channel 1: no call awaits this reply";
  };
  const auto unasked = [&](const char* name, When when, const auto& method) {
    return Violation{name, when, Say(1, method), kEnds, 503, asked_for_nothing(method.kId.name)};
  };
  const auto not_published = [](const char* method, const char* number) {
    return std::string("method frame ") + method +
           " on channel 1: no publish has the delivery tag " + number;
  };
  const QueueDeclareOk declared = {.queue = "q"};

  return {
      // ---- while it opens
      unasked("SaysThatAChannelIsClosedThatOpens", kOpening, ChannelCloseOk{}),
      {"BlocksOnAChannel", kOpening, Say(1, ConnectionBlocked{}), kEnds, 503,
       "method frame connection.blocked on channel 1: it must be on channel 0"},
      {"AcksOnAChannelThatOpens", kOpening, Say(1, BasicAck{.delivery_tag = 1}), kEndsChannel, 406,
       not_published("basic.ack", "1")},
      {"DeliversBeforeAnybodyConsumes", kOpening, WholeDelivery(1), kTolerates, 0,
       "1 basic.nack 1 requeue"},

      // ---- answers to nothing
      unasked("StartsAConsumerUnasked", kOpen, BasicConsumeOk{.consumer_tag = "me"}),
      unasked("EndsAConsumerUnasked", kOpen, BasicCancelOk{.consumer_tag = "me"}),
      unasked("ClosesAChannelUnasked", kOpen, ChannelCloseOk{}),
      {"GrantsATicketAsOlderProtocolsDid", kOpen, MethodFrame(1, FromHex("001e 000b 0001")), kEnds,
       540, "method frame 30.11 on channel 1: unknown method"},
      {"PublishesToItsClient", kOpen, Say(1, BasicPublish{.routing_key = "q"}), kEnds, 503,
       "method frame basic.publish on channel 1: the other side does not send it"},
      {"ClosesAChannelTwice", kOpen, Repeat(2, Say(1, ChannelClose{.reply_code = 404})), kEnds, 504,
       "method frame channel.close on channel 1: the channel is not open"},
      {"AsksForMoreFlowThanItReads", kOpen, "", Verdict::kHangsUp, 0,
       "method frame channel.flow on channel 1: it demands replies faster than it reads them",
       Ever(Repeat(1000, Say(1, ChannelFlow{.active = true}))), false, true},
      {"CancelsMoreThanItReads", kOpen, "", Verdict::kHangsUp, 0,
       "method frame basic.cancel on channel 1: it demands replies faster than it reads them",
       Ever(Repeat(1000, Say(1, BasicCancel{.consumer_tag = "x"}))), false, true},

      // ---- answers to a declare
      unasked("AnswersADeclareWithABinding", kDeclaring, QueueBindOk{}),
      {"DeclaresTwice", kDeclaring, Repeat(2, Say(1, declared)), kEnds, 503,
       asked_for_nothing("queue.declare-ok")},
      {"CutsDeclareOkShort", kDeclaring, SayCutShort(1, declared), kEnds, 502,
       "queue.declare-ok on channel 1: queue.declare-ok ends early"},
      {"AnswersADeclareWithContent", kDeclaring, HeaderFrame(1, "x"), kEnds, 505,
       "content header frame on channel 1: no method preceded it"},
      {"HangsUpOverADeclare", kDeclaring, "", Verdict::kHangsUp, 0, "lost", nullptr, true},

      // ---- confirms
      {"AcksWhatWasNeverPublished", kPublishing, Say(1, BasicAck{.delivery_tag = 3}), kEndsChannel,
       406, not_published("basic.ack", "3")},
      {"NacksWhatWasNeverPublished", kPublishing, Say(1, BasicNack{.delivery_tag = 3}),
       kEndsChannel, 406, not_published("basic.nack", "3")},
      {"AcksMoreThanWasPublished", kPublishing,
       Say(1, BasicAck{.delivery_tag = 3, .multiple = true}), kEndsChannel, 406,
       not_published("basic.ack", "3")},
      {"AcksAsMuchAsCanBeCounted", kPublishing,
       Say(1, BasicAck{.delivery_tag = kHuge, .multiple = true}), kEndsChannel, 406,
       not_published("basic.ack", "18446744073709551615")},
      {"CutsAnAckShort", kPublishing, SayCutShort(1, BasicAck{.delivery_tag = 1}), kEnds, 502,
       "basic.ack on channel 1: basic.ack ends early"},
      {"ReturnsWhatWasNeverPublished", kPublishing,
       Say(1, BasicReturn{.reply_code = 312, .routing_key = "c"}) + Header(1) + BodyFrame(1, "c"),
       kEnds, 541, "content body frame on channel 1: it returns a message that was not published"},
      {"ReturnsAnotherBody", kPublishing,
       Say(1, BasicReturn{.reply_code = 312, .routing_key = "a"}) + Header(1) + BodyFrame(1, "b"),
       kEnds, 541, "content body frame on channel 1: it returns a message that was not published"},
      {"ReturnsWithoutContent", kPublishing,
       Say(1, BasicReturn{.reply_code = 312, .routing_key = "a"}) +
           Say(1, BasicAck{.delivery_tag = 1}),
       kEnds, 505,
       "method frame basic.ack on channel 1: it arrived before the content of a message was "
       "complete"},
      {"ReturnsAPublishTwice", kPublishing,
       Repeat(2, Say(1, BasicReturn{.reply_code = 312, .routing_key = "a"}) + Header(1) +
                     BodyFrame(1, "a")),
       kEnds, 541, "content body frame on channel 1: it returns a message that was not published"},

      // ---- to be put up with
      {"AcksAPublishTwice", kPublishing, Repeat(2, Say(1, BasicAck{.delivery_tag = 1})),
       kTolerates},
      {"NacksWhatItHasAcked", kPublishing,
       Say(1, BasicAck{.delivery_tag = 2, .multiple = true}) + Say(1, BasicNack{.delivery_tag = 1}),
       kTolerates},
      {"AcksAllThereAreAgainAndAgain", kPublishing,
       Repeat(3, Say(1, BasicAck{.delivery_tag = 0, .multiple = true})), kTolerates},
      {"HoldsTheFlow", kOpen, Say(1, ChannelFlow{.active = false}), kTolerates, 0,
       "1 channel.flow-ok"},
      {"SaysInAnOpenOkWhatNobodyReads", kOpening, MethodFrame(1, FromHex("0014 000b 00000001 78")),
       kTolerates},
      {"HoldsTheFlowForEver", kOpen, "", kTolerates, 0, "1 channel.flow-ok",
       Ever(Say(1, ChannelFlow{.active = false}))},

      // ---- once the client has closed the channel, whatever comes but the answer is passed over
      {"DeliversToAChannelThatCloses", kClosing, WholeDelivery(1), kTolerates},
      {"AcksOnAChannelThatCloses", kClosing, Say(1, BasicAck{.delivery_tag = 9}), kTolerates},
      {"AnswersOnAChannelThatCloses", kClosing, Say(1, declared), kTolerates},
      {"CancelsAConsumerOfAChannelThatCloses", kClosing,
       Say(1, BasicCancel{.consumer_tag = "me", .nowait = true}), kTolerates},
      {"ClosesAChannelThatCloses", kClosing, Say(1, ChannelClose{.reply_code = 404}), kTolerates, 0,
       "1 channel.close-ok"},
      {"LiesOnAChannelThatCloses", kClosing, SayCutShort(1, declared), kEnds, 502,
       "queue.declare-ok on channel 1: queue.declare-ok ends early"},
      {"SaysCloseOkTwice", kClosing, Repeat(2, Say(1, ChannelCloseOk{})), kEnds, 504,
       "method frame channel.close-ok on channel 1: the channel is not open"},
      {"ClosesForEverAndReadsNothing", kClosing, "", Verdict::kHangsUp, 0,
       "method frame channel.close on channel 1: it demands replies faster than it reads them",
       Ever(Repeat(1000, Say(1, ChannelClose{.reply_code = 404}))), false, true},
  };
}

// Tables in tables, so many levels deep, as the bytes of the outermost. With `followed` there is
// something behind each inner one.
inline std::string NestedTable(int levels, bool followed = false) {
  // Each test process builds the deepest ones at its start, so the bytes are not appended one by
  // one.
  const std::string_view behind = followed ? std::string_view("\1bV", 3) : std::string_view();
  const std::size_t level_size = 7 + behind.size();
  std::string bytes(static_cast<std::size_t>(levels) * 7, '\0');
  char* level = bytes.data();
  for (std::size_t inside = static_cast<std::size_t>(levels); inside-- > 0; level += 7) {
    const std::size_t length = inside * level_size;
    level[0] = '\1';
    level[1] = 'a';
    level[2] = 'F';
    level[3] = static_cast<char>(length >> 24U);
    level[4] = static_cast<char>(length >> 16U);
    level[5] = static_cast<char>(length >> 8U);
    level[6] = static_cast<char>(length);
  }
  return bytes + Repeat(levels, behind);
}

// Deliveries and their content: a header frame, and the body in frames.
inline std::vector<Violation> ContentViolations() {
  using namespace method;  // NOLINT(google-build-using-namespace)
  constexpr When kConsuming = When::kConsuming;
  constexpr When kAmid = When::kAmidContent;
  constexpr Verdict kEnds = Verdict::kClosesConnection;
  constexpr Verdict kEndsChannel = Verdict::kClosesChannel;
  constexpr Verdict kTolerates = Verdict::kTolerates;
  const std::string no_body = FromHex("003c 0000 0000000000000000");
  const auto with_header = [](const std::string& payload) {
    return Deliver(1) + HeaderFrame(1, payload);
  };
  const auto with_headers = [&](std::string_view table) {
    return Deliver(1) + Header(0, {.headers = TableView(table)});
  };
  const std::string amid = " on channel 1: it arrived before the content of a message was complete";
  // Of a large body.
  const std::string part(10'000, 'x');
  const std::string last_part = std::string(9'999, 'x') + kFrameEnd;
  std::string unknown_type = FromHex("0161 7a 78");
  std::string nested_lie = FromHex("0161 46 00000007 0162 53 00000009");

  return {
      // ---- in the wrong order
      {"SendsAHeaderOutOfTheBlue", kConsuming, Header(1), kEnds, 505,
       "content header frame on channel 1: no method preceded it"},
      {"SendsABodyOutOfTheBlue", kConsuming, BodyFrame(1, "x"), kEnds, 505,
       "content body frame on channel 1: no content header preceded it"},
      {"SendsABodyWithoutAHeader", kConsuming, Deliver(1) + BodyFrame(1, "x"), kEnds, 505,
       "content body frame on channel 1: no content header preceded it"},
      {"SendsABodyToAnEmptyMessage", kConsuming, Deliver(1) + Header(0) + BodyFrame(1, "x"), kEnds,
       505, "content body frame on channel 1: no content header preceded it"},
      {"DeliversAmidADelivery", kConsuming, Repeat(2, Deliver(1)), kEnds, 505,
       "method frame basic.deliver" + amid},
      {"AcksAmidContent", kAmid, Say(1, BasicAck{.delivery_tag = 1}), kEnds, 505,
       "method frame basic.ack" + amid},
      {"AnswersAmidContent", kAmid, Say(1, QueueDeclareOk{.queue = "q"}), kEnds, 505,
       "method frame queue.declare-ok" + amid},
      {"SendsAnotherHeaderAmidContent", kAmid, Header(1), kEnds, 505,
       "content header frame on channel 1: no method preceded it"},
      {"HangsUpAmidContent", kAmid, "", Verdict::kHangsUp, 0, "lost", nullptr, true},
      {"SendsMoreBodyThanItSaid", kAmid, BodyFrame(1, "1234567"), kEnds, 501,
       "content body frame on channel 1: the body is longer than the content header states"},
      {"ExceedsFrameMaxAmidContent", kAmid, FrameHead(3, 1, 131'065), kEnds, 501,
       "content body frame on channel 1: of 131073 bytes"},
      {"SendsMoreOfALargeBodyThanItSaid", kConsuming,
       Deliver(1) + Header(50'000) + FrameHead(3, 1, 59'999), kEnds, 501,
       "content body frame on channel 1: the body is longer than the content header states",
       Ever(last_part)},
      {"SendsMoreOfALargeBodyAtItsEndThanItSaid", kConsuming,
       Deliver(1) + Header(110'000) + BodyFrame(1, std::string(60'000, 'x')) +
           FrameHead(3, 1, 59'999),
       kEnds, 501,
       "content body frame on channel 1: the body is longer than the content header states",
       Ever(last_part)},
      {"DoesNotEndALargeBody", kConsuming, Deliver(1) + Header(100'000) + FrameHead(3, 1, 100'000),
       kEnds, 501, "content body frame on channel 1: without its end octet", Ever(part)},
      {"SendsALargeBodyToNoChannel", kConsuming, FrameHead(3, 7, 99'999), kEnds, 504,
       "content body frame on channel 7: the channel is not open", Ever(last_part)},
      {"HangsUpAmidALargeBody", kConsuming,
       Deliver(1) + Header(100'000) + FrameHead(3, 1, 100'000) + part, Verdict::kHangsUp, 0, "lost",
       nullptr, true},

      // ---- content headers
      {"CutsAHeaderShort", kConsuming, with_header(no_body), kEnds, 502,
       "content header frame on channel 1: content header ends early"},
      {"LeavesBytesOverBehindAHeader", kConsuming, with_header(no_body + FromHex("0000 00")), kEnds,
       502, "content header has bytes left over: 1"},
      {"SendsAHeaderOfAnotherClass", kConsuming,
       with_header(FromHex("0032 0000 0000000000000000 0000")), kEnds, 501,
       "content header frame on channel 1: content header of class 50"},
      {"SendsAHeaderWithAWeight", kConsuming,
       with_header(FromHex("003c 0001 0000000000000000 0000")), kEnds, 505,
       "content header frame on channel 1: content header of weight 1"},
      {"SendsPropertiesThatNobodyKnows", kConsuming, with_header(no_body + FromHex("0002")), kEnds,
       502, "content header frame on channel 1: content header with unknown properties"},
      {"SendsPropertyFlagsWithoutEnd", kConsuming,
       with_header(no_body + std::string(100'000, '\xff')), kEnds, 502,
       "content header frame on channel 1: content header"},
      {"LiesAboutAProperty", kConsuming, with_header(no_body + FromHex("8000 ff 78")), kEnds, 502,
       "content header frame on channel 1: content header ends early"},
      {"LiesInANestedHeaderField", kConsuming, with_headers(nested_lie), kEnds, 502,
       "content header: field \"a\" holds a value of an unknown type or of a wrong length"},
      {"SendsAHeaderFieldOfAnUnknownType", kConsuming, with_headers(unknown_type), kEnds, 502,
       "content header: field \"a\" is of an unknown type or longer than the table"},
      {"AnnouncesAnExabyte", kConsuming, Deliver(1) + Header(std::uint64_t{1} << 60), kEndsChannel,
       311, "content header frame on channel 1: it announces 1152921504606846976 bytes"},
      {"AnnouncesAByteMoreThanThereCanBe", kConsuming,
       Deliver(1) + Header((std::uint64_t{512} << 20) + 1), kEndsChannel, 311,
       "it announces 536870913 bytes, where at most 536870912 are accepted"},
      {"AnnouncesAnExabyteAndMeansIt", kConsuming, Deliver(1) + Header(std::uint64_t{1} << 60),
       kEndsChannel, 311, "it announces 1152921504606846976 bytes",
       Ever(BodyFrame(1, std::string(65536, 'x')))},

      // ---- deliveries
      {"DeliversNumberZero", kConsuming, WholeDelivery(0), kEndsChannel, 406,
       "content body frame on channel 1: its delivery tag is out of order: 0"},
      {"DeliversANumberTwice", kConsuming, WholeDelivery(1) + WholeDelivery(1), kEndsChannel, 406,
       "its delivery tag is out of order: 1"},
      {"DeliversAsHighANumberAsCanBe", kConsuming, WholeDelivery(~std::uint64_t{0}), kEndsChannel,
       406, "its delivery tag is out of order: 18446744073709551615"},
      {"CutsADeliveryShort", kConsuming,
       SayCutShort(1, BasicDeliver{.consumer_tag = "me", .delivery_tag = 1}), kEnds, 502,
       "basic.deliver on channel 1: basic.deliver ends early"},

      // ---- to be put up with
      {"DeliversToAConsumerThatIsNotThere", kConsuming,
       Say(1, BasicDeliver{.consumer_tag = "you", .delivery_tag = 1}) + Header(0), kTolerates, 0,
       "1 basic.nack 1 requeue"},
      {"CancelsAConsumerThatIsNotThere", kConsuming,
       Say(1, BasicCancel{.consumer_tag = "you", .nowait = true}), kTolerates},
      {"WantsItsCancelAnswered", kConsuming, Say(1, BasicCancel{.consumer_tag = "me"}), kTolerates,
       0, "1 basic.cancel-ok"},
      {"DeliversToAConsumerThatItHasCancelled", kConsuming,
       Say(1, BasicCancel{.consumer_tag = "me", .nowait = true}) + WholeDelivery(1), kTolerates, 0,
       "1 basic.nack 1 requeue"},
      {"SkipsADelivery", kConsuming, WholeDelivery(2), kTolerates},
      {"SendsBodiesOfSingleBytes", kConsuming,
       Deliver(1) + Header(1000) + Repeat(1000, BodyFrame(1, "x")), kTolerates},
      {"SendsEmptyBodiesForEver", kAmid, "", kTolerates, 0, "",
       Ever(Repeat(8192, BodyFrame(1, "")))},
      {"SendsALargeBodyToAClosingChannel", When::kChannelIsClosing,
       Deliver(1) + Header(100'000) + BodyFrame(1, std::string(100'000, 'x')), kTolerates},
      {"SendsHeartbeatsAmidContent", kAmid, Repeat(3, Frame(8, 0, "")), kTolerates},
      {"BlocksAmidContent", kAmid, Say(0, ConnectionBlocked{}), kTolerates},
      {"SendsMorePropertyFlagsWithNoneSet", kConsuming,
       with_header(no_body + FromHex("0001 0001 0000")), kTolerates},
      {"NestsHeadersADozenThousandLevelsDeep", kConsuming, with_headers(NestedTable(12'000)),
       kTolerates},
      {"NestsHeadersAsDeepAsAFrameCan", kConsuming, with_headers(NestedTable(150'000, true)),
       kTolerates},
      {"SendsAHeaderFarAboveFrameMax", kConsuming,
       with_headers(FromHex("0161 53 00200000") + std::string(0x200000, 'x')), kTolerates},
      {"SendsTextThatIsNotUtf8", kConsuming,
       Deliver(1) +
           Header(0, {.content_type = "\xff\xfe", .message_id = std::string_view("\0", 1)}),
       kTolerates},
  };
}

}  // namespace retryq::amqp::hostile

#endif  // RETRYQ_TEST_UNIT_AMQP_HOSTILE_OPEN_VIOLATIONS_H_
