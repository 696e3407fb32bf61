#include "retryq/client.h"

#include <atomic>
#include <future>
#include <thread>

#include "retryq/testing/simulated_time.h"
#include "support/make_message.h"
#include "support/no_threads.h"
#include "support/recorded_events.h"
#include "support/scripted_broker.h"
#include "support/test.h"

// The parts of the client that need no connection: consumers and publishes on a broker that the
// test controls.

namespace retryq::client_test {

using testing::RecordedEvents;
using testing::ScriptedBroker;

// The client gets the time from a real loop; the test only times the broker's replies, and never
// waits.
class ClientTest : public ::testing::Test {
 protected:
  // Answers the requests of the client until there are no more.
  void Settle() {
    for (int i = 0; i < 10; ++i) {
      broker_time_.RunReady();
      RunPosted();
    }
  }

  // One turn of the loop: runs posted work and due timers.
  void RunPosted() {
    loop_.executor()->Post([this] { loop_.Stop(); });
    result_ = loop_.Run();
  }

  void Deliver(std::uint64_t tag) {
    broker_.subscriber->OnDelivery(MakeMessage({.delivery_tag = {.generation = 1, .tag = tag}}));
  }

  static Outcome Handles(const Delivery&) { return Outcome::Ok(); }

  testing::SimulatedTime broker_time_;
  ScriptedBroker broker_{broker_time_};
  RecordedEvents events_;
  EventLoop loop_;
  std::optional<Client> client_{std::in_place, loop_, broker_, ClientOptions{.observer = &events_}};
  absl::Status result_;
};

// A margin that is right for heartbeats of 15 s lets a confirm count after the queue has gone.
TEST_F(ClientTest, RequiresAMarginOfFourHeartbeats) {
  const auto validity = [this](absl::Duration heartbeat, absl::Duration margin) {
    broker_.heartbeat_interval = heartbeat;
    const DelayQueueOptions options = {.margin = margin};
    client_.emplace(loop_, broker_, ClientOptions{.delay_queues = options});
    const absl::Status consumer = client_->Consume({.queue = "orders"}, Handler(Handles)).status();
    client_.reset();
    const absl::Status retrier = Retrier::Shared::Create(broker_,
                                                         {.clock = &loop_.clock(),
                                                          .timers = &loop_,
                                                          .random = &loop_.random(),
                                                          .executor = loop_.executor()},
                                                         options)
                                     .status();
    EXPECT_EQ(consumer.ok(), retrier.ok()) << consumer << retrier;
    return consumer;
  };
  for (const absl::Duration heartbeat : {absl::Seconds(1), absl::Seconds(15), absl::Seconds(60)}) {
    EXPECT_EQ(validity(heartbeat, 4 * heartbeat), absl::OkStatus());
    const absl::Status status = validity(heartbeat, 4 * heartbeat - absl::Seconds(1));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("margin"));
  }
  EXPECT_THAT(std::string(validity(absl::ZeroDuration(), absl::Minutes(1)).message()),
              HasSubstr("heartbeat"));
}

TEST_F(ClientTest, AMissingWorkExchangeEndsTheLoopBeforeTheFirstSuccess) {
  broker_.on_check_exchange = [](const std::string&) { return absl::NotFoundError("no exchange"); };
  const auto consumer =
      client_->Consume({.queue = "orders", .work_exchange = "shop"}, Handler(Handles));
  broker_.Ready();
  broker_time_.RunReady();
  EXPECT_TRUE(absl::IsNotFound(loop_.Run()));
}

TEST_F(ClientTest, AWrongPasswordEndsTheLoopBeforeTheFirstSuccess) {
  const auto consumer = client_->Consume({.queue = "orders"}, Handler(Handles));
  broker_.Lose(absl::UnauthenticatedError("wrong password"));
  EXPECT_TRUE(absl::IsUnauthenticated(loop_.Run()));
}

TEST_F(ClientTest, ReportsThatNoHandlerThreadCanBeStarted) {
  const testing::NoThreads no_threads;
  const auto consumer =
      client_->Consume({.queue = "orders", .handler_threads = 2}, Handler(Handles));
  EXPECT_EQ(consumer.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(consumer.status().message()),
              HasSubstr("handler_threads: cannot create thread 1 of 2"));
  broker_.Ready();
  Settle();
  EXPECT_TRUE(result_.ok());
}

