#include "retryq/coroutine.h"

#include <atomic>
#include <future>
#include <thread>

#include "support/simulated_world.h"
#include "support/test.h"
#include "support/waiting_executor.h"

namespace retryq::coroutine_test {

// Counts the coroutines that have a local variable of this type.
class Living {
 public:
  explicit Living(std::atomic<int>& count) : count_(count) { ++count_; }
  ~Living() { --count_; }
  Living(const Living&) = delete;
  Living& operator=(const Living&) = delete;

 private:
  std::atomic<int>& count_;
};

// Runs each piece of work on its own thread.
class Threads final : public Executor {
 public:
  ~Threads() override { Join(); }
  void Post(Work work) override {
    threads_.emplace_back([work = std::move(work)]() mutable { std::move(work)(); });
  }
  void Join() {
    for (std::thread& thread : std::exchange(threads_, {})) thread.join();
  }

 private:
  std::vector<std::thread> threads_;
};

class CoroutineTest : public testing::SimulatedTest {
 protected:
  CoroutineTest() {
    rabbit_.DeclareQueue("orders");
    rabbit_.DeclareQueue("invoices");
  }
  ~CoroutineTest() override {
    consumer_ = {};
    client_.reset();
  }

  template <typename Coroutine>
  void Consume(Coroutine handler, ConsumerOptions options = {.queue = "orders"}) {
    consumer_ = client_->Consume(std::move(options), std::move(handler)).value();
    time_.Advance(absl::Seconds(1));
  }

  void Publish() {
    ASSERT_TRUE(rabbit_.Publish("", "orders", {.message_id = "1"}, "paper"));
    time_.Advance(absl::Seconds(1));
  }

  // The bodies of the messages that the queue has, whether ready or unacked.
  std::vector<std::string> Bodies(std::string_view queue) const {
    std::vector<std::string> bodies;
    for (const auto& message : rabbit_.Messages(queue)) bodies.emplace_back(message->body);
    return bodies;
  }

  // The errors of the messages that have failed.
  std::vector<std::string> LastErrors() const {
    std::vector<std::string> errors;
    for (const std::string& queue : rabbit_.queues()) {
      for (const auto& message : rabbit_.Messages(queue)) {
        const auto headers = message->properties.headers;
        const auto error = headers ? headers->FindString("x-retry-error") : std::nullopt;
        if (error) errors.emplace_back(*error);
      }
    }
    return errors;
  }

