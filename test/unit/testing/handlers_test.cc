#include <atomic>

#include "retryq/testing/delivery.h"
#include "support/simulated_world.h"
#include "support/test.h"

// Tools for tests of handlers: deliveries and settlements without a broker, and handlers on threads
// in simulated time.

namespace retryq::testing::handlers_test {

TEST(MakeDelivery, SetsTheFieldsThatAHandlerReads) {
  std::optional<Delivery> kept;
  {
    const std::string id = "17";
    kept = MakeDelivery({.body = "order 42",
                         .headers = {{"tenant", "acme"}, {"x-retry-count", 3}},
                         .attempt = 3,
                         .last_error = "the bank is down",
                         .properties = {.priority = 5, .message_id = id},
                         .queue = "orders",
                         .exchange = "shop",
                         .routing_key = "order.new",
                         .redelivered = true});
  }
  EXPECT_EQ(kept->body(), "order 42");
  EXPECT_EQ(kept->headers().FindString("tenant"), "acme");
  EXPECT_EQ(kept->attempt(), 3U);
  EXPECT_EQ(kept->last_error(), "the bank is down");
  EXPECT_EQ(kept->id(), "17");
  EXPECT_EQ(kept->properties().priority, 5);
  EXPECT_EQ(kept->queue(), "orders");
  EXPECT_EQ(kept->exchange(), "shop");
  EXPECT_EQ(kept->routing_key(), "order.new");
  EXPECT_TRUE(kept->redelivered());
  EXPECT_FALSE(kept->abandoned());
  EXPECT_EQ(MakeDelivery().body(), "");
}

TEST(RecordedSettlement, RecordsTheOutcome) {
  RecordedSettlement settlement;
  EXPECT_FALSE(settlement.outcome().has_value());
  settlement.Make().Settle(Outcome::RetryAfter(absl::Seconds(3), absl::UnavailableError("busy")));
  ASSERT_TRUE(settlement.outcome().has_value());
  EXPECT_EQ(settlement.outcome()->kind(), Outcome::Kind::kRetryAfter);
  EXPECT_EQ(settlement.outcome()->delay(), absl::Seconds(3));
  EXPECT_EQ(settlement.outcome()->status().message(), "busy");
}

TEST(RecordedSettlement, RecordsThatASettlementIsDropped) {
  RecordedSettlement settlement;
  { const Settlement dropped = settlement.Make(); }
  ASSERT_TRUE(settlement.outcome().has_value());
  EXPECT_THAT(std::string(settlement.outcome()->status().message()), HasSubstr("settl"));
}

TEST(RecordedSettlement, MayBeDestroyedBeforeItsSettlement) {
  auto recorded = std::make_unique<RecordedSettlement>();
  Settlement settlement = recorded->Make();
  EXPECT_FALSE(settlement.abandoned());
  recorded->Abandon();
  recorded.reset();
  EXPECT_TRUE(settlement.abandoned());
  std::move(settlement).Settle(absl::OkStatus());
}

class ThreadsInStep : public SimulatedTest {
 protected:
  ThreadsInStep() {
    rabbit_.DeclareQueue("in");
    rabbit_.DeclareQueue("out");
  }
  ~ThreadsInStep() override { processes_.clear(); }

  void Consume(int threads, Handler handler) {
    consumer_ = &process_.Consume({.queue = "in", .handler_threads = threads}, std::move(handler));
  }
  void SendMany(int messages) {
    for (int i = 0; i < messages; ++i) Send("in", absl::StrCat(i));
  }
  std::vector<std::string> Bodies(const char* queue) {
    std::vector<std::string> bodies;
    for (const amqp::MessagePtr& message : rabbit_.Messages(queue)) {
      bodies.emplace_back(message->body);
    }
    return bodies;
  }

