// The properties of a message after each path on which retryq publishes it again.

#include "absl/strings/str_split.h"
#include "base/broker_version.h"
#include "facts/raw_connection.h"
#include "integration/messages_run.h"
#include "retryq/amqp/connection.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/amqp/table.h"
#include "retryq/event_loop.h"
#include "support/test.h"

namespace retryq::testing::command_copies_test {

// The properties that change on a path. All others must be unchanged on every path.
struct Path {
  std::string name;
  bool mode = false;        // the delivery mode
  bool expiration = false;  // the rest of the expiration
  bool deaths = false;      // x-death and related headers
  bool routes = false;      // CC
  bool own = false;         // a header of the application's with a name that retryq uses
  bool copy = true;         // and not the message itself
  std::string body = "body";
  std::function<void()> go = nullptr;  // publishes the message on this path
  std::string queue;                   // the queue of the copy
};

// As large as a content header may be in frames of RabbitMQ's default size.
constexpr std::size_t kFull = 131'072 - 8;

class CommandCopies : public MessagesTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    for (const std::string queue : {"copied", "orders.parked"}) peer_.DeclareQueue(queue);
    peer_.DeclareQueue("orders", {{"x-queue-type", GetParam()}});
  }

  bool IsQuorum() const { return GetParam() == std::string("quorum"); }

  static amqp::Table Headers(const amqp::Table& more = {}) {
    amqp::Table headers = {
        {"tenant", "blue"},
        {"x-retry-policy", "gold"},
        {"x-death", amqp::Array{amqp::Value(amqp::Table{
                        {"queue", "orders"}, {"reason", "expired"}, {"count", std::int64_t{3}}})}},
        {"x-first-death-queue", "orders"},
        {"x-delivery-count", std::int64_t{9}},
        {"x-acquired-count", std::int64_t{9}},
        {"CC", amqp::Array{"copied"}}};
    for (const auto& [name, value] : more.fields()) headers.Set(name, value);
    return headers;
  }
  static amqp::Table Theirs() { return Headers({{"x-retry-count", "twice"}}); }
  static amqp::Table Parked() {
    return Headers({{"x-retry-count", std::int64_t{2}},
                    {"x-retry-queue", "orders"},
                    {"x-retry-exchange", ""},
                    {"x-retry-routing-key", "orders"},
                    {"x-retry-parked", std::int64_t{1}},
                    {"x-retry-id", "m-1"}});
  }

  void PublishTo(const std::string& queue, amqp::Table headers, const std::string& exchange = "") {
    std::string encoded = headers.Encode().value();
    amqp::Properties properties = {.headers = amqp::TableView(encoded),
                                   .delivery_mode = 1,
                                   .priority = 7,
                                   .correlation_id = "c-1",
                                   .expiration = "600000",
                                   .message_id = "m-1",
                                   .timestamp = 1'700'000'000,
                                   .type = "order.placed"};
    if (fills_the_frame_) {
      const std::size_t beside = amqp::ContentHeaderSize(properties) + sizeof("\6filler") + 4;
      headers.Set("filler", std::string(kFull - beside, 'x'));
      encoded = headers.Encode().value();
      properties.headers = amqp::TableView(encoded);
      ASSERT_EQ(amqp::ContentHeaderSize(properties), kFull);
    }
    peer_.Publish(exchange, queue, "body", properties);
    EXPECT_TRUE(
        CommandRun::WaitUntil([&] { return peer_.Get("copied") != nullptr; }, absl::Seconds(10)));
  }

  using Until = std::function<bool(const CommandRun&)>;
  static Until Says(const std::string& event) {
    return [event](const CommandRun& worker) { return !worker.events(event).empty(); };
  }
  // Waits until the worker has the message, which is no longer in the queue, and its command runs.
  Until IsBusy(std::uint32_t left) {
    return [this, left](const CommandRun&) {
      return !files_.Read("started").empty() && peer_.Count("orders") == left;
    };
  }

  void RunWorker(const std::string& script, const Until& until,
                 const std::vector<std::string>& flags = {}) {
    files_.Write("started", "");
    std::vector<std::string> all = {"work",   "--json", "--queue",      "orders",
                                    "--base", "10m",    "--queue-type", GetParam()};
    all.insert(all.end(), flags.begin(), flags.end());
    all.insert(all.end(), {"--", "sh", "-c", script});
    CommandRun worker(all, vhost_.Url());
    EXPECT_TRUE(worker.Until([&] { return until(worker); }));
    EXPECT_TRUE(worker.Stop());
  }

  void Run(const std::vector<std::string>& arguments) {
    const End end = RunToEnd(arguments, vhost_.Url());
    EXPECT_EQ(end.code, 0) << end.err;
  }

  bool IsSince43() const {
    struct Opened : amqp::ConnectionListener {
      void OnOpen() override { loop.Stop(); }
      void OnLost(const absl::Status& why) override { loop.Fail(why); }
      EventLoop loop;
    } opened;
    const amqp::Connection connection(opened.loop, amqp::ParseUri(vhost_.Url()).value(), &opened);
    EXPECT_EQ(opened.loop.Run(), absl::OkStatus());
    return BrokerVersion::Parse(connection.server_version()).CountsFailuresOnly();
  }

  // The first message of the queue, or of one that takes turns with others.
  amqp::MessagePtr Take(const std::string& queue) {
    amqp::MessagePtr message;
    EXPECT_TRUE(CommandRun::WaitUntil(
        [&] {
          const auto queues = vhost_.QueuesBeginning(queue);
          for (const std::string& each : queues) {
            if (message == nullptr) message = peer_.Get(each);
          }
          return message != nullptr;
        },
        absl::Seconds(20)))
        << queue;
    return message;
  }

  void Expect(const Path& path) {
    SCOPED_TRACE(path.name);
    path.go();
    const amqp::MessagePtr message = Take(path.queue);
    ASSERT_NE(message, nullptr);
    const amqp::Properties& properties = message->properties;
    EXPECT_EQ(message->body, path.body);
    EXPECT_EQ(properties.priority, 7);
    EXPECT_EQ(properties.correlation_id, "c-1");
    EXPECT_EQ(properties.message_id, "m-1");
    EXPECT_EQ(properties.type, "order.placed");
    EXPECT_EQ(properties.timestamp, 1'700'000'000U);
    EXPECT_EQ(properties.delivery_mode, path.mode ? 1 : 2);
    EXPECT_EQ(properties.expiration.has_value(), path.expiration);
    if (path.expiration) {
      EXPECT_LE(std::stoi(std::string(*properties.expiration)), 600'000);
    }
    const amqp::TableView headers = *properties.headers;
    EXPECT_EQ(headers.FindString("tenant"), "blue");
    EXPECT_EQ(headers.FindString("x-retry-policy"), "gold");
    EXPECT_EQ(headers.Find("x-first-death-queue").has_value(), path.deaths);
    EXPECT_EQ(headers.Find("x-death").has_value(), path.deaths);
    EXPECT_EQ(headers.Find("CC").has_value(), path.routes);
    EXPECT_EQ(headers.FindString("x-retry-count") == "twice", path.own);
    EXPECT_EQ(headers.Find("filler").has_value(), fills_the_frame_);
    if (path.copy) {
      EXPECT_NE(headers.FindInt64("x-acquired-count"), 9);
      EXPECT_NE(headers.FindInt64("x-delivery-count"), 9);
    }
    EXPECT_EQ(peer_.Get("copied"), nullptr) << "routed by CC";
  }
  Path Retry(const std::string& key = "orders", const std::string& exchange = "") {
    return {.name = "retry",
            .go =
                [=, this] {
                  PublishTo(key, Theirs(), exchange);
                  RunWorker("exit 1", Says(fills_the_frame_ ? "parked" : "retried"));
                },
            .queue = "retry.600000"};
  }
  Path Park(const std::string& key = "orders", const std::string& exchange = "") {
    return {.name = "park",
            .go =
                [=, this] {
                  PublishTo(key, Theirs(), exchange);
                  RunWorker("exit 1", Says("parked"), {"--max-attempts", "1"});
                },
            .queue = "orders.parked"};
  }

  // The paths on which no copy is larger than its message.
  void ExpectOnPathsOfAnySize() {
    Expect({.name = "replay",
            .go =
                [this] {
                  PublishTo("orders.parked", Parked());
                  Run({"parked", "replay", "--queue", "orders", "--all"});
                },
            .queue = "orders"});
    Expect({.name = "edit",
            .body = "edited",
            .go =
                [this] {
                  PublishTo("orders.parked", Parked());
                  files_.Write("editor", "sed -i 's/^body$/edited/' \"$1\"");
                  ::unsetenv("VISUAL");
                  ::setenv("EDITOR", ("sh " + files_.File("editor")).c_str(), 1);
                  Run({"parked", "edit", "--queue", "orders", "--id", "m-1"});
                },
            .queue = "orders"});
    // From 4.3 on the message itself is requeued, and keeps headers that a copy must not have.
    const bool by_copy = IsQuorum() && !IsSince43();
    const std::string busy = "echo > " + File("started") + "; sleep 1";
    Path back = {.name = "return",
                 .mode = true,
                 .expiration = true,
                 .deaths = true,
                 .routes = !by_copy,
                 .own = true,
                 .copy = by_copy,
                 .go =
                     [=, this] {
                       peer_.Publish("", "orders", "first",
                                     {.priority = 7});  // or 4.x delivers it last (F63)
                       PublishTo("orders", Theirs());
                       RunWorker(busy, IsBusy(0));
                     },
                 .queue = "orders"};
    Expect(back);
    if (!IsQuorum()) return;
    back.routes = false;
    back.copy = true;
    const auto move = [=, this](const std::string& count_redeliveries) {
      PublishTo("orders", Theirs());
      RawConnection other(vhost_.Url());
      for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(Holds("orders", 1));
        other.Reject(other.Take("orders"));
      }
      EXPECT_TRUE(Holds("orders", 1));
      peer_.Publish("", "orders", "first", {.priority = 7});
      RunWorker(busy, IsBusy(1), {"--prefetch", "1", "--count-redeliveries", count_redeliveries});
    };
    back.name = "move";
    back.go = [move] { move("never"); };
    Expect(back);
    if (!fills_the_frame_) {
      back.name = "move of what has failed";
      back.deaths = false;
      back.own = false;
      back.go = [move] { move("counted"); };
      return Expect(back);
    }
    back.name = "move by a look";
    back.queue = "looked.at.parked";
    back.go = [this] {
      PublishTo("looked.at.parked", Theirs());
      for (int i = 0; i < 2; ++i) Run({"parked", "list", "--queue", "looked.at"});
    };
    Expect(back);
  }

  static std::vector<std::string> DelayedSend() {
    return absl::StrSplit(
        "send --queue orders --delay 10m --transient --priority 7 --correlation-id c-1 "
        "--message-id m-1 --timestamp 1700000000 --type order.placed --header tenant=blue "
        "--header x-retry-policy=gold --header x-retry-count=twice "
        "--header x-first-death-queue=orders --header-json x-delivery-count=9 "
        "--header-json x-acquired-count=9 --header-json CC=[\"copied\"] "
        "--header-json x-death=[{\"queue\":\"orders\",\"reason\":\"expired\"}] body",
        ' ');
  }

  bool fills_the_frame_ = false;
};

