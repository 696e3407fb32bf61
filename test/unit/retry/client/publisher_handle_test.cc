#include <atomic>
#include <future>
#include <thread>

#include "retryq/client.h"
#include "retryq/publisher.h"
#include "retryq/testing/simulated_time.h"
#include "support/make_message.h"
#include "support/scripted_broker.h"
#include "support/test.h"

// The handle by which any thread publishes, and calls of everything else on a wrong thread.

namespace retryq::publisher_handle_test {

using testing::ScriptedBroker;

class PublisherHandle : public ::testing::Test {
 protected:
  void RunPosted() {
    loop_->executor()->Post([this] { loop_->Stop(); });
    EXPECT_TRUE(loop_->Run().ok());
  }
  // Runs the loop while other threads do this work.
  void RunDuring(std::vector<std::function<void()>> works) {
    std::thread others([&] {
      std::vector<std::thread> threads;
      for (const std::function<void()>& work : works) threads.emplace_back(work);
      for (std::thread& thread : threads) thread.join();
      loop_->executor()->Post([this] { loop_->Stop(); });
    });
    EXPECT_TRUE(loop_->Run().ok());
    others.join();
  }
  std::future<absl::Status> PublishOnAnotherThread(const std::string& body) {
    std::future<absl::Status> result;
    std::thread([&] { result = publisher_.Publish({.routing_key = "out", .body = body}); }).join();
    return result;
  }
  std::vector<std::string> bodies() const {
    std::vector<std::string> bodies;
    for (const auto& publish : broker_.publishes) bodies.push_back(publish.body);
    return bodies;
  }
  static bool IsAnswered(const std::future<absl::Status>& result) {
    return result.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  testing::SimulatedTime broker_time_;
  ScriptedBroker broker_{broker_time_};
  std::optional<EventLoop> loop_{std::in_place};
  std::optional<Client> client_{std::in_place, *loop_, broker_,
                                ClientOptions{.max_open_publishes = 1000}};
  Publisher publisher_ = client_->publisher();
};

TEST_F(PublisherHandle, PublishesFromManyThreadsInTheOrderOfEach) {
  constexpr int kEach = 100;
  broker_.Ready();
  std::atomic<int> confirmed = 0;
  std::vector<std::function<void()>> works;
  for (const char* const thread : {"a", "b", "c"}) {
    works.emplace_back([this, thread, &confirmed, publisher = publisher_] {
      for (int i = 0; i < kEach; ++i) {
        publisher.Publish({.routing_key = thread, .body = std::to_string(i)}, {},
                          [&confirmed](const absl::Status& status) { confirmed += status.ok(); });
      }
    });
  }
  RunDuring(std::move(works));
  for (const std::string thread : {"a", "b", "c"}) {
    int next = 0;
    for (const auto& publish : broker_.publishes) {
      if (publish.routing_key != thread) continue;
      EXPECT_EQ(publish.body, std::to_string(next++));
    }
    EXPECT_EQ(next, kEach);
  }
  for (auto* const publish : broker_.open()) publish->Confirm();
  EXPECT_EQ(confirmed, 3 * kEach);
}

TEST_F(PublisherHandle, PublishesAtOnceOnTheLoopsThreadUnlessOthersWait) {
  broker_.Ready();
  loop_->executor()->Post([&] {
    publisher_.Publish({.routing_key = "out", .body = "direct"}, {}, nullptr);
    EXPECT_THAT(bodies(), ElementsAre("direct"));
    const auto other = PublishOnAnotherThread("posted");
    publisher_.Publish({.routing_key = "out", .body = "behind it"}, {}, nullptr);
    EXPECT_THAT(bodies(), SizeIs(1));
  });
  RunPosted();
  RunPosted();
  EXPECT_THAT(bodies(), ElementsAre("direct", "posted", "behind it"));
}

TEST_F(PublisherHandle, CountsPendingPublishes) {
  client_.emplace(*loop_, broker_, ClientOptions{.max_open_publishes = 2});
  publisher_ = client_->publisher();
  broker_.Ready();
  const auto first = PublishOnAnotherThread("1");
  const auto second = PublishOnAnotherThread("2");
  auto third = PublishOnAnotherThread("3");
  ASSERT_TRUE(IsAnswered(third));
  EXPECT_TRUE(absl::IsResourceExhausted(third.get()));
  std::optional<absl::Status> own;
  client_->Publish({.routing_key = "out"}, [&](absl::Status status) { own = std::move(status); });
  RunPosted();
  EXPECT_THAT(bodies(), ElementsAre("1", "2"));
  ASSERT_TRUE(own.has_value());
  EXPECT_TRUE(absl::IsResourceExhausted(*own));
  EXPECT_TRUE(absl::IsResourceExhausted(PublishOnAnotherThread("4").get()));
  broker_.publishes[0].Confirm();
  const auto fifth = PublishOnAnotherThread("5");
  RunPosted();
  EXPECT_THAT(bodies(), ElementsAre("1", "2", "5"));
}

TEST_F(PublisherHandle, AnswersWhenTheClientIsDestroyed) {
  broker_.Ready();
  auto open = PublishOnAnotherThread("open");
  RunPosted();
  auto posted = PublishOnAnotherThread("posted");
  client_.reset();
  ASSERT_TRUE(IsAnswered(open));
  EXPECT_TRUE(absl::IsCancelled(open.get()));
  RunPosted();
  ASSERT_TRUE(IsAnswered(posted));
  EXPECT_TRUE(absl::IsCancelled(posted.get()));
  EXPECT_THAT(bodies(), ElementsAre("open"));
}

TEST_F(PublisherHandle, AnswersWhenTheLoopIsDestroyedAndAfterwards) {
  auto posted = PublishOnAnotherThread("posted");
  client_.reset();
  loop_.reset();
  ASSERT_TRUE(IsAnswered(posted));
  EXPECT_TRUE(absl::IsCancelled(posted.get()));
  EXPECT_TRUE(absl::IsCancelled(PublishOnAnotherThread("late").get()));
  std::thread([&] {
    EXPECT_TRUE(absl::IsCancelled(publisher_.PublishAndWait({.routing_key = "out"})));
  }).join();
}

// Its callback may use the handle while the client is being destroyed.
TEST_F(PublisherHandle, MayBeUsedInTheCallbackOfACancelledPublish) {
  broker_.Ready();
  std::vector<absl::Status> answers;
  publisher_.Publish({.routing_key = "out"}, {}, [&](absl::Status status) {
    answers.push_back(std::move(status));
    publisher_.Publish({.routing_key = "out"}, {},
                       [&](absl::Status next) { answers.push_back(std::move(next)); });
  });
  RunPosted();
  EXPECT_THAT(answers, IsEmpty());
  client_.reset();
  RunPosted();
  ASSERT_THAT(answers, SizeIs(2));
  EXPECT_TRUE(absl::IsCancelled(answers[0]));
  EXPECT_TRUE(absl::IsCancelled(answers[1]));
}

TEST_F(PublisherHandle, AnswersAnAbandonedHandler) {
  for (const bool begins : {false, true}) {
    std::promise<void> called;
    std::promise<absl::Status> heard;
    auto consumer = client_->Consume(
        {.queue = "orders", .handler_threads = 1}, [&](const Delivery&) -> Outcome {
          called.set_value();
          const absl::Status result = publisher_.PublishAndWait({.routing_key = "out"});
          heard.set_value(result);
          return result;
        });
    ASSERT_TRUE(consumer.ok());
    broker_.Ready();
    for (int i = 0; i < 10; ++i) {
      broker_time_.RunReady();
      RunPosted();
    }
    broker_.subscriber->OnDelivery(MakeMessage());
    called.get_future().wait();
    while (begins && broker_.publishes.empty()) RunPosted();
    consumer = absl::CancelledError("destroyed");
    EXPECT_TRUE(absl::IsCancelled(heard.get_future().get()));
  }
}

TEST_F(PublisherHandle, RefusesToWaitOnTheLoopsThread) {
  broker_.Ready();
  absl::Status result;
  loop_->executor()->Post([&] { result = publisher_.PublishAndWait({.routing_key = "out"}); });
  RunPosted();
  EXPECT_TRUE(absl::IsFailedPrecondition(result)) << result;
  // The loop does not run now, and would not during the call.
  EXPECT_TRUE(absl::IsFailedPrecondition(publisher_.PublishAndWait({.routing_key = "out"})));
  EXPECT_THAT(bodies(), IsEmpty());
}

TEST_F(PublisherHandle, IsDrainedWithTheLoopAndCancelsAfterwards) {
  broker_.Ready();
  auto posted = PublishOnAnotherThread("posted");
  broker_.on_publish = [&](const PublishParams&) {
    loop_->executor()->Post([&] { broker_.open().front()->Confirm(); });
  };
  loop_->executor()->Post([&] { broker_time_.RunReady(); });
  const auto answers = loop_->After(absl::Milliseconds(20), [&] { broker_time_.RunReady(); });
  loop_->Drain();
  EXPECT_TRUE(loop_->Run().ok());
  ASSERT_TRUE(IsAnswered(posted));
  EXPECT_TRUE(posted.get().ok());
  EXPECT_TRUE(absl::IsCancelled(PublishOnAnotherThread("late").get()));
}

// Makes a loop with a client and a consumer, and calls this on another thread while the loop runs.
void CallOnAnotherThread(
    const std::function<void(EventLoop& loop, Client& client, Consumer& consumer)>& call) {
  testing::SimulatedTime time;
  ScriptedBroker broker(time);
  EventLoop loop;
  Client client(loop, broker, {});
  Consumer consumer =
      *client.Consume({.queue = "orders"}, [](const Delivery&) { return Outcome::Ok(); });
  std::thread other;
  loop.executor()->Post([&] {
    other = std::thread([&] {
      call(loop, client, consumer);
      loop.executor()->Post([&] { loop.Stop(); });
    });
  });
  static_cast<void>(loop.Run());
  other.join();
}

TEST(WrongThreadDeathTest, IsDetectedAndNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(CallOnAnotherThread([](EventLoop&, Client& client, Consumer&) {
                 client.Publish({.routing_key = "out"});
               }),
               "Client::Publish was called on another thread");
  EXPECT_DEATH(CallOnAnotherThread(
                   [](EventLoop&, Client& client, Consumer&) { client.Declare({.name = "q"}); }),
               "Client::Declare was called on another thread");
  EXPECT_DEATH(CallOnAnotherThread([](EventLoop&, Client& client, Consumer&) {
                 static_cast<void>(
                     client.Consume({.queue = "q"}, [](const Delivery&) { return Outcome::Ok(); }));
               }),
               "Client::Consume was called on another thread");
  EXPECT_DEATH(CallOnAnotherThread([](EventLoop& loop, Client&, Consumer&) { Client(loop, {}); }),
               "Client::Client was called on another thread");
  EXPECT_DEATH(
      CallOnAnotherThread([](EventLoop&, Client&, Consumer& consumer) { consumer.Pause(); }),
      "Consumer::Pause was called on another thread");
  EXPECT_DEATH(
      CallOnAnotherThread([](EventLoop&, Client&, Consumer& consumer) { consumer = Consumer(); }),
      "Consumer::~Consumer was called on another thread");
  EXPECT_DEATH(CallOnAnotherThread([](EventLoop& loop, Client&, Consumer&) { loop.Stop(); }),
               "EventLoop::Stop was called on another thread");
  EXPECT_DEATH(
      CallOnAnotherThread([](EventLoop& loop, Client&, Consumer&) {
        std::promise<std::unique_ptr<Timer>> made;
        loop.executor()->Post([&] { made.set_value(loop.After(absl::Hours(1), [] { FAIL(); })); });
        made.get_future().get().reset();
      }),
      "Timer::~Timer was called on another thread");
  EXPECT_DEATH(CallOnAnotherThread([](EventLoop& loop, Client&, Consumer&) {
                 testing::SimulatedTime time;
                 ScriptedBroker broker(time);
                 std::promise<std::unique_ptr<Retrier>> made;
                 loop.executor()->Post([&] {
                   const auto shared =
                       Retrier::Shared::Create(broker, {.clock = &loop.clock(),
                                                        .timers = &loop,
                                                        .random = &loop.random(),
                                                        .executor = loop.executor()});
                   made.set_value(Retrier::Create(*shared, {.queue = "orders"}).value());
                 });
                 made.get_future().get()->Abandon();
               }),
               "Retrier::Abandon was called on another thread");
}

TEST(WrongThread, IsAllowedWhileTheLoopDoesNotRun) {
  testing::SimulatedTime time;
  ScriptedBroker broker(time);
  EventLoop loop;
  Client client(loop, broker, {});
  broker.Ready();
  std::thread([&] { client.Publish({.routing_key = "out"}); }).join();
  EXPECT_THAT(broker.publishes, SizeIs(1));
}

}  // namespace retryq::publisher_handle_test
