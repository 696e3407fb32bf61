#include "amqp/channel/publish_confirms.h"

#include <random>

#include "amqp/codec/frame.h"
#include "amqp/codec/properties_codec.h"
#include "amqp/transport/outbox.h"
#include "support/test.h"

namespace retryq::amqp::publish_confirms_test {

Fingerprint PrintOf(std::string_view key, std::string_view encoded = "properties",
                    std::string_view body = "body") {
  return Fingerprint::Of("exchange", key, {}, encoded, body);
}

std::string Header(std::size_t body_size) {
  std::string payload;
  AppendContentHeader(body_size, {}, &payload);
  return payload;
}

// Adds a publish with its frames, as a channel does.
void Add(PublishConfirms* confirms, const PublishParams& params, PublishConfirms::Callback done) {
  Outbox outbox;
  const std::size_t header_size = ContentHeaderSize(params.properties);
  confirms->Add(params, outbox.AddPublish(1, params, header_size, kFrameMinSize), std::move(done));
}

class PublishConfirmsTest : public ::testing::Test {
 protected:
  void Publish(const std::string& name, const Fingerprint& fingerprint) {
    confirms_.Add(fingerprint, [this, name](const PublishResult& result) {
      static constexpr const char* kNames[] = {"confirmed", "returned", "nacked", "unknown",
                                               "not sent"};
      answers_.push_back(absl::StrCat(name, " ", kNames[static_cast<int>(result.outcome)],
                                      result.code == 0 ? "" : absl::StrCat(" ", result.code),
                                      std::string(result.text)));
    });
  }
  void Publish(const std::string& name) { Publish(name, PrintOf(name)); }
  bool Ack(std::uint64_t tag, bool multiple = false) {
    return confirms_.Settle(tag, multiple, PublishOutcome::kConfirmed);
  }

