#include "retryq/tracing.h"

#include "retryq/coroutine.h"
#include "support/simulated_world.h"

// The hooks of a tracer, on every path of a message.

namespace retryq::tracing_test {

// Calls a function that may replace itself.
template <typename Function, typename... Arguments>
void Call(const Function function, Arguments&... arguments) {
  if (function != nullptr) function(arguments...);
}

// Records each call in a word or two.
class Notes final : public Tracer {
 public:
  class Attempt final : public AttemptTrace {
   public:
    class Inside final : public Scope {
     public:
      explicit Inside(Notes& notes) : notes_(notes) { ++notes_.inside; }
      ~Inside() override { --notes_.inside; }

     private:
      Notes& notes_;
    };

    Attempt(Notes& notes, std::uint64_t number) : notes_(notes), number_(number) {}
    ~Attempt() override {
      if (!has_ended_) notes_.Add(absl::StrCat("abandoned ", number_));
    }
    std::unique_ptr<Scope> Enter(const Delivery& /*delivery*/) override {
      ++notes_.enters;
      return std::make_unique<Inside>(notes_);
    }
    void End(const AttemptEnd& end) override {
      has_ended_ = true;
      notes_.Add(absl::StrCat("end ", std::string(EventName(end.decision)), " ", number_));
      notes_.ends.push_back(
          {end.decision, end.outcome.status(), end.delay, std::string(end.error)});
      Call(notes_.on_end);
    }
    std::uint64_t number() const { return number_; }

   private:
    Notes& notes_;
    const std::uint64_t number_;
    bool has_ended_ = false;
  };

  struct Ended {
    EventKind decision;
    absl::Status status;
    std::optional<absl::Duration> delay;
    std::string error;
  };

  class Sent final : public PublishTrace {
   public:
    explicit Sent(Notes& notes) : notes_(notes) {}
    ~Sent() override {
      if (!has_ended_) notes_.Add("publish dropped");
    }
    void End(const absl::Status& result) override {
      has_ended_ = true;
      notes_.Add(absl::StrCat("publish ", absl::StatusCodeToString(result.code())));
      Call(notes_.on_end);
    }

   private:
    Notes& notes_;
    bool has_ended_ = false;
  };

  std::shared_ptr<AttemptTrace> OnAttempt(const Delivery& delivery) override {
    Add(absl::StrCat("attempt ", delivery.attempt()));
    auto trace = std::make_shared<Attempt>(*this, delivery.attempt());
    Call(on_attempt);
    return trace;
  }
  void OnCopy(const Delivery& delivery, EventKind kind, TraceHeaders& headers) override {
    const auto* const of = dynamic_cast<const Attempt*>(delivery.trace().get());
    Add(absl::StrCat("copy ", std::string(EventName(kind)),
                     of == nullptr ? "" : absl::StrCat(" of ", of->number())));
    if (of != nullptr) {
      has_set = headers.Set("x-retry-traceparent", absl::StrCat("attempt-", of->number()));
    }
    Call(on_copy, headers);
  }
  std::shared_ptr<void> Context() override { return std::make_shared<std::string>("context"); }
  std::unique_ptr<PublishTrace> OnPublish(const OutgoingMessage& message, const PublishOptions&,
                                          const std::shared_ptr<void>& context,
                                          TraceHeaders& headers) override {
    Add(absl::StrCat("publish to ", message.routing_key, context == nullptr ? "" : " elsewhere"));
    has_set = headers.Set("traceparent", "made");
    Call(on_publish);
    return std::make_unique<Sent>(*this);
  }

  void Add(std::string note) { all.push_back(std::move(note)); }

  std::vector<std::string> all;
  std::vector<Ended> ends;
  int inside = 0;
  int enters = 0;
  bool has_set = false;
  std::function<void()> on_attempt, on_end, on_publish;
  std::function<void(TraceHeaders&)> on_copy;
};

class Tracing : public ::testing::Test, protected testing::SimulatedWorld {
 protected:
  Tracing() {
    rabbit_.DeclareQueue("orders");
    time_.Advance(absl::Seconds(1));
  }
  ~Tracing() override {
    consumer_.reset();
    client_.reset();
  }