TEST_F(ClientTest, DrainingRequeuesDeliveriesThatWaitForAThread) {
  broker_.version = "4.3.6";  // which does not count that
  std::promise<void> started;
  std::promise<void> finish;
  const auto consumer = client_->Consume({.queue = "orders", .handler_threads = 1},
                                         Handler([&](const Delivery&) -> Outcome {
                                           started.set_value();
                                           finish.get_future().wait();
                                           return Outcome::Ok();
                                         }));
  broker_.Ready();
  Settle();
  Deliver(1);
  Deliver(2);
  started.get_future().wait();
  loop_.Drain();
  Settle();  // from here on no message is handled
  finish.set_value();
  while (!broker_.closed) Settle();
  EXPECT_THAT(broker_.acked, ElementsAre(1));
  EXPECT_THAT(broker_.requeued, ElementsAre(2));
}

// A handler waits for a result of the loop that destroys its consumer.
TEST_F(ClientTest, DestroyingAConsumerAnswersPendingCallsOfItsHandlers) {
  enum class WaitsFor { kPublish, kDeclare, kPosted };
  for (const WaitsFor what : {WaitsFor::kPublish, WaitsFor::kDeclare, WaitsFor::kPosted}) {
    std::promise<void> posted;
    absl::Status heard;
    std::atomic<bool> abandoned = false;
    auto consumer = client_->Consume(
        {.queue = "orders", .handler_threads = 1},
        Handler([&, on_loop = loop_.executor()](const Delivery& delivery) -> Outcome {
          auto promise = std::make_shared<std::promise<absl::Status>>();
          std::future<absl::Status> answer = promise->get_future();
          on_loop->Post([&, promise = std::move(promise)] {
            const auto done = [promise](absl::Status status) { promise->set_value(status); };
            if (what == WaitsFor::kPublish) client_->Publish({.routing_key = "out"}, {}, done);
            if (what == WaitsFor::kDeclare) client_->Declare({.name = "new"}, {}, done);
          });
          posted.set_value();
          try {
            heard = answer.get();
          } catch (const std::future_error&) {
            heard = absl::UnknownError("dropped");
          }
          abandoned = delivery.abandoned();
          return heard;
        }));
    ASSERT_TRUE(consumer.ok());
    broker_.Ready();
    Settle();
    Deliver(1);
    posted.get_future().wait();
    if (what != WaitsFor::kPosted) RunPosted();
    consumer = absl::CancelledError("destroyed");
    EXPECT_EQ(heard.code(), what == WaitsFor::kPosted ? absl::StatusCode::kUnknown
                                                      : absl::StatusCode::kCancelled);
    EXPECT_TRUE(abandoned);
  }
}

// The loop cannot wait forever for this handler, because it is blocked meanwhile.
TEST_F(ClientTest, LeavesAnUnfinishedHandlerToTheLoop) {
  struct Shared {  // with a handler that outlives the test's variables
    std::promise<void> begun;
    std::promise<void> end;
    std::atomic<bool> ended = false;
  };
  const auto shared = std::make_shared<Shared>();
  auto consumer = client_->Consume({.queue = "orders", .handler_threads = 1},
                                   Handler([shared](const Delivery&) -> Outcome {
                                     shared->begun.set_value();
                                     shared->end.get_future().wait();
                                     shared->ended = true;
                                     return Outcome::Ok();
                                   }));
  broker_.Ready();
  Settle();
  Deliver(1);
  shared->begun.get_future().wait();
  consumer = absl::CancelledError("destroyed");
  EXPECT_FALSE(shared->ended);
  shared->end.set_value();
}

TEST(Client, NamesInvalidOptionsOfTheClientAndTheConsumerTogether) {
  EventLoop loop;
  Client client(loop, {.url = "http://localhost",
                       .max_open_publishes = 0,
                       .delay_queues = {.prefix = "", .min_window = absl::Hours(1)}});
  const auto consumer = client.Consume({.queue = "",
                                        .retry = {.backoff = {.factor = 0}},
                                        .prefetch = 0,
                                        .handler_threads = 1025,
                                        .breaker = BreakerOptions{.ratio = 2}},
                                       Handler([](const Delivery&) { return Outcome::Ok(); }));
  ASSERT_TRUE(absl::IsInvalidArgument(consumer.status()));
  for (const char* field :
       {"amqp://", "prefix", "min_window", "max_open_publishes", "queue must", "factor", "prefetch",
        "breaker.ratio", "handler_threads must be 0 to 1024"}) {
    EXPECT_THAT(std::string(consumer.status().message()), HasSubstr(field));
  }
}

}  // namespace retryq::client_test