  std::atomic<int> living_ = 0;
  Consumer consumer_;
};

TEST_F(CoroutineTest, SettlesWithItsReturnedOutcome) {
  Consume([](Delivery order) -> Task<Outcome> {
    EXPECT_EQ(order.body(), "paper");
    co_return absl::OkStatus();
  });
  Publish();
  EXPECT_EQ(rabbit_.Count("orders"), 0U);
  EXPECT_THAT(LastErrors(), ElementsAre());
}

TEST_F(CoroutineTest, AnExceptionRetries) {
  Consume([](const Delivery&) -> Task<Outcome> {
    throw std::runtime_error("no ink");
    co_return absl::OkStatus();
  });
  Publish();
  EXPECT_THAT(LastErrors(), ElementsAre("the handler threw: no ink"));
}

TEST_F(CoroutineTest, WaitsForADelay) {
  Consume([this](const Delivery&) -> Task<Outcome> {
    co_await Delay(time_, absl::Seconds(10));
    co_return absl::OkStatus();
  });
  Publish();
  EXPECT_EQ(rabbit_.Count("orders"), 1U);
  time_.Advance(absl::Seconds(10));
  EXPECT_EQ(rabbit_.Count("orders"), 0U);
}

Task<std::string> Slow(Timers& timers, std::string text) {
  co_await Delay(timers, absl::Seconds(1));
  if (text.empty()) throw std::runtime_error("nothing to say");
  co_return text + "!";
}

Task<> Twice(Timers& timers, std::string& said) {
  said = co_await Slow(timers, said);
  said = co_await Slow(timers, said);
}

TEST_F(CoroutineTest, AwaitsOtherTasks) {
  std::string said = "paper";
  Consume([&](const Delivery&) -> Task<Outcome> {
    co_await Twice(time_, said);
    co_return absl::OkStatus();
  });
  Publish();
  time_.Advance(absl::Seconds(2));
  EXPECT_EQ(said, "paper!!");
  EXPECT_EQ(rabbit_.Count("orders"), 0U);
}

TEST_F(CoroutineTest, CatchesTheExceptionOfATask) {
  Consume([this](const Delivery&) -> Task<Outcome> {
    try {
      co_await Slow(time_, "");
    } catch (const std::runtime_error& error) {
      co_return absl::AbortedError(error.what());
    }
    co_return absl::OkStatus();
  });
  Publish();
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(LastErrors(), ElementsAre("ABORTED: nothing to say"));
}

TEST_F(CoroutineTest, PublishesAndDeclares) {
  Consume([this](Delivery order) -> Task<Outcome> {
    auto declared = StartDeclare(*client_, {.name = "copies"});
    auto invoice = StartPublish(*client_, {.routing_key = "invoices", .body = order.body()});
    if (absl::Status status = co_await declared; !status.ok()) co_return status;
    auto copy = StartPublish(*client_, {.routing_key = "copies", .body = order.body()});
    if (absl::Status status = co_await copy; !status.ok()) co_return status;
    co_return co_await invoice;
  });
  Publish();
  EXPECT_THAT(Bodies("invoices"), ElementsAre("paper"));
  EXPECT_THAT(Bodies("copies"), ElementsAre("paper"));
  EXPECT_EQ(rabbit_.Count("orders"), 0U);
}

TEST_F(CoroutineTest, IsDestroyedWithItsConsumer) {
  Consume([this](const Delivery&) -> Task<Outcome> {
    const Living living(living_);
    co_await Slow(time_, "paper");
    ADD_FAILURE();
    co_return absl::OkStatus();
  });
  Publish();
  EXPECT_EQ(living_.load(), 1);
  consumer_ = {};
  EXPECT_EQ(living_.load(), 0);
  time_.Advance(absl::Seconds(10));
  EXPECT_THAT(Bodies("orders"), ElementsAre("paper"));
}

TEST_F(CoroutineTest, MayDestroyItsConsumer) {
  Consume([this](const Delivery&) -> Task<Outcome> {
    const Living living(living_);
    consumer_ = {};
    EXPECT_EQ(living_.load(), 1);  // a running coroutine is not destroyed
    co_await Delay(time_, absl::Hours(1));
    ADD_FAILURE();
    co_return absl::OkStatus();
  });
  Publish();
  EXPECT_EQ(living_.load(), 0);
  EXPECT_THAT(Bodies("orders"), ElementsAre("paper"));
}

TEST_F(CoroutineTest, MayDestroyItsConsumerAndReturn) {
  Consume([this](const Delivery&) -> Task<Outcome> {
    consumer_ = {};
    co_return absl::OkStatus();
  });
  Publish();
  EXPECT_THAT(Bodies("orders"), ElementsAre("paper"));
}

TEST_F(CoroutineTest, MayDestroyItsConsumerAfterADelay) {
  Consume([this](const Delivery&) -> Task<Outcome> {
    const Living living(living_);
    co_await Delay(time_, absl::Seconds(2));
    consumer_ = {};
    co_await Delay(time_, absl::Hours(1));
    co_return absl::OkStatus();
  });
  Publish();
  time_.Advance(absl::Seconds(5));
  EXPECT_EQ(living_.load(), 0);
  EXPECT_THAT(Bodies("orders"), ElementsAre("paper"));
}

// It ends before the message is delivered again.
TEST_F(CoroutineTest, EndsWhenItsDeliveryIsAbandoned) {
  int begun = 0;
  int resumed = 0;
  Consume([&](const Delivery&) -> Task<Outcome> {
    const Living living(living_);
    ++begun;
    co_await Delay(time_, absl::Seconds(5));
    ++resumed;
    co_return absl::OkStatus();
  });
  Publish();
  broker_.SetReachable(false);
  broker_.CutConsuming({});
  time_.Advance(absl::Seconds(5));
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(resumed, 0);
  EXPECT_EQ(living_.load(), 0);
  broker_.SetReachable(true);
  time_.Advance(absl::Minutes(2));
  EXPECT_EQ(begun, 2);
  EXPECT_EQ(resumed, 1);
  EXPECT_EQ(rabbit_.Count("orders"), 0U);
}

// Otherwise more of them would remain after each lost connection.
TEST_F(CoroutineTest, EndsAtTheNextDeliveryIfItsOwnIsAbandoned) {
  Consume([this](const Delivery&) -> Task<Outcome> {
    const Living living(living_);
    co_await Delay(time_, absl::Hours(1));
    co_return absl::OkStatus();
  });
  Publish();
  for (int i = 0; i < 3; ++i) {
    broker_.CutConsuming({});
    time_.Advance(absl::Seconds(60));
    EXPECT_EQ(living_.load(), 1);
  }
}

// The destructor of a client destroys the callbacks of its publishes.
TEST_F(CoroutineTest, ACallbackThatIsNeverCalledRetries) {
  Pending<absl::Status>::Done* kept = nullptr;
  std::optional<Pending<absl::Status>::Done> done;
  Consume([&](const Delivery&) -> Task<Outcome> {
    const Living living(living_);
    Pending<absl::Status> answer([&](auto given) { done.emplace(std::move(given)); });
    kept = &*done;
    co_return co_await answer;
  });
  Publish();
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(living_.load(), 1);
  done.reset();
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(living_.load(), 0);
  EXPECT_EQ(LastErrors().size(), 1U);
}

TEST_F(CoroutineTest, ACallbackMayComeBeforeOrLongAfterItsPending) {
  std::optional<Pending<int>::Done> late;
  Consume([&](const Delivery&) -> Task<Outcome> {
    {
      Pending<int> dropped([&](auto given) { late.emplace(std::move(given)); });
    }
    Pending<int> early([](auto given) { given(7); });
    EXPECT_EQ(co_await early, 7);
    co_return absl::OkStatus();
  });
  Publish();
  (*late)(8);
  EXPECT_EQ(rabbit_.Count("orders"), 0U);
}

TEST_F(CoroutineTest, SwitchesToAnotherExecutorAndBack) {
  const auto shelf = std::make_shared<testing::WaitingExecutor>();
  std::vector<std::string> steps;
  Consume([&, shelf](const Delivery&) -> Task<Outcome> {
    co_await ResumeOn(shelf);
    steps.emplace_back("elsewhere");
    co_await ResumeOnLoop();
    steps.emplace_back("loop");
    co_return absl::OkStatus();
  });
  Publish();
  EXPECT_EQ(shelf->size(), 1U);
  shelf->RunAll();
  EXPECT_THAT(steps, ElementsAre("elsewhere"));
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(steps, ElementsAre("elsewhere", "loop"));
  EXPECT_EQ(rabbit_.Count("orders"), 0U);
}

TEST_F(CoroutineTest, ReturnsToTheLoopWhenItIsNeeded) {
  const auto shelf = std::make_shared<testing::WaitingExecutor>();
  Consume([&, shelf](const Delivery&) -> Task<Outcome> {
    Pending<int> ready([](auto given) { given(7); });
    co_await ResumeOn(shelf);
    EXPECT_EQ(co_await ready, 7);
    co_await ResumeOn(shelf);
    co_await Delay(time_, absl::Seconds(1));
    co_await ResumeOn(shelf);
    co_return absl::OkStatus();
  });
  Publish();
  for (int i = 0; i < 3; ++i) {
    shelf->RunAll();
    time_.Advance(absl::Seconds(2));
  }
  EXPECT_EQ(rabbit_.Count("orders"), 0U);
}

TEST_F(CoroutineTest, EndsAfterItsReturnIfItsConsumerIsGone) {
  const auto shelf = std::make_shared<testing::WaitingExecutor>();
  Consume([&, shelf](const Delivery&) -> Task<Outcome> {
    const Living living(living_);
    co_await ResumeOn(shelf);
    EXPECT_EQ(living_.load(), 1);
    co_await Delay(time_, absl::Hours(1));
    ADD_FAILURE();
    co_return absl::OkStatus();
  });
  Publish();
  consumer_ = {};
  EXPECT_EQ(living_.load(), 1);
  shelf->RunAll();
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(living_.load(), 0);
  EXPECT_THAT(Bodies("orders"), ElementsAre("paper"));
}

TEST_F(CoroutineTest, AnExecutorThatDropsItRetries) {
  const auto shelf = std::make_shared<testing::WaitingExecutor>();
  Consume([&, shelf](const Delivery&) -> Task<Outcome> {
    const Living living(living_);
    co_await ResumeOn(shelf);
    co_return absl::OkStatus();
  });
  Publish();
  shelf->Drop();
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(living_.load(), 0);
  EXPECT_EQ(LastErrors().size(), 1U);
}

TEST_F(CoroutineTest, WorksOnThreads) {
  const auto threads = std::make_shared<Threads>();
  Consume([&, threads](Delivery order) -> Task<Outcome> {
    const Living living(living_);
    auto published = StartPublish(*client_, {.routing_key = "invoices", .body = order.body()});
    co_await ResumeOn(threads);
    const std::string text = std::string(order.body()) + "!";
    if (absl::Status status = co_await published; !status.ok()) co_return status;
    co_await ResumeOn(threads);
    co_return text == "paper!" ? absl::OkStatus() : absl::InternalError(text);
  });
  for (int i = 0; i < 20; ++i) Publish();
  for (int i = 0; i < 10; ++i) {
    threads->Join();
    time_.Advance(absl::Seconds(1));
  }
  EXPECT_EQ(living_.load(), 0);
  EXPECT_EQ(rabbit_.Count("orders"), 0U);
  EXPECT_EQ(rabbit_.Count("invoices"), 20U);
}

TEST_F(CoroutineTest, AConsumerMayBeDestroyedWhileThreadsWork) {
  const auto threads = std::make_shared<Threads>();
  std::promise<void> gone;
  Consume([&, threads, is_gone = gone.get_future().share()](const Delivery&) -> Task<Outcome> {
    const Living living(living_);
    co_await ResumeOn(threads);
    is_gone.wait();
    co_return absl::OkStatus();
  });
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(rabbit_.Publish("", "orders", {}, "paper"));
  }
  time_.Advance(absl::Seconds(1));
  consumer_ = {};
  gone.set_value();
  threads->Join();
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(living_.load(), 0);
  EXPECT_EQ(rabbit_.Count("orders"), 20U);
}

}  // namespace retryq::coroutine_test
