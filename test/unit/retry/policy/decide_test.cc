#include "retry/policy/decide.h"

#include "retryq/testing/seeded_random.h"
#include "support/test.h"

namespace retryq::decide_test {

using Kind = Step::Kind;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);
const absl::Status kDown = absl::UnavailableError("down");

// The input of a decision and the expected step.
struct Rule {
  const char* when;
  DeliveryFacts facts = {};                       // of its arrival, or of its handler's call:
  std::optional<Outcome> outcome = std::nullopt;  // not set on arrival
  RetryOptions options = {};
  Kind step;
  absl::Duration delay = absl::ZeroDuration();
  std::uint64_t failures = 0;  // when it arrives: that the message then has
  std::string reason = {};
};

Step Decide(const Rule& rule) {
  testing::SeededRandom random;
  const RetryPolicy policy(rule.options);
  if (rule.outcome) return policy.Decide(*rule.outcome, rule.facts.history, kNow, random);
  DeliveryFacts facts = rule.facts;
  facts.read_at = kNow;
  return policy.Decide(facts, random);
}

void ExpectAll(const std::vector<Rule>& rules) {
  for (const Rule& rule : rules) {
    SCOPED_TRACE(rule.when);
    const Step step = Decide(rule);
    EXPECT_EQ(step.kind, rule.step);
    EXPECT_EQ(step.delay, rule.delay);
    EXPECT_EQ(step.failures, rule.failures);
    EXPECT_EQ(step.reason, rule.reason);
  }
}

constexpr char kDied[] = "ABORTED: the worker that had it died or lost its connection";
constexpr char kDiedTwice[] =
    "ABORTED: the worker that had it died or lost its connection, 2 times";
constexpr char kTimedOut[] =
    "ABORTED: the worker that had it exceeded the broker's consumer timeout";

TEST(Decide, AMessageThatArrivesIsHandled) {
  ExpectAll({
      {.when = "it is new", .step = Kind::kHandle},
      {.when = "it has failed before",
       .facts = {.history = {.failures = 3}},
       .step = Kind::kHandle,
       .failures = 3},
      {.when = "it has failed more often than is allowed now: its handler has the last word",
       .facts = {.history = {.failures = 30}},
       .options = {.max_attempts = 3},
       .step = Kind::kHandle,
       .failures = 30},
      {.when = "its queue has delivered it before, and does not count that",
       .facts = {.redelivered = true},
       .step = Kind::kHandle},
  });
}

TEST(Decide, WaitsForAnUnfinishedDelay) {
  ExpectAll({
      {.when = "a delay queue is worth while",
       .facts = {.history = {.failures = 3}, .left = absl::Milliseconds(20)},
       .step = Kind::kForward,
       .delay = absl::Milliseconds(20),
       .failures = 3},
      {.when = "too little is left for a queue",
       .facts = {.history = {.failures = 3}, .left = absl::Milliseconds(19)},
       .step = Kind::kWait,
       .delay = absl::Milliseconds(19),
       .failures = 3},
  });
}

TEST(Decide, RedeliveriesCountAsFailures) {
  ExpectAll({
      {.when = "the broker keeps their count: it is handled with that",
       .facts = {.history = {.failures = 3}, .redeliveries = {.count = 2, .broker_counts = true}},
       .step = Kind::kHandle,
       .failures = 5},
      {.when = "nobody but a copy keeps it: the last of them is retried",
       .facts = {.history = {.failures = 3}, .redeliveries = {.count = 1}},
       .step = Kind::kRetry,
       .delay = absl::Seconds(8),
       .failures = 3,
       .reason = kDied},
      {.when = "the handler exceeded the consumer timeout",
       .facts = {.redeliveries = {.count = 1, .timed_out = 1}},
       .step = Kind::kRetry,
       .delay = absl::Seconds(1),
       .reason = kTimedOut},
      {.when = "the last of them was the last attempt",
       .facts = {.history = {.failures = 1}, .redeliveries = {.count = 2, .broker_counts = true}},
       .options = {.max_attempts = 3},
       .step = Kind::kPark,
       .failures = 2,
       .reason = std::string("gave up after 3 attempts: ") + kDiedTwice},
      {.when = "the last of them was the last attempt, and the options reject what is given up",
       .facts = {.redeliveries = {.count = 1, .broker_counts = true}},
       .options = {.max_attempts = 1, .on_limit = OnLimit::kReject},
       .step = Kind::kReject,
       .reason = std::string("gave up after 1 attempt: ") + kDied},
      {.when = "whatever is permanent of a handler's errors",
       .facts = {.redeliveries = {.count = 1}},
       .options = {.permanent = absl::IsAborted},
       .step = Kind::kRetry,
       .delay = absl::Seconds(1),
       .reason = kDied},
  });
}

