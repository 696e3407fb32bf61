#ifndef RETRYQ_TEST_UNIT_AMQP_HOSTILE_CONTENT_VIOLATIONS_H_
#define RETRYQ_TEST_UNIT_AMQP_HOSTILE_CONTENT_VIOLATIONS_H_

#include "support/standard.h"
#include "unit/amqp/hostile/violation.h"

namespace retryq::amqp::hostile {

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

#endif  // RETRYQ_TEST_UNIT_AMQP_HOSTILE_CONTENT_VIOLATIONS_H_
