#include "retryq/event_loop.h"

#include <event2/event.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "support/test.h"

namespace retryq::event_loop_test {

TEST(EventLoop, FiresTimersInTheirOrderAndNeverEarly) {
  EventLoop loop;
  const absl::Duration start = loop.clock().SinceBoot();
  std::vector<int> fired;
  const auto late = loop.After(absl::Milliseconds(20), [&] {
    EXPECT_GE(loop.clock().SinceBoot() - start, absl::Milliseconds(20));
    fired.push_back(2);
    loop.Stop();
  });
  const auto early = loop.After(absl::Milliseconds(5), [&] {
    EXPECT_GE(loop.clock().SinceBoot() - start, absl::Milliseconds(5));
    fired.push_back(1);
  });
  const auto at_once = loop.After(absl::Seconds(-1), [&] { fired.push_back(0); });
  EXPECT_TRUE(fired.empty());
  EXPECT_TRUE(loop.Run().ok());
  EXPECT_THAT(fired, ElementsAre(0, 1, 2));
}

// The tests may run under nohup, which ignores SIGHUP.
class HangUpTest : public ::testing::Test {
 protected:
  void SetUp() override {
    struct sigaction usual = {};
    usual.sa_handler = SIG_DFL;
    sigaction(SIGHUP, &usual, &before_);
  }
  void TearDown() override { sigaction(SIGHUP, &before_, nullptr); }