  PublishConfirms confirms_;
  std::vector<std::string> answers_;
};

TEST_F(PublishConfirmsTest, DistinguishesLargeBodiesThatItKeeps) {
  const auto owned = [](char last) {
    return std::make_shared<const std::string>(std::string(4096, 'x') + last);
  };
  for (const char last : {'a', 'b', 'c'}) {
    const auto body = owned(last);
    Publish(std::string(1, last), Fingerprint::Of("", "key", {}, "properties", *body, body));
  }
  EXPECT_TRUE(confirms_.Return(Fingerprint::Of("", "key", {}, "properties", *owned('b')), 312, ""));
  EXPECT_FALSE(
      confirms_.Return(Fingerprint::Of("", "key", {}, "properties", *owned('d')), 312, ""));
  Ack(3, /*multiple=*/true);
  EXPECT_THAT(answers_, ElementsAre("a confirmed", "b returned 312", "c confirmed"));
}

TEST_F(PublishConfirmsTest, KeepsALargeBodyOnlyUntilItIsAnswered) {
  auto body = std::make_shared<const std::string>(4096, 'x');
  const std::weak_ptr<const std::string> watch = body;
  Publish("a", Fingerprint::Of("", "key", {}, "properties", *body, body));
  body.reset();
  EXPECT_FALSE(watch.expired());
  Ack(1);
  EXPECT_TRUE(watch.expired());
}

TEST_F(PublishConfirmsTest, RecognisesACopiedContentByItsIdIfTheBrokerRewroteItsProperties) {
  const auto publish = [this](std::string_view id) {
    Add(&confirms_, {.routing_key = "key", .properties = {.message_id = id}, .body = "body"},
        [this, name = std::string(id)](const PublishResult& result) {
          answers_.push_back(absl::StrCat(name, " ", result.code));
        });
  };
  for (const std::string_view id : {"a", "b", "c"}) publish(id);
  Ack(1);
  EXPECT_TRUE(confirms_.Return(
      Fingerprint::Of("", "key", {.message_id = "b"}, "as the broker likes it", "body"), 312, ""));
  Ack(3, /*multiple=*/true);
  EXPECT_THAT(answers_, ElementsAre("a 0", "b 312", "c 0"));
}

TEST_F(PublishConfirmsTest, FindsACopiedContentAfterManyOthersHaveBeenAnswered) {
  const auto body_of = [](std::uint64_t number) {
    return absl::StrCat(number, std::string(500, 'x'));
  };
  std::map<std::uint64_t, std::uint16_t> codes;
  for (std::uint64_t number = 1; number <= 1000; ++number) {
    const std::string body = body_of(number);
    Add(&confirms_, {.exchange = "exchange", .routing_key = "key", .body = body},
        [&codes, number](const PublishResult& result) { codes[number] = result.code; });
    if (number % 3 == 0) Ack(number);
    if (number > 100) Ack(number - 100);
  }
  EXPECT_TRUE(confirms_.Return(PrintOf("key", Header(503), body_of(950)), 312, ""));
  EXPECT_FALSE(confirms_.Return(PrintOf("key", Header(503), body_of(800)), 312, ""));
  Ack(1000, /*multiple=*/true);
  EXPECT_EQ(codes.size(), 1000U);
  for (const auto& [number, code] : codes) EXPECT_EQ(code, number == 950 ? 312 : 0) << number;
}

TEST_F(PublishConfirmsTest, DistinguishesPublishesByPropertiesAlone) {
  Publish("a", PrintOf("key", "one"));
  Publish("b", PrintOf("key", "two"));
  EXPECT_TRUE(confirms_.Return(PrintOf("key", "two"), 312, ""));
  Ack(2, /*multiple=*/true);
  EXPECT_THAT(answers_, ElementsAre("a confirmed", "b returned 312"));
}

TEST_F(PublishConfirmsTest, RecognisesAReturnWhosePropertiesTheBrokerRewrote) {
  Publish("a", PrintOf("key", "as sent"));
  Publish("b", PrintOf("other", "as sent"));
  EXPECT_TRUE(confirms_.Return(PrintOf("other", "as the broker likes it"), 312, ""));
  Ack(2, /*multiple=*/true);
  EXPECT_THAT(answers_, ElementsAre("a confirmed", "b returned 312"));
}

TEST_F(PublishConfirmsTest, DoesNotMatchAReturnOfAnotherMessage) {
  Publish("a");
  EXPECT_FALSE(confirms_.Return(PrintOf("z"), 312, ""));
  EXPECT_FALSE(confirms_.Return(PrintOf("a", "properties", "another body"), 312, ""));
  Ack(1);
  EXPECT_FALSE(confirms_.Return(PrintOf("a"), 312, ""));
  EXPECT_THAT(answers_, ElementsAre("a confirmed"));
}

TEST_F(PublishConfirmsTest, MayBeAddedToFromACallback) {
  int left = 100;
  std::function<void(const PublishResult&)> again = [&](const PublishResult&) {
    if (--left > 0) confirms_.Add(PrintOf("more"), again);
  };
  confirms_.Add(PrintOf("more"), again);
  std::uint64_t tag = 0;
  while (left > 0) {
    ++tag;
    Ack(tag, /*multiple=*/tag % 2 == 0);
  }
  EXPECT_EQ(confirms_.size(), 0U);
}

TEST_F(PublishConfirmsTest, CountsAnsweredPublishes) {
  for (const char* name : {"a", "b", "c", "d"}) Publish(name);
  EXPECT_EQ(confirms_.TakeAnswered(), 0U);
  Ack(2);
  EXPECT_EQ(confirms_.TakeAnswered(), 1U);
  Ack(2);
  EXPECT_EQ(confirms_.TakeAnswered(), 0U);
  Ack(4, true);
  EXPECT_EQ(confirms_.TakeAnswered(), 3U);
}

TEST_F(PublishConfirmsTest, CallsNoCallbackAfterItIsAbandonedEvenDuringAMultipleAck) {
  int calls = 0;
  for (int i = 0; i < 5; ++i) {
    confirms_.Add(PrintOf("x"), [&](const PublishResult&) {
      if (++calls == 2) confirms_.Abandon();
    });
  }
  Ack(5, /*multiple=*/true);
  EXPECT_EQ(calls, 2);
}

// A broker that routes some and not others, returns in order, and acks as it likes.
TEST_F(PublishConfirmsTest, AnswersEachPublishOnceAndCorrectlyInRandomHistories) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](std::uint64_t n) {
      return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random);
    };
    PublishConfirms confirms;
    std::map<std::uint64_t, bool> routable;  // of what the broker has not acked
    std::vector<int> answers;                // by number
    std::uint64_t published = 0;
    const auto ack = [&](std::uint64_t tag, bool multiple) {
      ASSERT_TRUE(confirms.Settle(tag, multiple, PublishOutcome::kConfirmed));
      if (multiple) {
        routable.erase(routable.begin(), routable.upper_bound(tag));
      } else {
        routable.erase(tag);
      }
      for (std::uint64_t number = 1; number <= published; ++number) {
        ASSERT_EQ(answers[number - 1], routable.contains(number) ? 0 : 1);
      }
    };
    for (int turn = 0; turn < 60; ++turn) {
      for (std::uint64_t n = below(8); n > 0; --n) {
        const bool found = below(2) == 0;
        const std::uint64_t number = ++published;
        routable[number] = found;
        answers.push_back(0);
        const std::string_view key = found ? "there" : "nowhere";
        const std::string body =
            absl::StrCat(below(2) == 0 ? number : 0, std::string(below(2000), 'x'));
        const Fingerprint print = PrintOf(key, Header(body.size()), body);
        const auto done = [&answers, number, found](const PublishResult& result) {
          ++answers[number - 1];
          EXPECT_EQ(result.outcome, found ? PublishOutcome::kConfirmed : PublishOutcome::kReturned);
        };
        if (below(4) == 0) {
          confirms.Add(print, done);
        } else {
          Add(&confirms, {.exchange = "exchange", .routing_key = key, .body = body}, done);
        }
        if (!found) {
          ASSERT_TRUE(confirms.Return(print, 312, "NO_ROUTE"));
        }
      }
      for (std::uint64_t n = below(6); n > 0 && !routable.empty(); --n) {
        const auto tag =
            std::next(routable.begin(), static_cast<std::ptrdiff_t>(below(routable.size())))->first;
        ack(tag, below(3) == 0);
      }
    }
    ack(published, true);
  }
}

}  // namespace retryq::amqp::publish_confirms_test
