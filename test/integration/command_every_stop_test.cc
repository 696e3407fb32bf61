// SIGTERM in every state of a worker, and the time until it has exited. Only a running handler may
// use the grace period.

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "fault/loop_thread.h"
#include "integration/command_run.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/client.h"
#include "support/loopback_listener.h"
#include "support/own_broker.h"
#include "support/proxy.h"
#include "support/test.h"

namespace retryq::testing::command_every_stop_test {

// The sum of all waits of a worker at a stop without a handler: less than `--grace`, which is 25 s
// by default. Includes time for a slow machine.
constexpr absl::Duration kLongest = absl::Seconds(23);
// If there is nothing to wait for.
constexpr absl::Duration kAtOnce = absl::Seconds(5);

// Never accepts a connection while the loop does not run.
std::unique_ptr<LoopbackListener> SilentServer(EventLoop& loop) {
  return std::make_unique<LoopbackListener>(loop, [](int socket) { close(socket); });
}

class CommandEveryStop : public CommandTest {
 protected:
  static void Stop(CommandRun& run, absl::Duration longest) {
    const absl::Time begin = absl::Now();
    run.Signal(SIGTERM);
    EXPECT_EQ(run.Wait(), 0) << run.Story();
    EXPECT_LT(absl::Now() - begin, longest) << run.Story();
  }

  // A worker on a server that is no broker. Its first event shows that it handles signals itself.
  CommandRun WorkOn(const std::string& host_and_port) {
    return CommandRun(
        {"work", "--json", "--queue", "orders", "--metrics", "127.0.0.1:0", "--", "true"},
        absl::StrCat("amqp://guest:guest@", host_and_port, "/"));
  }

  // Through the proxy, if there is one.
  std::string ProxiedUrl() {
    const amqp::Endpoint broker = amqp::ParseUri(vhost_.Url()).value().endpoints.front();
    const std::uint16_t port = traffic_.Call([&](EventLoop& loop) {
      proxy_ = std::make_unique<Proxy>(loop, broker.port);
      return proxy_->port();
    });
    std::string url = vhost_.Url();
    const std::string from = amqp::Describe(broker);
    return url.replace(url.find(from), from.size(),
                       amqp::Describe({.host = broker.host, .port = port}));
  }
  CommandRun WorkBehindProxy(const std::string& script) {
    return CommandRun(
        {"work", "--json", "--queue", "orders", "--base", "50ms", "--", "/bin/sh", "-c", script},
        ProxiedUrl());
  }
  // A program whose handlers wait, on threads, for the results of their publishes. `stall`: from
  // then on the broker does not confirm publishes.
  void StopWhileHandlersWait(const std::string& url, const std::function<void()>& stall,
                             absl::Duration longest) {
    EventLoop loop;
    const auto run_until = [&loop](const std::function<bool()>& condition) {
      const std::unique_ptr<Timer> timer = loop.After(absl::Seconds(20), [&] { loop.Stop(); });
      std::unique_ptr<Timer> look;
      const std::function<void()> again = [&] {
        if (condition()) return loop.Stop();
        look = loop.After(absl::Milliseconds(5), again);
      };
      look = loop.After(absl::ZeroDuration(), again);
      EXPECT_EQ(loop.Run(), absl::OkStatus());
    };
    std::atomic<int> running = 0;
    std::atomic<int> published = 0;
    std::promise<void> stalls;
    const std::shared_future<void> stalled = stalls.get_future().share();
    const absl::Time begin = [&] {
      Client client(loop, {.url = url});
      const auto handle = [&](const Delivery&) -> Outcome {
        ++running;
        stalled.wait();
        const auto answer = std::make_shared<std::promise<absl::Status>>();
        loop.executor()->Post([&client, &published, answer] {
          client.Publish({.routing_key = "orders.parked"}, {},
                         [answer](const absl::Status& status) { answer->set_value(status); });
          ++published;
        });
        return answer->get_future().get();
      };
      auto consumer = client.Consume({.queue = "orders", .handler_threads = 2}, Handler(handle));
      EXPECT_TRUE(consumer.ok()) << consumer.status();
      for (int i = 0; i < 2; ++i) Publish("an order");
      run_until([&] { return running == 2; });
      stall();
      stalls.set_value();
      run_until([&] { return published == 2; });
      const absl::Time stopped = absl::Now();
      loop.Drain();
      EXPECT_EQ(loop.Run(), absl::OkStatus());
      return stopped;
    }();
    EXPECT_LT(absl::Now() - begin, longest);
  }
  void TearDown() override {
    traffic_.Call([this](EventLoop&) { proxy_.reset(); });
  }