  template <typename SomeHandler>
  void Consume(SomeHandler handler, ConsumerOptions options = {}) {
    options.queue = "orders";
    consumer_ = client_->Consume(std::move(options), std::move(handler)).value();
    time_.Advance(absl::Seconds(1));
  }
  // Returns these outcomes, one after the other.
  void ConsumeWith(std::vector<Outcome> outcomes, ConsumerOptions options = {}) {
    Consume(
        [this, outcomes = std::move(outcomes), next = 0U](const Delivery& delivery) mutable {
          Note(delivery);
          return outcomes.at(next++);
        },
        std::move(options));
  }
  void Note(const Delivery& delivery) {
    inside_ = notes_.inside;
    has_trace_ = delivery.trace() != nullptr;
    const auto last = delivery.headers().all().FindString("x-retry-traceparent");
    last_.emplace_back(last.value_or(""));
    const auto own = delivery.headers().FindString("traceparent");
    own_.emplace_back(own.value_or(""));
    hidden_ = !delivery.headers().FindString("x-retry-traceparent").has_value();
  }
  void Publish(const amqp::Table& headers = {}) {
    const std::string encoded = headers.Encode().value();
    amqp::Properties properties{.message_id = "1"};
    properties.headers = amqp::TableView(encoded);
    ASSERT_TRUE(rabbit_.Publish("", "orders", properties, "paper"));
    time_.Advance(absl::Minutes(10));
  }

  Notes notes_;
  testing::SimulatedProcess& process_ = Start({.tracer = &notes_});
  std::optional<Client>& client_ = process_.client;
  std::optional<Consumer> consumer_;
  int inside_ = 0;
  bool has_trace_ = false;
  bool hidden_ = true;
  std::vector<std::string> last_, own_;
};

TEST_F(Tracing, FollowsAMessageThroughItsAttempts) {
  ConsumeWith({absl::UnavailableError("down"), absl::UnavailableError("down"), Outcome::Ok()});
  Publish({{"traceparent", "of-the-publisher"}});
  EXPECT_THAT(notes_.all,
              ElementsAre("attempt 0", "end retried 0", "copy retried of 0", "attempt 1",
                          "end retried 1", "copy retried of 1", "attempt 2", "end acked 2"));
  EXPECT_THAT(last_, ElementsAre("", "attempt-0", "attempt-1"));
  EXPECT_THAT(own_, ElementsAre("of-the-publisher", "of-the-publisher", "of-the-publisher"));
  EXPECT_TRUE(hidden_);
  EXPECT_TRUE(has_trace_);
  EXPECT_EQ(inside_, 1);
  EXPECT_EQ(notes_.inside, 0);
  ASSERT_EQ(notes_.ends.size(), 3U);
  EXPECT_EQ(notes_.ends[0].status, absl::UnavailableError("down"));
  EXPECT_TRUE(notes_.ends[0].delay.has_value());
  EXPECT_EQ(notes_.ends[0].error, "UNAVAILABLE: down");
  EXPECT_FALSE(notes_.ends[2].delay.has_value());
}

TEST_F(Tracing, FollowsAMessageThatIsParked) {
  ConsumeWith({Outcome::Park(absl::InvalidArgumentError("no"))});
  Publish();
  EXPECT_THAT(notes_.all, ElementsAre("attempt 0", "end parked 0", "copy parked of 0"));
  const auto parked = rabbit_.Messages("orders.parked");
  ASSERT_EQ(parked.size(), 1U);
  EXPECT_EQ(parked[0]->properties.headers->FindString("x-retry-traceparent"), "attempt-0");
}

TEST_F(Tracing, FollowsAMessageThatIsSnoozed) {
  ConsumeWith({Outcome::Snooze(absl::Seconds(3), "closed"), Outcome::Ok()});
  Publish();
  EXPECT_THAT(notes_.all, ElementsAre("attempt 0", "end snoozed 0", "copy snoozed of 0",
                                      "attempt 0", "end acked 0"));
  EXPECT_THAT(last_, ElementsAre("", "attempt-0"));
  EXPECT_EQ(notes_.ends[0].delay, absl::Seconds(3));
  EXPECT_EQ(notes_.ends[0].error, "closed");
}

TEST_F(Tracing, FollowsMessagesThatAreDroppedOrRequeued) {
  ConsumeWith({Outcome::Discard("stale"), Outcome::Requeue(), Outcome::Ok()});
  Publish();
  EXPECT_THAT(notes_.all, ElementsAre("attempt 0", "end discarded 0"));
  notes_.all.clear();
  Publish();
  EXPECT_THAT(notes_.all, ElementsAre("attempt 0", "end requeued 0", "attempt 0", "end acked 0"));
}

// A delay of several delay queues: the consumer forwards the message without an attempt.
TEST_F(Tracing, KeepsTheLastAttemptOfAMessageThatIsForwarded) {
  ConsumeWith(
      {Outcome::RetryAfter(absl::Seconds(77), absl::UnavailableError("down")), Outcome::Ok()});
  Publish();
  EXPECT_THAT(notes_.all, Contains("copy forwarded"));
  std::erase(notes_.all, "copy forwarded");
  EXPECT_THAT(notes_.all, ElementsAre("attempt 0", "end retried 0", "copy retried of 0",
                                      "attempt 1", "end acked 1"));
  EXPECT_THAT(last_, ElementsAre("", "attempt-0"));
}

TEST_F(Tracing, ReportsAnAbandonedAttempt) {
  std::vector<Settlement> open;
  Consume([&](Delivery, Settlement settlement) { open.push_back(std::move(settlement)); });
  Publish();
  EXPECT_EQ(notes_.inside, 0);
  consumer_.reset();
  std::move(open[0]).Settle(Outcome::Ok());
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(notes_.all, ElementsAre("attempt 0", "abandoned 0"));
}

TEST_F(Tracing, EntersTheAttemptOnTheThreadOfTheHandler) {
  ConsumeWith({absl::UnavailableError("down"), Outcome::Ok()}, {.handler_threads = 1});
  Publish();
  EXPECT_THAT(notes_.all, ElementsAre("attempt 0", "end retried 0", "copy retried of 0",
                                      "attempt 1", "end acked 1"));
  EXPECT_EQ(inside_, 1);
  EXPECT_EQ(notes_.inside, 0);
  EXPECT_EQ(notes_.enters, 2);
}

TEST_F(Tracing, EntersTheAttemptEachTimeThatACoroutineContinues) {
  Consume([this](Delivery delivery) -> Task<Outcome> {
    co_await Delay(time_, absl::Seconds(1));
    Note(delivery);
    co_return Outcome::Ok();
  });
  Publish();
  EXPECT_THAT(notes_.all, ElementsAre("attempt 0", "end acked 0"));
  EXPECT_EQ(inside_, 1);
  EXPECT_EQ(notes_.inside, 0);
}

TEST_F(Tracing, FollowsAPublishToItsResult) {
  std::string headers_seen;
  Consume([&](const Delivery& delivery) {
    headers_seen = delivery.headers().FindString("traceparent").value_or("");
    return Outcome::Ok();
  });
  client_->Publish({.routing_key = "orders"}, {.delay = absl::Seconds(5)}, nullptr);
  client_->Publish({.routing_key = "nowhere"});
  time_.Advance(absl::Minutes(1));
  EXPECT_THAT(notes_.all,
              ElementsAre("publish to orders", "publish to nowhere", "publish NOT_FOUND",
                          "publish OK", "attempt 0", "end acked 0"));
  EXPECT_EQ(headers_seen, "made");
}

TEST_F(Tracing, KeepsTheHeadersThatAPublisherHasSet) {
  client_->Publish({.routing_key = "orders", .headers = {{"traceparent", "mine"}}});
  time_.Advance(absl::Seconds(1));
  EXPECT_FALSE(notes_.has_set);
  const auto messages = rabbit_.Messages("orders");
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0]->properties.headers->FindString("traceparent"), "mine");
}