// RabbitMQ 4 drops a message that it has delivered 21 times (F33 in doc/rabbitmq_facts.md).
TEST(Decide, AMessageThatItsQueueWouldSoonDropIsMovedToTheEnd) {
  ExpectAll({
      {.when = "with the redeliveries that count",
       .facts = {.redeliveries = {.count = 10, .broker_counts = true}, .near_delivery_limit = true},
       .step = Kind::kMove,
       .failures = 10},
      {.when = "without them, where none count",
       .facts = {.history = {.failures = 3}, .near_delivery_limit = true},
       .step = Kind::kMove,
       .failures = 3},
      {.when = "before the rest of its delay is waited for",
       .facts = {.left = absl::Milliseconds(19), .near_delivery_limit = true},
       .step = Kind::kMove},
      {.when = "unless it goes through a delay queue first",
       .facts = {.left = absl::Milliseconds(20), .near_delivery_limit = true},
       .step = Kind::kForward,
       .delay = absl::Milliseconds(20)},
      {.when = "unless it is given up",
       .facts = {.redeliveries = {.count = 10, .broker_counts = true}, .near_delivery_limit = true},
       .options = {.max_attempts = 10, .on_limit = OnLimit::kDiscard},
       .step = Kind::kDiscard,
       .failures = 9,
       .reason = std::string("gave up after 10 attempts: ") + kDied + ", 10 times"},
  });
}

TEST(Decide, GivesUpAReturnedMessageBeyondTheLimitsUnhandled) {
  const Delivery::History thrice{.failures = 3, .last_error = "UNAVAILABLE: down"};
  const std::string gave_up =
      "gave up after 3 attempts, when it returned to its queue: UNAVAILABLE: down";
  ExpectAll({
      {.when = "its attempts are used up",
       .facts = {.history = thrice, .came_back = true},
       .options = {.max_attempts = 3},
       .step = Kind::kPark,
       .failures = 2,
       .reason = gave_up},
      {.when = "a rejection might bring it back again",
       .facts = {.history = thrice, .came_back = true},
       .options = {.max_attempts = 3, .on_limit = OnLimit::kReject},
       .step = Kind::kPark,
       .failures = 2,
       .reason = gave_up},
      {.when = "it is to be discarded",
       .facts = {.history = thrice, .came_back = true},
       .options = {.max_attempts = 3, .on_limit = OnLimit::kDiscard},
       .step = Kind::kDiscard,
       .failures = 2,
       .reason = gave_up},
      {.when = "it is too old",
       .facts = {.history = {.failures = 3,
                             .first_failure = kNow - absl::Minutes(2),
                             .last_error = "UNAVAILABLE: down"},
                 .came_back = true},
       .options = {.max_age = absl::Minutes(1)},
       .step = Kind::kPark,
       .failures = 2,
       .reason = gave_up},
      {.when = "it has attempts left",
       .facts = {.history = thrice, .came_back = true},
       .options = {.max_attempts = 4},
       .step = Kind::kHandle,
       .failures = 3},
      {.when = "nothing limits it",
       .facts = {.history = thrice, .came_back = true},
       .options = {.max_attempts = 0},
       .step = Kind::kHandle,
       .failures = 3},
  });
}