  Consumer* consumer_ = nullptr;
};

TEST_F(ThreadsInStep, FinishTheirWorkBeforeTimeAdvances) {
  std::atomic<int> calls = 0;
  Consume(2, [&](const Delivery& delivery) -> Outcome {
    ++calls;
    return delivery.attempt() == 0 ? absl::UnavailableError("later") : absl::OkStatus();
  });
  SendMany(100);
  time_.Advance(absl::Milliseconds(500));
  EXPECT_EQ(calls, 100);
  time_.Advance(absl::Seconds(10));
  EXPECT_EQ(calls, 200);
  EXPECT_EQ(rabbit_.Count("in"), 0U);
}

TEST_F(ThreadsInStep, WaitForTheirPublishesAsInProduction) {
  const Publisher publisher = client_->publisher();
  std::atomic<int> begun = 0;
  Consume(3, [&, publisher](const Delivery& delivery) -> Outcome {
    ++begun;
    absl::Status first = publisher.PublishAndWait({.routing_key = "out", .body = delivery.body()});
    if (!first.ok()) return first;
    return publisher.PublishAndWait({.routing_key = "out", .body = delivery.body()});
  });
  time_.Advance(absl::Seconds(1));
  SendMany(50);
  time_.Advance(absl::Milliseconds(3));  // no publish can be confirmed so soon
  EXPECT_EQ(begun, 3);
  time_.Advance(absl::Seconds(10));
  EXPECT_EQ(begun, 50);
  EXPECT_EQ(rabbit_.Count("in"), 0U);
  EXPECT_EQ(rabbit_.Count("out"), 100U);
}

TEST_F(ThreadsInStep, LetTimePassWhileAPublishWaits) {
  const Publisher publisher = client_->publisher();
  absl::Status published;
  Consume(1, [&, publisher](const Delivery&) -> Outcome {
    published = publisher.PublishAndWait({.routing_key = "out"}, {.deadline = absl::Minutes(5)});
    return absl::OkStatus();
  });
  time_.Advance(absl::Seconds(1));
  rabbit_.RefusePublishes(true);
  SendMany(1);
  time_.Advance(absl::Minutes(4));
  EXPECT_EQ(published, absl::OkStatus());  // it still waits
  EXPECT_EQ(rabbit_.Count("in"), 1U);
  time_.Advance(absl::Minutes(2));
  EXPECT_EQ(published.code(), absl::StatusCode::kUnavailable) << published;
  EXPECT_EQ(rabbit_.Count("in"), 0U);
}

// A handler on a thread waits for a publish that the broker does not confirm.
class ThreadsThatWait : public ThreadsInStep {
 protected:
  ThreadsThatWait() {
    Consume(1, [this, publisher = client_->publisher()](const Delivery&) -> Outcome {
      published_ = publisher.PublishAndWait({.routing_key = "out"});
      return absl::OkStatus();
    });
    time_.Advance(absl::Seconds(1));
    rabbit_.RefusePublishes(true);
    SendMany(1);
    time_.Advance(absl::Seconds(1));
  }
  ~ThreadsThatWait() override { *consumer_ = Consumer(); }

  absl::Status published_;
};

TEST_F(ThreadsThatWait, EndWithTheirConsumer) {
  *consumer_ = Consumer();
  EXPECT_EQ(published_.code(), absl::StatusCode::kCancelled);
}

TEST_F(ThreadsThatWait, EndWithTheirClient) {
  client_.reset();
  EXPECT_EQ(published_.code(), absl::StatusCode::kCancelled);
}

TEST_F(ThreadsInStep, ReturnUnstartedMessagesWhenPaused) {
  const Publisher publisher = client_->publisher();
  int calls = 0;
  Consume(1, [&, publisher](const Delivery&) -> Outcome {
    ++calls;
    return publisher.PublishAndWait({.routing_key = "out"});
  });
  time_.Advance(absl::Seconds(1));
  rabbit_.RefusePublishes(true);
  SendMany(10);
  time_.Advance(absl::Seconds(1));
  consumer_->Pause();
  int others = 0;
  {
    const auto other = client_->Consume({.queue = "in"}, [&](const Delivery&) {
      ++others;
      return absl::OkStatus();
    });
    time_.Advance(absl::Seconds(1));
    EXPECT_EQ(others, 9);  // while the thread still waits
  }
  SendMany(2);
  rabbit_.RefusePublishes(false);
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(rabbit_.Count("in"), 2U);
  consumer_->Resume();
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(calls, 3);
}

// Which thread gets which message does not depend on the scheduler.
class History : private SimulatedWorld {
 public:
  std::vector<std::string> Live() {
    rabbit_.DeclareQueue("in");
    rabbit_.DeclareQueue("out");
    SimulatedProcess& process = Start();
    const Publisher publisher = process.client->publisher();
    process.Consume({.queue = "in", .handler_threads = 4}, [&](const Delivery& delivery) {
      for (int i = 0; i < 3; ++i) {
        const absl::Status published =
            publisher.PublishAndWait({.routing_key = "out", .body = delivery.body()});
        if (!published.ok()) return published;
      }
      return absl::OkStatus();
    });
    for (int i = 0; i < 100; ++i) Send("in", absl::StrCat(i));
    time_.Advance(absl::Minutes(1));
    std::vector<std::string> bodies;
    for (const auto& message : rabbit_.Messages("out")) bodies.emplace_back(message->body);
    return bodies;
  }
};

TEST(ThreadsInStepAlone, RepeatTheirHistoryForTheSameSeed) {
  const std::vector<std::string> history = History().Live();
  EXPECT_EQ(history.size(), 300U);
  EXPECT_EQ(History().Live(), history);
}

}  // namespace retryq::testing::handlers_test