TEST_F(Tracing, TakesTheContextOfAPublisherOnAnotherThread) {
  Consume(
      [this](const Delivery&) {
        return Outcome(client_->publisher().PublishAndWait({.routing_key = "orders.parked"}));
      },
      {.handler_threads = 1});
  Publish();
  EXPECT_THAT(notes_.all, ElementsAre("attempt 0", "publish to orders.parked elsewhere",
                                      "publish OK", "end acked 0"));
}

TEST_F(Tracing, ReportsAPublishWhoseClientIsDestroyed) {
  process_.broker.SetReachable(false);
  client_->Publish({.routing_key = "orders"});
  client_.reset();
  EXPECT_THAT(notes_.all, ElementsAre("publish to orders", "publish dropped"));
}

// The message of a copy keeps what its publisher has set, and what retrying and the broker need.
TEST_F(Tracing, RefusesHeadersThatOthersHaveSet) {
  std::vector<std::string> refused;
  notes_.on_copy = [&](TraceHeaders& headers) {
    for (const std::string name :
         {"traceparent", "x-retry-count", "x-retry-anything", "x-death", "x-delivery-count", "CC",
          "BCC", "", "x-retry-tracestate", "b3", "with\0nul"}) {
      if (!headers.Set(name, "value")) refused.push_back(name);
    }
    if (!headers.Set(std::string(256, 'n'), "")) refused.emplace_back("too long");
    if (!headers.Set(std::string_view("n\0", 2), "")) refused.emplace_back("NUL");
    if (!headers.Set("large", std::string(TraceHeaders::kMostBytes, 'v'))) {
      refused.emplace_back("large");
    }
    for (int i = 0; headers.Set(absl::StrCat("n", i), ""); ++i) continue;
  };
  ConsumeWith({absl::UnavailableError("down"), Outcome::Ok()});
  Publish({{"traceparent", "of-the-publisher"}});
  EXPECT_THAT(refused,
              ElementsAre("traceparent", "x-retry-count", "x-retry-anything", "x-death",
                          "x-delivery-count", "CC", "BCC", "", "too long", "NUL", "large"));
  EXPECT_THAT(own_, ElementsAre("of-the-publisher", "of-the-publisher"));
  EXPECT_THAT(last_, ElementsAre("", "attempt-0"));
}