TEST(Decide, AMessageThatAnotherQueueRetriesIsSkipped) {
  ExpectAll({
      {.when = "it is new to this queue", .facts = {.others_retry = true}, .step = Kind::kSkip},
      {.when = "whatever else is known of it",
       .facts = {.redeliveries = {.count = 99},
                 .left = absl::Hours(1),
                 .near_delivery_limit = true,
                 .others_retry = true},
       .step = Kind::kSkip},
  });
}

TEST(Decide, FollowsTheOutcomeOfTheHandler) {
  ExpectAll({
      {.when = "it was handled", .outcome = Outcome::Ok(), .step = Kind::kAck},
      {.when = "an error: the delay grows with the failures",
       .facts = {.history = {.failures = 3}},
       .outcome = kDown,
       .step = Kind::kRetry,
       .delay = absl::Seconds(8),
       .reason = "UNAVAILABLE: down"},
      {.when = "the handler chose the delay",
       .facts = {.history = {.failures = 3}},
       .outcome = Outcome::RetryAfter(absl::Seconds(5), kDown),
       .step = Kind::kRetry,
       .delay = absl::Seconds(5),
       .reason = "UNAVAILABLE: down"},
      {.when = "retrying cannot fix it",
       .outcome = absl::InvalidArgumentError("no such customer"),
       .step = Kind::kPark,
       .reason = "INVALID_ARGUMENT: no such customer"},
      {.when = "the handler parks it",
       .outcome = Outcome::Park(kDown),
       .step = Kind::kPark,
       .reason = "UNAVAILABLE: down"},
      {.when = "the handler discards it",
       .outcome = Outcome::Discard("sent twice"),
       .step = Kind::kDiscard,
       .reason = "sent twice"},
      {.when = "the handler gives it back: that is no attempt, not even the last one",
       .outcome = Outcome::Requeue(),
       .options = {.max_attempts = 1},
       .step = Kind::kRequeue},
      {.when = "the handler snoozes it: that is no attempt, not even the last one",
       .outcome = Outcome::Snooze(absl::Hours(8), "closed at night"),
       .options = {.max_attempts = 1},
       .step = Kind::kSnooze,
       .delay = absl::Hours(8),
       .reason = "closed at night"},
  });
}

TEST(Decide, LimitsASnoozeByDelayAndAge) {
  const absl::Time long_ago = kNow - absl::Minutes(59);
  const RetryOptions an_hour{.max_age = absl::Hours(1), .on_limit = OnLimit::kReject};
  ExpectAll({
      {.when = "the delay is no whole milliseconds",
       .outcome = Outcome::Snooze(absl::Microseconds(1500), ""),
       .step = Kind::kSnooze,
       .delay = absl::Milliseconds(2)},
      {.when = "there is no delay",
       .outcome = Outcome::Snooze(-absl::InfiniteDuration(), ""),
       .step = Kind::kSnooze,
       .delay = absl::Milliseconds(1)},
      {.when = "the delay is longer than allowed",
       .outcome = Outcome::Snooze(absl::InfiniteDuration(), ""),
       .options = {.max_retry_after = absl::Hours(2)},
       .step = Kind::kSnooze,
       .delay = absl::Hours(2)},
      {.when = "it has never failed: it has no age",
       .outcome = Outcome::Snooze(absl::Hours(8), "later"),
       .options = an_hour,
       .step = Kind::kSnooze,
       .delay = absl::Hours(8),
       .reason = "later"},
      {.when = "it has failed before, and comes back in time",
       .facts = {.history = {.failures = 2, .first_failure = long_ago}},
       .outcome = Outcome::Snooze(absl::Minutes(1), "later"),
       .options = an_hour,
       .step = Kind::kSnooze,
       .delay = absl::Minutes(1),
       .reason = "later"},
      {.when = "it has failed before, and would come back too late",
       .facts = {.history = {.failures = 2, .first_failure = long_ago}},
       .outcome = Outcome::Snooze(absl::Minutes(2), "later"),
       .options = an_hour,
       .step = Kind::kReject,
       .reason = "gave up, because it would return more than 1h after the first failure: snoozed: "
                 "later"},
  });
}