  fault::LoopThread traffic_;
  std::unique_ptr<Proxy> proxy_;
};

TEST_F(CommandEveryStop, WhileNothingListensOnThePort) {
  EventLoop loop;
  const std::uint16_t port = SilentServer(loop)->port();
  CommandRun run = WorkOn(absl::StrCat("127.0.0.1:", port));
  ASSERT_TRUE(run.Says("disconnected"));
  Stop(run, kAtOnce);
}

// An address of a network for documentation, which cannot be reached.
TEST_F(CommandEveryStop, WhileItConnectsToADeadAddress) {
  CommandRun run = WorkOn("192.0.2.1:5672");
  ASSERT_TRUE(run.Says("serving_metrics"));
  Stop(run, kAtOnce);
}

TEST_F(CommandEveryStop, WhileTheServerSendsNothing) {
  EventLoop loop;
  const auto server = SilentServer(loop);
  CommandRun run = WorkOn(absl::StrCat("127.0.0.1:", server->port()));
  ASSERT_TRUE(run.Says("serving_metrics"));
  Stop(run, kAtOnce);
}

TEST_F(CommandEveryStop, WhileTheBrokerDoesNotReplyDuringPreparation) {
  CommandRun run = WorkBehindProxy("true");
  traffic_.Call([this](EventLoop&) {
    // So that the reply to the first request is still on its way.
    proxy_->SetFlow(Proxy::Way::kToClient, Proxy::Flow::kTrickle);
  });
  ASSERT_TRUE(run.Says("connected"));
  traffic_.Call([this](EventLoop&) { proxy_->SetFlow(Proxy::Way::kToClient, Proxy::Flow::kHold); });
  Stop(run, kLongest);
}

TEST_F(CommandEveryStop, WhileDelayQueuesAreRefused) {
  const std::string user = vhost_.AddUser(TestVhost::Rights{".*", ".*", ".*"});
  peer_.DeclareQueue("orders.parked");
  CommandRun run({"work", "--json", "--queue", "orders", "--", "false"}, vhost_.UrlAs(user, user));
  ASSERT_TRUE(run.Says("consuming"));
  vhost_.SetRights(user, {"", ".*", ".*"});
  for (int i = 0; i < 20; ++i) Publish("an order");
  ASSERT_TRUE(run.Says("declare_failed"));
  Stop(run, kLongest);
}

TEST_F(CommandEveryStop, WhileIdle) {
  CommandRun run = Work({}, "true");
  ASSERT_TRUE(run.Says("consuming"));
  Stop(run, kAtOnce);
}

TEST_F(CommandEveryStop, WhileHandlersRun) {
  CommandRun run = Work({"--jobs", "2"}, "echo > " + File("started") + "; sleep 2");
  for (int i = 0; i < 2; ++i) Publish("an order");
  ASSERT_TRUE(run.Until([&] { return !files_.Read("started").empty(); }));
  Stop(run, kLongest);
}

TEST_F(CommandEveryStop, WhileHandlersRunForLongerThanTheGracePeriod) {
  CommandRun run = Work({"--grace", "3s"}, "echo > " + File("started") + "; sleep 1000");
  Publish("an order");
  ASSERT_TRUE(run.Until([&] { return !files_.Read("started").empty(); }));
  Stop(run, absl::Seconds(10));
}

TEST_F(CommandEveryStop, WhileManyPrefetchedMessagesHaveNotStarted) {
  CommandRun run = Work({"--prefetch", "200"}, "echo > " + File("started") + "; sleep 0.3");
  for (int i = 0; i < 200; ++i) Publish("an order");
  ASSERT_TRUE(run.Until([&] { return !files_.Read("started").empty(); }));
  Stop(run, kAtOnce);
}

TEST_F(CommandEveryStop, WhileTheBrokerDoesNotConfirmCopies) {
  CommandRun run = WorkBehindProxy("echo >> " + File("calls") + "; false");
  ASSERT_TRUE(run.Says("consuming"));
  for (int i = 0; i < 20; ++i) Publish("an order");
  ASSERT_TRUE(run.Says("retried"));
  traffic_.Call([this](EventLoop&) { proxy_->SetFlow(Proxy::Way::kToClient, Proxy::Flow::kHold); });
  absl::SleepFor(absl::Seconds(1));
  Stop(run, kLongest);
}

// The handlers are answered after 3 s, the consumer waits until 9 s for the answer to its cancel,
// then 3 s for that to the close of its channel and 5 s for those to the closes of connections.
TEST_F(CommandEveryStop, WhileHandlersWaitForUnconfirmedPublishes) {
  const auto stall = [this](EventLoop&) {
    proxy_->SetFlow(Proxy::Way::kToClient, Proxy::Flow::kHold);
  };
  StopWhileHandlersWait(
      ProxiedUrl(), [&] { traffic_.Call(stall); }, absl::Seconds(20));
}

TEST_F(CommandEveryStop, WhileTheConnectionIsLost) {
  CommandRun run = WorkBehindProxy("true");
  ASSERT_TRUE(run.Says("consuming"));
  traffic_.Call([this](EventLoop&) { proxy_.reset(); });
  ASSERT_TRUE(run.Says("disconnected"));
  Stop(run, kAtOnce);
}

TEST_F(CommandEveryStop, WhileALinesProgramNeverAnswers) {
  CommandRun run = Work({"--lines", "--grace", "3s"}, "sleep 1000");
  Publish("an order");
  ASSERT_TRUE(run.Says("delivered"));
  Stop(run, absl::Seconds(10));
}

TEST_F(CommandEveryStop, WhileMetricsConnectionsAreOpen) {
  CommandRun run = Work({"--metrics", "127.0.0.1:0"}, "true");
  ASSERT_TRUE(run.Says("consuming"));
  ASSERT_TRUE(run.Says("serving_metrics"));
  const std::string url = run.events("serving_metrics").front().at("url");
  const std::string digits = url.substr(url.find(':', 5) + 1);
  std::vector<int> sockets;
  for (int i = 0; i < 10; ++i) {
    sockets.push_back(ConnectTo(static_cast<std::uint16_t>(std::stoi(digits))));
  }
  Stop(run, kAtOnce);
  for (const int fd : sockets) close(fd);
}

TEST_F(CommandEveryStop, WhileNobodyReadsItsLog) {
  const std::string script =
      "mkfifo events; sleep 1000 < events & reader=$!; "
      "trap 'kill -TERM $worker' TERM; " RETRYQ_COMMAND
      " work --json --queue orders -- sh -c 'echo >> handled' > events & "
      "worker=$!; wait $worker; wait $worker; code=$?; kill $reader; "
      "exit $code";
  CommandRun run({"-c", "cd " + File("") + "; " + script}, vhost_.Url(), "", "/bin/sh");
  for (int i = 0; i < 500; ++i) Publish("an order");
  ASSERT_TRUE(run.Until([&] { return files_.Read("handled").size() >= 500; }));
  Stop(run, kAtOnce);
}

// Its commands write more than a pipe holds, and --timeout still ends them.
TEST_F(CommandEveryStop, WhileNobodyReadsItsStderr) {
  for (const std::string lines : {"", "--lines "}) {
    const std::string queue = lines.empty() ? "orders" : "lines";
    const std::string script = absl::StrCat(
        "mkfifo ", queue, "; sleep 1000 < ", queue, " & reader=$!; ",
        "trap 'kill -TERM $worker' TERM; " RETRYQ_COMMAND " work --json --queue ", queue,
        " --timeout 1s --grace 3s ", lines,
        "-- sh -c 'head -c 200000 /dev/zero | tr \"\\0\" \"\\n\" >&2; echo >> ran; sleep 1000' 2> ",
        queue, " & worker=$!; wait $worker; wait $worker; code=$?; kill $reader; exit $code");
    peer_.DeclareQueue(queue);
    peer_.Publish("", queue, "an order");
    CommandRun run({"-c", "cd " + File("") + "; " + script}, vhost_.Url(), "", "/bin/sh");
    if (lines.empty()) {
      ASSERT_TRUE(run.Says("retried")) << run.Story();
    } else {
      ASSERT_TRUE(run.Says("child_ended")) << run.Story();
    }
    Stop(run, absl::Seconds(10));
  }
}

TEST_F(CommandEveryStop, AfterAnExplicitDrain) {
  EventLoop loop;
  ClientOptions options;
  options.url = vhost_.Url();
  Client client(loop, options);
  auto consumer =
      client.Consume({.queue = "orders"}, [](const Delivery&) { return Outcome::Ok(); });
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  consumer->Drain(absl::InfiniteDuration(), [&](bool) { loop.Stop(); });
  ASSERT_EQ(loop.Run(), absl::OkStatus());
  const absl::Time begin = absl::Now();
  loop.Drain();
  EXPECT_EQ(loop.Run(), absl::OkStatus());
  EXPECT_LT(absl::Now() - begin, kAtOnce);
}

using CommandEveryStopOnItsBroker = OnOwnBroker<CommandEveryStop>;

TEST_F(CommandEveryStopOnItsBroker, WhileTheBrokerAcceptsNoPublishes) {
  CommandRun run = Work({}, "false");
  ASSERT_TRUE(run.Says("consuming"));
  Publish("an order");
  ASSERT_TRUE(run.Says("retried"));
  broker().RaiseAlarm();
  ASSERT_TRUE(run.Says("blocked"));
  absl::SleepFor(absl::Seconds(1));
  Stop(run, kLongest);
  broker().ClearAlarm();
  StopWhileHandlersWait(
      vhost_.Url(), [this] { broker().RaiseAlarm(); }, kLongest);
}

TEST_F(CommandEveryStopOnItsBroker, WhileASendIsNotConfirmed) {
  broker().RaiseAlarm();
  const absl::Time begin = absl::Now();
  const End end = RunToEnd({"send", "--queue", "orders", "an order"});
  EXPECT_EQ(end.code, 69);
  EXPECT_THAT(end.err, ::testing::HasSubstr("was not confirmed in time"));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(11));  // "within 10s"
  broker().ClearAlarm();
}

