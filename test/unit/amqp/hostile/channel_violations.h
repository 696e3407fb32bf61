#ifndef RETRYQ_TEST_UNIT_AMQP_HOSTILE_CHANNEL_VIOLATIONS_H_
#define RETRYQ_TEST_UNIT_AMQP_HOSTILE_CHANNEL_VIOLATIONS_H_

#include "support/standard.h"
#include "unit/amqp/hostile/violation.h"

namespace retryq::amqp::hostile {

// Methods on a channel: answers that nobody asked for, and acks of what was not published.
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

}  // namespace retryq::amqp::hostile

#endif  // RETRYQ_TEST_UNIT_AMQP_HOSTILE_CHANNEL_VIOLATIONS_H_