TEST(Decide, OnlyRetriedErrorsAreTransient) {
  const auto transient = [](const Outcome& outcome, const RetryOptions& options = {}) {
    return Decide({.when = "", .outcome = outcome, .options = options, .step = Kind::kAck})
        .transient;
  };
  EXPECT_TRUE(transient(kDown));
  EXPECT_TRUE(transient(Outcome::RetryAfter(absl::Seconds(1), kDown)));
  EXPECT_TRUE(transient(kDown, {.max_attempts = 1}));  // a limit does not change what it is
  EXPECT_FALSE(transient(Outcome::Ok()));
  EXPECT_FALSE(transient(absl::InvalidArgumentError("no such customer")));
  EXPECT_FALSE(transient(Outcome::Park(kDown)));
  EXPECT_FALSE(transient(Outcome::Discard("sent twice")));
  EXPECT_FALSE(transient(Outcome::Requeue()));
  EXPECT_FALSE(transient(Outcome::Snooze(absl::Seconds(1), "later")));
}

TEST(Decide, GivesUpAMessageAtALimit) {
  ExpectAll({
      {.when = "one attempt is left",
       .facts = {.history = {.failures = 1}},
       .outcome = kDown,
       .options = {.max_attempts = 3},
       .step = Kind::kRetry,
       .delay = absl::Seconds(2),
       .reason = "UNAVAILABLE: down"},
      {.when = "that was the last attempt",
       .facts = {.history = {.failures = 2}},
       .outcome = kDown,
       .options = {.max_attempts = 3},
       .step = Kind::kPark,
       .reason = "gave up after 3 attempts: UNAVAILABLE: down"},
      {.when = "the next attempt would come too late",
       .facts = {.history = {.failures = 2, .first_failure = kNow - absl::Seconds(57)}},
       .outcome = kDown,
       .options = {.max_age = absl::Minutes(1), .on_limit = OnLimit::kDiscard},
       .step = Kind::kDiscard,
       .reason =
           "gave up after 3 attempts, because the next would start more than 1m after the first "
           "failure: UNAVAILABLE: down"},
  });
}

TEST(Decide, ASnoozedMessageHasAnErrorInCaseItIsParked) {
  const Step step = Decide({.when = "snoozed",
                            .outcome = Outcome::Snooze(absl::Seconds(1), "later"),
                            .step = Kind::kSnooze});
  EXPECT_EQ(step.error, "snoozed: later");
  EXPECT_EQ(step.first_failure, kNow);
}

// A copy that can be neither moved nor forwarded is parked, with an error that explains it.
TEST(Decide, AMovedOrForwardedMessageHasAnErrorInCaseItIsParked) {
  const absl::Time first = kNow - absl::Hours(1);
  for (const std::optional<absl::Time> known :
       {std::optional(first), std::optional<absl::Time>()}) {
    const DeliveryFacts facts{.history = {.first_failure = known}};
    Rule move{.when = "moved", .facts = facts, .step = Kind::kMove};
    move.facts.near_delivery_limit = true;
    Rule forward{.when = "sent on", .facts = facts, .step = Kind::kForward};
    forward.facts.left = absl::Hours(1);
    for (const Rule& rule : {move, forward}) {
      const Step step = Decide(rule);
      EXPECT_EQ(step.kind, rule.step);
      EXPECT_NE(step.error, "");
      EXPECT_EQ(step.first_failure, known.value_or(kNow));
    }
  }
}

}  // namespace retryq::decide_test