TEST_P(CommandCopies, EveryPathAppliesEveryGuard) {
  Expect(Retry());
  Expect({.name = "release",
          .go =
              [this] {
                Retry().go();
                Run({"waiting", "release", "--queue", "orders", "--all"});
              },
          .queue = "orders"});
  Expect(Park());
  ExpectOnPathsOfAnySize();
  Expect({.name = "delayed publish",
          .mode = true,
          .routes = true,
          .own = true,
          .go = [this] { Run(DelayedSend()); },
          .queue = "retry.600000"});
}

// There is no room for the headers of retrying.
TEST_P(CommandCopies, EveryPathAppliesEveryGuardIfHeadersFillTheFrame) {
  fills_the_frame_ = true;
  // Its limit is known some seconds later.
  peer_.DeclareQueue("looked.at.parked", {{"x-queue-type", "quorum"}, {"x-delivery-limit", 2}});
  const std::string exchange(200, 'e');
  const std::string key(200, 'k');
  peer_.DeclareExchange(exchange, "direct");
  peer_.Bind("orders", exchange, key);
  peer_.Bind("copied", exchange, "copied");
  for (Path path : {Retry(key, exchange), Park(key, exchange)}) {
    path.name += ", unchanged";
    path.queue = "orders.parked";
    path.own = true;
    Expect(path);
  }
  ExpectOnPathsOfAnySize();
  std::vector<std::string> arguments = DelayedSend();
  arguments.insert(arguments.end() - 1, {"--header", "filler=" + std::string(kFull - 64, 'x')});
  const End end = RunToEnd(arguments, vhost_.Url());
  EXPECT_EQ(end.code, 64) << end.err;
  EXPECT_EQ(peer_.Count("retry.600000"), 0U);
}

INSTANTIATE_TEST_SUITE_P(Queues, CommandCopies, ::testing::Values("classic", "quorum"));

}  // namespace retryq::testing::command_copies_test
