#ifndef RETRYQ_TEST_UNIT_AMQP_HOSTILE_HANDSHAKE_VIOLATIONS_H_
#define RETRYQ_TEST_UNIT_AMQP_HOSTILE_HANDSHAKE_VIOLATIONS_H_

#include <string>
#include <vector>

#include "unit/amqp/hostile/violation.h"

namespace retryq::amqp::hostile {

// What is said of a server that lets the client wait.
inline const std::string kStalls = "accepts the connection but does not reply";

// From the first packet to connection.open-ok. Before connection.tune the client hangs up without
// a word, as nothing is agreed on that it could be said in.
inline std::vector<Violation> HandshakeViolations() {
  using namespace method;  // NOLINT(google-build-using-namespace)
  constexpr When kStart = When::kInsteadOfStart;
  constexpr When kTune = When::kInsteadOfTune;
  constexpr When kOpenOk = When::kInsteadOfOpenOk;
  constexpr Verdict kHangsUp = Verdict::kHangsUp;
  const ConnectionStart start = {.mechanisms = {"PLAIN"}, .locales = {"en_US"}};
  const ConnectionTune tune = {.channel_max = 2047, .frame_max = 131072};
  std::string lying_start = Payload(start);
  lying_start[6 + 3] = '\x20';  // the length of its table

  return {
      // ---- instead of connection.start
      {"AnswersWithAnotherVersionsHeader", kStart, std::string("AMQP\0\0\x08\0", 8), kHangsUp, 0,
       "does not speak AMQP 0-9-1"},
      {"SpeaksHttp", kStart, "HTTP/1.1 400 Bad Request\r\n\r\n", kHangsUp, 0, "answers in HTTP"},
      {"SpeaksTls", kStart, FromHex("15 0303 0002 0246"), kHangsUp, 0, "frame of type 21"},
      {"HangsUpAtOnce", kStart, "", kHangsUp, 0, "closed the connection without a reason", nullptr,
       true},
      {"StallsAmidStart", kStart, Say(0, start).substr(0, 20), kHangsUp, 0, kStalls},
      {"StallsBeforeStart", kStart, "", kHangsUp, 0, kStalls},
      {"SendsHeartbeatsForEverInsteadOfStart", kStart, "", kHangsUp, 0, kStalls,
       Ever(Repeat(1000, Frame(8, 0, "")))},
      {"StartsOnAnotherChannel", kStart, Say(1, start), kHangsUp, 0,
       "method frame connection.start on channel 1: the channel is not open"},
      {"StartsAnotherMajorVersion", kStart,
       Say(0, ConnectionStart{.version_major = 8, .version_minor = 0, .mechanisms = {"PLAIN"}}),
       kHangsUp, 0, "speaks AMQP 8-0"},
      {"StartsWithoutAMechanismOfOurs", kStart,
       Say(0, ConnectionStart{.mechanisms = {"GSSAPI SCRAM"}}), kHangsUp, 0, "GSSAPI SCRAM"},
      {"CutsStartShort", kStart, SayCutShort(0, start), kHangsUp, 0,
       "method frame connection.start on channel 0: connection.start ends early"},
      {"LiesAboutTheTableInStart", kStart, MethodFrame(0, lying_start), kHangsUp, 0,
       "method frame connection.start on channel 0"},
      {"SendsAStartAboveTheLimit", kStart, FrameHead(1, 0, 200'000), kHangsUp, 0,
       "of 200008 bytes, where at most 131072 are allowed"},
      {"TunesBeforeStart", kStart, Say(0, tune), kHangsUp, 0,
       "method frame connection.tune on channel 0: it arrived out of order"},
      {"DeliversBeforeStart", kStart, Deliver(1, 0), kHangsUp, 0,
       "method frame basic.deliver on channel 0: it arrived out of order"},
      {"SendsABodyBeforeStart", kStart, BodyFrame(1, "x"), kHangsUp, 0,
       "content body frame on channel 1"},

      // ---- instead of connection.tune
      {"StartsTwice", kTune, Say(0, start), kHangsUp, 0,
       "method frame connection.start on channel 0: it arrived out of order"},
      {"ChallengesWhoSaidPlain", kTune, MethodFrame(0, FromHex("000a 0014 00000001 3f")), kHangsUp,
       0, "method frame 10.20 on channel 0: unknown method"},
      {"BlocksBeforeTune", kTune, Say(0, ConnectionBlocked{}), kHangsUp, 0,
       "method frame connection.blocked on channel 0: it arrived out of order"},
      {"TunesOnAnotherChannel", kTune, Say(7, tune), kHangsUp, 0,
       "method frame connection.tune on channel 7: the channel is not open"},
      {"TunesFramesTooSmallToUse", kTune,
       Say(0, ConnectionTune{.channel_max = 1, .frame_max = 4095}), kHangsUp, 0,
       "accepts frames of at most 4095 bytes"},
      {"HangsUpDuringTheLogin", kTune, "", kHangsUp, 0, "closed the connection during the login",
       nullptr, true},
      {"StallsBeforeTune", kTune, "", kHangsUp, 0, kStalls},

      // ---- instead of connection.open-ok
      {"TunesTwice", kOpenOk, Say(0, tune), Verdict::kClosesConnection, 503,
       "method frame connection.tune on channel 0: it arrived out of order"},
      {"OpensOnAnotherChannel", kOpenOk, Say(2, ConnectionOpenOk{}), Verdict::kClosesConnection,
       504, "method frame connection.open-ok on channel 2: the channel is not open"},
      {"DeliversBeforeOpenOk", kOpenOk, Deliver(1, 0), Verdict::kClosesConnection, 503,
       "method frame basic.deliver on channel 0: it arrived out of order"},
      {"ExceedsWhatItHasTunedItself", kOpenOk, FrameHead(3, 1, 131'065), Verdict::kClosesConnection,
       501, "content body frame on channel 1: of 131073 bytes"},
      {"HangsUpBeforeOpenOk", kOpenOk, "", kHangsUp, 0, "closed the connection while vhost '/'",
       nullptr, true},
      {"StallsBeforeOpenOk", kOpenOk, "", kHangsUp, 0, kStalls},
  };
}

}  // namespace retryq::amqp::hostile

#endif  // RETRYQ_TEST_UNIT_AMQP_HOSTILE_HANDSHAKE_VIOLATIONS_H_