  struct sigaction before_ = {};
};

TEST_F(HangUpTest, DrainsTheLoop) {
  EventLoop loop;
  bool drained = false;
  const auto drain = loop.OnDrain([&](const EventLoop::DrainDone& done) {
    drained = true;
    done();
  });
  loop.executor()->Post([] { raise(SIGHUP); });
  EXPECT_TRUE(loop.RunUntilSignal().ok());
  EXPECT_TRUE(drained);
}

TEST_F(HangUpTest, StaysIgnoredIfItWasIgnored) {
  struct sigaction ignored = {};
  ignored.sa_handler = SIG_IGN;
  sigaction(SIGHUP, &ignored, nullptr);
  EventLoop loop;
  bool drained = false;
  const auto drain = loop.OnDrain([&](const EventLoop::DrainDone& done) {
    drained = true;
    done();
  });
  loop.executor()->Post([&] {
    raise(SIGHUP);
    loop.executor()->Post([&] { loop.Stop(); });
  });
  EXPECT_TRUE(loop.RunUntilSignal().ok());
  EXPECT_FALSE(drained);
}

TEST(EventLoop, WaitsForADrainOfInfiniteGraceWithoutALimit) {
  EventLoop loop;
  bool drained = false;
  std::unique_ptr<Timer> finish;
  const auto drain = loop.OnDrain([&](EventLoop::DrainDone done) {
    finish = loop.After(absl::Milliseconds(5), [&drained, done = std::move(done)] {
      drained = true;
      done();
    });
  });
  loop.executor()->Post([] { raise(SIGTERM); });
  EXPECT_TRUE(loop.RunUntilSignal(absl::InfiniteDuration()).ok());
  EXPECT_TRUE(drained);
}

TEST(EventLoop, StartsATimersDelayWhenItIsSetEvenInALongTurn) {
  EventLoop loop;
  std::unique_ptr<Timer> second;
  const auto first = loop.After(absl::ZeroDuration(), [&] {
    const absl::Duration start = loop.clock().SinceBoot();
    while (loop.clock().SinceBoot() - start < absl::Milliseconds(30)) {
    }
    const absl::Duration set = loop.clock().SinceBoot();
    second = loop.After(absl::Milliseconds(10), [&, set] {
      EXPECT_GE(loop.clock().SinceBoot() - set, absl::Milliseconds(10));
      loop.Stop();
    });
  });
  EXPECT_TRUE(loop.Run().ok());
}

TEST(EventLoop, RunsPostedWorkInOrderAndNeverSynchronously) {
  EventLoop loop;
  std::vector<int> ran;
  const auto executor = loop.executor();
  executor->Post([&] {
    ran.push_back(1);
    executor->Post([&] {
      ran.push_back(3);
      loop.Stop();
    });
    ran.push_back(2);
  });
  EXPECT_TRUE(ran.empty());
  EXPECT_TRUE(loop.Run().ok());
  EXPECT_THAT(ran, ElementsAre(1, 2, 3));
}

// libevent is written in C: no exception may pass through it, and `running` would stay true.
TEST(EventLoop, ReturnsAnErrorForACallbackThatThrewAfterADrainAndRunsAgain) {
  EventLoop loop;
  bool drained = false;
  const auto drain = loop.OnDrain([&](const EventLoop::DrainDone& done) {
    drained = true;
    done();
  });
  loop.executor()->Post([] { throw std::runtime_error("posted"); });
  loop.executor()->Post([] { throw std::runtime_error("the second one"); });
  EXPECT_EQ(loop.Run(), absl::UnknownError("work given to EventLoop::executor() threw: posted"));
  EXPECT_TRUE(drained);
  const auto timer = loop.After(absl::ZeroDuration(), [] { throw 42; });
  EXPECT_EQ(loop.Run(),
            absl::UnknownError("the callback of EventLoop::After threw an exception that "
                               "is not a std::exception"));
  loop.Stop();
  const auto end = loop.After(absl::Milliseconds(1), [&] { loop.Stop(); });
  EXPECT_EQ(loop.Run(), absl::OkStatus());
}

TEST(EventLoop, CountsADrainThatThrowsAsDone) {
  EventLoop loop;
  const auto drain =
      loop.OnDrain([](const EventLoop::DrainDone&) { throw std::logic_error("no"); });
  loop.executor()->Post([&] { loop.Drain(); });
  EXPECT_EQ(loop.Run(), absl::UnknownError("the function given to EventLoop::OnDrain threw: no"));
}

// libevent reports a signal to one loop only.
TEST(EventLoop, RefusesToWaitForSignalsIfAnotherLoopDoes) {
  EventLoop loop;
  absl::Status second;
  loop.executor()->Post([&] {
    std::thread([&second] { second = EventLoop().RunUntilSignal(); }).join();
    raise(SIGTERM);
  });
  EXPECT_EQ(loop.RunUntilSignal(), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(second)) << second;
  loop.executor()->Post([] { raise(SIGTERM); });
  EXPECT_EQ(loop.RunUntilSignal(), absl::OkStatus());
}

// For EXPECT_EXIT: runs a loop whose thread a callback blocks once `signals` signals have come.
void RunBlocked(int signals) {
  EventLoop loop;
  loop.executor()->Post([&] {
    while (signals-- > 0) {
      raise(SIGTERM);
      poll(nullptr, 0, 100);
    }
    for (;;) poll(nullptr, 0, -1);
  });
  loop.RunUntilSignal(absl::ZeroDuration()).IgnoreError();
}

TEST(EventLoopDeathTest, ReportsAndEndsIfACallbackBlocksTheThreadAfterASignal) {
  EXPECT_EXIT(RunBlocked(1), ::testing::KilledBySignal(SIGTERM),
              "signal 15 waits because a callback blocks the thread");
}

TEST(EventLoopDeathTest, EndsBySignalsThatComeASecondLaterIfACallbackBlocksTheThread) {
  EXPECT_EXIT(RunBlocked(30), ::testing::KilledBySignal(SIGTERM), "^$");
}

TEST(EventLoopDeathTest, DrainsAfterASignalWithoutAFreeFileDescriptor) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UndefinedBehaviorSanitizer needs a pipe to look at an object";
#endif
  const auto run = [] {
    EventLoop loop;
    rlimit none = {};
    getrlimit(RLIMIT_NOFILE, &none);
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    loop.executor()->Post([] { raise(SIGTERM); });
    _exit(loop.RunUntilSignal().ok() ? 0 : 1);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

TEST(EventLoopDeathTest, EndsIfACallbackBlocksTheDrain) {
  const auto run = [] {
    EventLoop loop;
    const auto drain = loop.OnDrain([](const EventLoop::DrainDone&) {
      for (;;) poll(nullptr, 0, -1);
    });
    loop.executor()->Post([] { raise(SIGINT); });
    loop.RunUntilSignal(absl::ZeroDuration()).IgnoreError();
  };
  EXPECT_EXIT(run(), ::testing::KilledBySignal(SIGINT), "blocks the thread.*ends now");
}

// The child inherits the handlers, and the pipes by which they reach the parent.
TEST(EventLoop, IsNotAffectedByASignalToAForkedChild) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer keeps signals of a child that a process with threads has forked";
#endif
  EventLoop loop;
  int drains = 0;
  const auto drain = loop.OnDrain([&](const EventLoop::DrainDone& done) {
    ++drains;
    done();
  });
  int status = -1;
  loop.executor()->Post([&] {
    const pid_t child = fork();
    if (child == 0) {
      poll(nullptr, 0, 20'000);  // a signal ends the child, or at least this call
      _exit(0);
    }
    kill(child, SIGTERM);
    waitpid(child, &status, 0);
    loop.executor()->Post([&] { loop.Stop(); });
  });
  EXPECT_EQ(loop.RunUntilSignal(), absl::OkStatus());
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  EXPECT_EQ(drains, 0);
}

// The epoll set is shared with the parent: the parent would not get events that a child cancels.
TEST(EventLoop, IsNotAffectedByAForkedChildThatDestroysIt) {
  std::optional<EventLoop> loop(std::in_place);
  const std::shared_ptr<Executor> executor = loop->executor();
  std::unique_ptr<Timer> timer = loop->After(absl::Hours(1), [] {});
  const pid_t child = fork();
  if (child == 0) {
    const bool is_refused = absl::IsFailedPrecondition(loop->Run());
    executor->Post([] {});
    timer.reset();
    loop.reset();
    EventLoop own;
    own.executor()->Post([&] { own.Stop(); });
    _exit(is_refused && own.RunUntilSignal().ok() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  executor->Post([&] { loop->Stop(); });
  const auto late =
      loop->After(absl::Seconds(20), [&] { loop->Fail(absl::InternalError("late")); });
  EXPECT_EQ(loop->Run(), absl::OkStatus());
}

TEST(EventLoop, StopsAtTheEndOfTheTurn) {
  EventLoop loop;
  int ran = 0;
  loop.executor()->Post([&] {
    loop.Stop();
    ++ran;
  });
  loop.executor()->Post([&] { ++ran; });
  EXPECT_TRUE(loop.Run().ok());
  EXPECT_EQ(ran, 2);
}

TEST(EventLoop, DrainsUntilAllAreDone) {
  EventLoop loop;
  std::vector<std::string> log;
  std::unique_ptr<Timer> timer;
  const auto slow = loop.OnDrain([&](EventLoop::DrainDone done) {
    log.emplace_back("slow begins");
    timer = loop.After(absl::Milliseconds(10), [&, done] {
      log.emplace_back("slow is done");
      done();
    });
  });
  const auto fast = loop.OnDrain([&](const EventLoop::DrainDone& done) {
    log.emplace_back("fast");
    done();
  });
  auto dropped = loop.OnDrain([&](const EventLoop::DrainDone&) { FAIL() << "dropped"; });
  dropped.reset();
  loop.executor()->Post([&] { loop.Drain(); });
  EXPECT_TRUE(loop.Run().ok());
  EXPECT_THAT(log, ElementsAre("slow begins", "fast", "slow is done"));
}

TEST(EventLoop, GivesUpDrainingWhenItsGraceIsOver) {
  EventLoop loop;
  const auto never = loop.OnDrain([](const EventLoop::DrainDone&) {});
  loop.executor()->Post([&] { raise(SIGTERM); });
  const absl::Duration start = loop.clock().SinceBoot();
  EXPECT_TRUE(loop.RunUntilSignal(absl::Milliseconds(20)).ok());
  EXPECT_GE(loop.clock().SinceBoot() - start, absl::Milliseconds(20));
}

TEST(EventLoop, DrainsOnTheFirstSignalAndEndsOnTheSecond) {
  EventLoop loop;
  int drains = 0;
  const auto never = loop.OnDrain([&](const EventLoop::DrainDone&) {
    ++drains;
    raise(SIGINT);
  });
  loop.executor()->Post([&] { raise(SIGTERM); });
  EXPECT_TRUE(loop.RunUntilSignal(absl::Seconds(60)).ok());
  EXPECT_EQ(drains, 1);
}

int signals_seen = 0;

TEST(EventLoop, RestoresTheSignalHandlers) {
  struct sigaction mine = {};
  mine.sa_handler = [](int) { ++signals_seen; };
  struct sigaction before = {};
  sigaction(SIGTERM, &mine, &before);
  {
    EventLoop loop;
    loop.executor()->Post([&] { raise(SIGTERM); });
    EXPECT_TRUE(loop.RunUntilSignal().ok());
    EXPECT_EQ(signals_seen, 0);
    raise(SIGTERM);
    EXPECT_EQ(signals_seen, 1);
  }
  sigaction(SIGTERM, &before, nullptr);
}

TEST(EventLoop, IgnoresSigpipeUnlessAHandlerIsSet) {
  struct sigaction before = {};
  sigaction(SIGPIPE, nullptr, &before);
  struct sigaction now = {};
  signal(SIGPIPE, SIG_DFL);
  { EventLoop loop; }
  sigaction(SIGPIPE, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_IGN);

  const auto mine = [](int) {};
  signal(SIGPIPE, mine);
  { EventLoop loop; }
  sigaction(SIGPIPE, nullptr, &now);
  EXPECT_EQ(now.sa_handler, static_cast<void (*)(int)>(mine));
  sigaction(SIGPIPE, &before, nullptr);
}

TEST(EventLoop, RunsOnABorrowedBase) {
  event_base* base = event_base_new();
  {
    EventLoop loop = EventLoop::Borrow(base);
    EXPECT_EQ(loop.base(), base);
    bool ran = false;
    const auto timer = loop.After(absl::Milliseconds(1), [&] {
      ran = true;
      event_base_loopbreak(base);
    });
    event_base_dispatch(base);
    EXPECT_TRUE(ran);

    loop.executor()->Post([&] { loop.Stop(); });
    EXPECT_TRUE(loop.Run().ok());
    loop.executor()->Post([&] { event_base_loopbreak(base); });
    EXPECT_TRUE(loop.Run().ok());
  }
  event_base_free(base);
}

TEST(EventLoop, DoesNotRunInsideACallbackOfABorrowedBase) {
  event_base* const base = event_base_new();
  {
    EventLoop loop = EventLoop::Borrow(base);
    std::vector<absl::Status> inside;
    loop.executor()->Post([&] {
      inside.push_back(loop.Run());
      inside.push_back(loop.RunUntilSignal());
      event_base_loopbreak(base);
    });
    event_base_dispatch(base);
    ASSERT_EQ(inside.size(), 2U);
    for (const absl::Status& status : inside) {
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    }
    loop.executor()->Post([&loop] { loop.Stop(); });
    EXPECT_TRUE(loop.Run().ok());
  }
  event_base_free(base);
}

TEST(EventLoop, DrawsDifferentRandomNumbersInEachLoop) {
  EventLoop one;
  EventLoop other;
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(one.random().Next());
    seen.insert(other.random().Next());
  }
  EXPECT_EQ(seen.size(), 2000U);
}

TEST(ExitCode, FollowsSysexits) {
  EXPECT_EQ(ExitCode(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCode(absl::InvalidArgumentError("")), 64);
  EXPECT_EQ(ExitCode(absl::NotFoundError("")), 69);
  EXPECT_EQ(ExitCode(absl::UnavailableError("")), 69);
  EXPECT_EQ(ExitCode(absl::FailedPreconditionError("")), 69);
  EXPECT_EQ(ExitCode(absl::UnauthenticatedError("")), 77);
  EXPECT_EQ(ExitCode(absl::PermissionDeniedError("")), 77);
  EXPECT_EQ(ExitCode(absl::InternalError("")), 70);
}

}  // namespace retryq::event_loop_test
