// `retryq send`.

#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "integration/command_run.h"
#include "support/test.h"

namespace retryq::testing::command_send_test {

class CommandSend : public CommandTest {
 protected:
  End Send(const Arguments& arguments, const std::string& input = "") {
    Arguments all = {"send"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return RunToEnd(all, vhost_.Url(), input);
  }
};

TEST_F(CommandSend, PublishesToAQueue) {
  const End end = Send({"--queue", "orders", "--header", "customer=7", "--content-type",
                        "text/plain", "--message-id", "m-1", "an order"});
  ASSERT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(end.out, "");
  const amqp::MessagePtr message = peer_.Get("orders");
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->body, "an order");
  EXPECT_EQ(message->properties.headers->FindString("customer"), "7");
  EXPECT_EQ(message->properties.content_type, "text/plain");
  EXPECT_EQ(message->properties.message_id, "m-1");
  EXPECT_EQ(message->properties.delivery_mode, 2);
}

TEST_F(CommandSend, PublishesToAnExchange) {
  peer_.DeclareExchange("shop", "topic");
  peer_.Bind("orders", "shop", "order.*");
  ASSERT_EQ(Send({"--exchange", "shop", "--routing-key", "order.placed", "an order"}).code, 0);
  EXPECT_EQ(peer_.Get("orders")->routing_key, "order.placed");
}

TEST_F(CommandSend, SendsArbitraryBytesFromStdin) {
  std::string body;
  for (int i = 0; i < 300'000; ++i) body.push_back(static_cast<char>(i * 7));
  ASSERT_EQ(Send({"--queue", "orders", "-"}, body).code, 0);
  EXPECT_EQ(peer_.Get("orders")->body, body);
  ASSERT_EQ(Send({"--queue", "orders"}, "piped").code, 0);
  EXPECT_EQ(peer_.Get("orders")->body, "piped");
}

TEST_F(CommandSend, DelaysAndReportsTheRoundedDelay) {
  const absl::Time before = absl::Now();
  const End end = Send({"--queue", "orders", "--delay", "400ms", "--round-up", "later"});
  ASSERT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(end.out,
            "waits in retry.500 and arrives in queue orders after 500ms, as 400ms is rounded up\n");
  ASSERT_TRUE(CommandRun::WaitUntil([&] { return peer_.Count("orders") == 1; }, absl::Seconds(10)));
  EXPECT_GE(absl::Now() - before, absl::Milliseconds(500));
  EXPECT_EQ(peer_.Get("orders")->body, "later");
}

TEST_F(CommandSend, DelaysToTheMillisecondForRetryqWorkers) {
  const End end = Send({"--queue", "orders", "--delay", "1234ms", "later"});
  ASSERT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(end.out,
            "waits in retry.1000 and arrives in queue orders, where retryq handles it after "
            "1s234ms\n");
}

TEST_F(CommandSend, ReportsAnUnroutableMessage) {
  peer_.DeclareExchange("shop", "topic");
  for (const Arguments& arguments :
       {Arguments{"--queue", "odrers", "body"},
        Arguments{"--queue", "odrers", "--delay", "1s", "body"},
        Arguments{"--exchange", "shop", "--routing-key", "odrers", "body"},
        Arguments{"--exchange", "odrers", "--routing-key", "k", "body"}}) {
    const End end = Send(arguments);
    EXPECT_EQ(end.code, 69) << end.err;
    EXPECT_THAT(end.err, AllOf(HasSubstr("odrers"), HasSubstr("remedy: ")));
  }
}

TEST_F(CommandSend, RefusesADelayForAnExchangeWithoutAMatchingBinding) {
  peer_.DeclareExchange("shop", "topic");
  peer_.Bind("orders", "shop", "order.*");
  const Arguments matching = {"--exchange", "shop", "--routing-key", "order.placed",
                              "--delay",    "50ms", "body"};
  ::setenv("RETRYQ_MANAGEMENT_URL", ManagementUrl().c_str(), 1);
  EXPECT_THAT(Send(matching).out, ::testing::EndsWith(" after 50ms\n"));
  const End end = Send({"--exchange", "shop", "--routing-key", "odrers", "--delay", "1s", "body"});
  EXPECT_EQ(end.code, 69);
  EXPECT_THAT(end.err, AllOf(HasSubstr("no queue is bound to exchange 'shop' for routing key"),
                             HasSubstr("remedy: bind a queue")));
}

// Through other exchanges, and by headers.
TEST_F(CommandSend, RefusesADelayForAnExchangeFromWhichNoQueueIsReached) {
  peer_.DeclareExchange("shop", "fanout");
  peer_.DeclareExchange("orders only", "topic");
  peer_.Bind("orders", "orders only", "order.*");
  const std::string in_vhost = vhost_.name() + "/e/";
  vhost_.management().Post("/bindings/" + in_vhost + "shop/e/orders%20only",
                           {{"routing_key", ""}, {"arguments", nlohmann::json::object()}});
  vhost_.management().Put(
      "/exchanges/" + vhost_.name() + "/first",
      {{"type", "direct"}, {"durable", true}, {"arguments", {{"alternate-exchange", "shop"}}}});
  vhost_.management().Put("/exchanges/" + vhost_.name() + "/by-kind",
                          {{"type", "headers"}, {"durable", true}});
  vhost_.management().Post(
      "/bindings/" + in_vhost + "by-kind/q/orders",
      {{"routing_key", ""}, {"arguments", {{"x-match", "all"}, {"kind", "book"}}}});
  ::setenv("RETRYQ_MANAGEMENT_URL", ManagementUrl().c_str(), 1);
  const auto send = [this](const std::string& exchange, const std::string& key,
                           const std::string& kind) {
    return Send({"--exchange", exchange, "--routing-key", key, "--delay", "50ms", "--header",
                 "kind=" + kind, "body"})
        .code;
  };
  EXPECT_EQ(send("shop", "order.placed", "film"), 0);
  EXPECT_EQ(send("shop", "odrers", "film"), 69);
  EXPECT_EQ(send("first", "order.placed", "film"), 0);
  EXPECT_EQ(send("first", "odrers", "film"), 69);
  EXPECT_EQ(send("by-kind", "", "book"), 0);
  EXPECT_EQ(send("by-kind", "", "film"), 69);
  EXPECT_TRUE(
      CommandRun::WaitUntil([this] { return peer_.Count("orders") == 3; }, absl::Seconds(20)));
}

// A policy without an alternate exchange leads to no queue, a policy with one leads there.
TEST_F(CommandSend, RefusesADelayForAnExchangeWhosePolicyLeadsToNoQueue) {
  peer_.DeclareExchange("shop", "topic");
  peer_.DeclareExchange("rest", "fanout");
  peer_.Bind("orders", "rest", "");
  ::setenv("RETRYQ_MANAGEMENT_URL", ManagementUrl().c_str(), 1);
  const auto send = [this](const nlohmann::json& definition) {
    vhost_.management().Put(
        "/policies/" + vhost_.name() + "/some",
        {{"pattern", "^shop$"}, {"definition", definition}, {"apply-to", "all"}});
    return Send({"--exchange", "shop", "--routing-key", "k", "--delay", "50ms", "body"}).code;
  };
  EXPECT_EQ(send({{"message-ttl", 86400000}}), 69);
  EXPECT_EQ(send({{"alternate-exchange", "rest"}}), 0);
}

TEST_F(CommandSend, SendsAllProperties) {
  std::vector<std::string> arguments = absl::StrSplit(
      "--queue orders --content-encoding gzip --correlation-id c-1 --reply-to answers --type order "
      "--app-id shop --user-id guest --priority 3 --expiration 1h --timestamp 1700000000 "
      "--transient "
      "--header-json n=7 --header-json b=true",
      ' ');
  arguments.emplace_back("an order");
  const End end = Send(arguments);
  ASSERT_EQ(end.code, 0) << end.err;
  const amqp::MessagePtr message = peer_.Get("orders");
  ASSERT_NE(message, nullptr);
  const amqp::Properties& properties = message->properties;
  EXPECT_EQ(properties.content_encoding, "gzip");
  EXPECT_EQ(properties.correlation_id, "c-1");
  EXPECT_EQ(properties.reply_to, "answers");
  EXPECT_EQ(properties.type, "order");
  EXPECT_EQ(properties.app_id, "shop");
  EXPECT_EQ(properties.user_id, "guest");
  EXPECT_EQ(properties.priority, 3);
  EXPECT_EQ(properties.expiration, "3600000");
  EXPECT_EQ(properties.timestamp, 1'700'000'000U);
  EXPECT_EQ(properties.delivery_mode, 1);
  EXPECT_EQ(properties.headers->Find("n")->type, 'l');
  EXPECT_EQ(properties.headers->Find("b")->type, 't');
}

TEST_F(CommandSend, DeclaresTheQueueThatIsMissing) {
  for (const char* type : {"classic", "quorum"}) {
    for (int time = 0; time < 2; ++time) {
      const End end = Send({"--queue", type, "--declare", "--declare-type", type, "an order"});
      EXPECT_EQ(end.code, 0) << end.err;
    }
    EXPECT_EQ(vhost_.Queue(type).value()["arguments"]["x-queue-type"], type);
    EXPECT_EQ(peer_.Count(type), 2U);
  }
  // An existing queue is used as it is.
  EXPECT_EQ(Send({"--queue", "classic", "--declare", "--declare-type", "quorum", "b"}).code, 0);
}

// As doc/declaring_and_sending.md shows it.
TEST_F(CommandSend, AWorkerRepliesToARequest) {
  peer_.DeclareQueue("answers");
  ASSERT_EQ(
      Send({"--queue", "orders", "--reply-to", "answers", "--correlation-id", "c-1", "ask"}).code,
      0);
  CommandRun work(
      {"work", "--json", "--queue", "orders", "--pass-url", "--", "sh", "-c",
       "tr a-z A-Z | " RETRYQ_COMMAND " send --queue \"$RETRYQ_REPLY_TO\" --correlation-id "
       "\"$RETRYQ_CORRELATION_ID\" -"},
      vhost_.Url());
  ASSERT_TRUE(work.Says("acked")) << work.err();
  const amqp::MessagePtr answer = peer_.Get("answers");
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(answer->body, "ASK");
  EXPECT_EQ(answer->properties.correlation_id, "c-1");
  EXPECT_TRUE(work.Stop());
}

}  // namespace retryq::testing::command_send_test
