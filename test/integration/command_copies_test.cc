// What a message is like after each way on which retryq publishes it again.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "integration/messages_run.h"
#include "retry/delivery/counted_returns.h"
#include "retryq/amqp/table.h"

namespace retryq::testing {
namespace command_copies_test {

// What stays on a path. All else must be as it came, on each.
struct Path {
  std::string name;
  bool mode = false;                   // the delivery mode
  bool expiration = false;             // what is left of it
  bool deaths = false;                 // x-death and its kin
  bool routes = false;                 // CC
  bool own = false;                    // a header of the application's with a name that retryq uses
  std::function<void()> go = nullptr;  // publishes the message on that path
  std::string queue;                   // where it is then
};

class CommandCopies : public MessagesTest, public ::testing::WithParamInterface<const char*> {
 protected:
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

  void PublishTo(const std::string& queue, const amqp::Table& headers) {
    const std::string encoded = headers.Encode().value();
    peer_.Publish("", queue, "body",
                  {.headers = amqp::TableView(encoded),
                   .delivery_mode = 1,
                   .priority = 7,
                   .correlation_id = "c-1",
                   .expiration = "600000",
                   .message_id = "m-1",
                   .timestamp = 1'700'000'000,
                   .type = "order.placed"});
    EXPECT_TRUE(
        CommandRun::WaitUntil([&] { return peer_.Get("copied") != nullptr; }, absl::Seconds(10)));
  }

  void RunWorker(const std::string& script, const std::string& until,
                 const std::vector<std::string>& flags = {}) {
    std::vector<std::string> all = {"work",   "--json", "--queue",      "orders",
                                    "--base", "10m",    "--queue-type", GetParam()};
    all.insert(all.end(), flags.begin(), flags.end());
    all.insert(all.end(), {"--", "sh", "-c", script});
    CommandRun worker(all, vhost_.Url());
    EXPECT_TRUE(worker.Says(until));
    EXPECT_TRUE(worker.Stop());
  }

  static bool IsSince43() {
    const char* const version = std::getenv("RETRYQ_BROKER_VERSION");
    return version != nullptr && IsVersion(version, 4, 3);
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
    EXPECT_EQ(message->body, "body");
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
    if (!message->redelivered) {  // else it is the message itself
      EXPECT_FALSE(headers.Find("x-acquired-count"));
      EXPECT_EQ(headers.FindInt64("x-delivery-count").value_or(0), 0);
    }
    EXPECT_EQ(peer_.Get("copied"), nullptr) << "routed by CC";
  }
};

TEST_P(CommandCopies, EachGuardHoldsOnEachPath) {
  for (const std::string queue : {"copied", "orders.parked"}) peer_.DeclareQueue(queue);
  peer_.Delete("orders");
  peer_.DeclareQueue("orders", {{"x-queue-type", GetParam()}});
  const auto fail = [&] {
    PublishTo("orders", Theirs());
    RunWorker("exit 1", "retried");
  };
  Expect({.name = "retry", .go = fail, .queue = "retry.600000"});
  Expect({.name = "release",
          .go =
              [&] {
                fail();
                const End end = RunToEnd({"waiting", "release", "--queue", "orders", "--all"});
                EXPECT_EQ(end.code, 0) << end.err;
              },
          .queue = "orders"});
  Expect({.name = "park",
          .go =
              [&] {
                PublishTo("orders", Theirs());
                RunWorker("exit 1", "parked", {"--max-attempts", "1"});
              },
          .queue = "orders.parked"});
  Expect({.name = "replay",
          .go =
              [&] {
                PublishTo("orders.parked", Parked());
                const End end = RunToEnd({"parked", "replay", "--queue", "orders", "--all"});
                EXPECT_EQ(end.code, 0) << end.err;
              },
          .queue = "orders"});
  // From 4.3 on the message itself goes back, and keeps what a copy must not have.
  const bool by_copy = GetParam() == std::string("quorum") && !IsSince43();
  Expect({.name = "return",
          .mode = true,
          .expiration = true,
          .deaths = true,
          .routes = !by_copy,
          .own = true,
          .go =
              [&] {
                peer_.Publish("", "orders", "first");
                PublishTo("orders", Theirs());
                RunWorker("sleep 1", "delivered");
              },
          .queue = "orders"});
  Expect({.name = "delayed publish",
          .mode = true,
          .routes = true,
          .own = true,
          .go =
              [&] {
                const End end = RunToEnd({"send",
                                          "--queue",
                                          "orders",
                                          "--delay",
                                          "10m",
                                          "--transient",
                                          "--priority",
                                          "7",
                                          "--correlation-id",
                                          "c-1",
                                          "--message-id",
                                          "m-1",
                                          "--timestamp",
                                          "1700000000",
                                          "--type",
                                          "order.placed",
                                          "--header",
                                          "tenant=blue",
                                          "--header",
                                          "x-retry-policy=gold",
                                          "--header",
                                          "x-retry-count=twice",
                                          "--header",
                                          "x-first-death-queue=orders",
                                          "--header-json",
                                          "x-delivery-count=9",
                                          "--header-json",
                                          "x-acquired-count=9",
                                          "--header-json",
                                          "CC=[\"copied\"]",
                                          "--header-json",
                                          R"(x-death=[{"queue":"orders","reason":"expired"}])",
                                          "body"});
                EXPECT_EQ(end.code, 0) << end.err;
              },
          .queue = "retry.600000"});
}

INSTANTIATE_TEST_SUITE_P(Queues, CommandCopies, ::testing::Values("classic", "quorum"));

}  // namespace command_copies_test
}  // namespace retryq::testing