TEST_F(CommandEveryStopOnItsBroker, WhileAReplayIsNotConfirmed) {
  peer_.DeclareQueue("orders.parked");
  for (int i = 0; i < 3; ++i) peer_.Publish("", "orders.parked", "an order");
  broker().RaiseAlarm();
  CommandRun run(
      {"parked", "replay", "--queue", "orders", "--to-queue", "orders", "--foreign", "--all"},
      vhost_.Url());
  ASSERT_TRUE(
      run.Until([&] { return run.Story().find("accepts no messages") != std::string::npos; }));
  const absl::Time begin = absl::Now();
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 75) << run.Story();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(15)) << run.Story();
  EXPECT_THAT(run.Story(),
              ::testing::HasSubstr("3 stay in orders.parked, and their copies may still"));
  broker().ClearAlarm();
  EXPECT_TRUE(CommandRun::WaitUntil(
      [this] { return peer_.Count("orders.parked") + peer_.Count("orders") >= 3; },
      absl::Seconds(20)));
}

// Each connection is closed by connection.close, also one whose handshake is not over yet.
TEST_F(CommandEveryStopOnItsBroker, LeavesNoComplaintInTheLogOfTheBroker) {
  const std::string file = broker().node().directory() + "/log";
  const auto log = [&file, begin = std::filesystem::file_size(file)] {
    std::ifstream stream(file);
    stream.seekg(static_cast<std::streamoff>(begin));
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  const auto count = [&log](const std::string& what) {
    const std::string text = log();
    int found = 0;
    for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
    return found;
  };
  peer_.DeclareQueue("orders.parked");
  Publish("an order");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"declare", "--queue", "new"},
                                             {"send", "--queue", "new", "body"},
                                             {"send", "--queue", "new", "--delay", "1m", "body"},
                                             {"queues"},
                                             {"doctor", "--queue", "orders"},
                                             {"parked", "list", "--queue", "orders"},
                                             {"waiting", "list", "--queue", "orders"}}) {
    CommandRun run(arguments, vhost_.Url());
    EXPECT_TRUE(run.Wait()) << run.Story();
  }
  CommandRun run = Work({}, "true");
  ASSERT_TRUE(run.Says("acked"));
  EXPECT_TRUE(run.Stop());
  EXPECT_TRUE(CommandRun::WaitUntil(
      [&] {
        const int opened = count("accepting AMQP connection");
        return opened >= 8 && opened == count("closing AMQP connection");
      },
      absl::Seconds(20)))
      << log();
  for (const char* const complaint : {"unexpectedly", "crash", "CRASH"}) {
    EXPECT_EQ(count(complaint), 0) << log();
  }
}

}  // namespace retryq::testing::command_every_stop_test