TEST_F(Tracing, AddsNoHeadersToAnUnchangedCopy) {
  rabbit_.DeclareQueue("old", {{"x-queue-type", "quorum"}});
  consumer_ = client_
                  ->Consume({.queue = "old"},
                            [requeues = 1](const Delivery&) mutable {
                              return requeues-- > 0 ? Outcome::Requeue() : Outcome::Ok();
                            })
                  .value();
  time_.Advance(absl::Seconds(1));
  rabbit_.Publish("", "old");
  time_.Advance(absl::Minutes(1));
  EXPECT_THAT(notes_.all, ElementsAre("attempt 0", "end requeued 0", "copy requeued of 0",
                                      "attempt 0", "end acked 0"));
  EXPECT_FALSE(notes_.has_set);
}

TEST_F(Tracing, MayDestroyTheConsumerInEachHook) {
  const auto end = [this] {
    consumer_.reset();
    notes_.on_attempt = notes_.on_end = nullptr;
    notes_.on_copy = nullptr;
  };
  notes_.on_attempt = end;
  ConsumeWith({absl::UnavailableError("down")});
  Publish();
  EXPECT_THAT(notes_.all, ElementsAre("attempt 0", "abandoned 0"));

  notes_.all.clear();
  notes_.on_end = end;
  ConsumeWith({absl::UnavailableError("down")});
  time_.Advance(absl::Minutes(1));
  EXPECT_THAT(notes_.all, ElementsAre("attempt 0", "end retried 0"));

  // The second copy could be published at once, as its delay queue is there.
  notes_.all.clear();
  notes_.on_copy = [&](TraceHeaders&) { notes_.on_copy = [&](TraceHeaders&) { end(); }; };
  const Outcome again = Outcome::RetryAfter(absl::Seconds(1), absl::UnavailableError("down"));
  ConsumeWith({again, again});
  time_.Advance(absl::Minutes(1));
  EXPECT_THAT(notes_.all, ElementsAre("attempt 0", "end retried 0", "copy retried of 0",
                                      "attempt 1", "end retried 1", "copy retried of 1"));
  EXPECT_EQ(rabbit_.Count("orders"), 1U);
}

TEST_F(Tracing, MayDestroyTheClientInEachHook) {
  bool is_answered = false;
  notes_.on_end = [this] { client_.reset(); };
  client_->Publish({.routing_key = "orders"}, [&](const absl::Status&) { is_answered = true; });
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(notes_.all, ElementsAre("publish to orders", "publish OK"));
  EXPECT_FALSE(is_answered);
}

TEST_F(Tracing, MayDestroyTheClientWhenAPublishBegins) {
  bool is_answered = false;
  notes_.on_publish = [this] { client_.reset(); };
  client_->Publish({.routing_key = "orders"}, [&](const absl::Status&) { is_answered = true; });
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(notes_.all, ElementsAre("publish to orders", "publish dropped"));
  EXPECT_FALSE(is_answered);
  EXPECT_EQ(rabbit_.Count("orders"), 0U);
}

// Consumers that outlive their client end their attempts, and begin no new ones.
TEST_F(Tracing, EndsWithTheClient) {
  ConsumeWith({absl::UnavailableError("down"), Outcome::Ok()});
  notes_.on_end = [this] { client_.reset(); };
  Publish();
  EXPECT_THAT(notes_.all, ElementsAre("attempt 0", "end retried 0"));
  EXPECT_THAT(last_, ElementsAre("", ""));
  EXPECT_FALSE(has_trace_);
}

}  // namespace retryq::tracing_test
