// `retryq declare`, and workers that declare their queue.

#include <nlohmann/json.hpp>

#include "integration/command_run.h"
#include "support/test.h"

namespace retryq::testing::command_declare_test {

class CommandDeclare : public CommandTest {
 protected:
  End Declare(const Arguments& arguments) {
    Arguments all = {"declare"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return RunToEnd(all);
  }

  nlohmann::json ArgumentsOf(const std::string& queue) {
    return vhost_.Queue(queue).value()["arguments"];
  }
};

TEST_F(CommandDeclare, DeclaresADurableQueueMoreThanOnce) {
  for (const char* type : {"classic", "quorum"}) {
    for (int time = 0; time < 2; ++time) {
      const End end = Declare({"--queue", type, "--queue-type", type, "--argument",
                               "x-max-length=1000", "--argument", "x-overflow=reject-publish"});
      EXPECT_EQ(end.code, 0) << end.err;
      EXPECT_EQ(end.out, "");
    }
    EXPECT_EQ(vhost_.Queue(type).value()["durable"], true);
    EXPECT_EQ(ArgumentsOf(type), (nlohmann::json{{"x-queue-type", type},
                                                 {"x-max-length", 1000},
                                                 {"x-overflow", "reject-publish"}}));
  }
}

// A classic queue that was declared without a type is one.
TEST_F(CommandDeclare, FindsAClassicQueueOfAnotherClient) {
  EXPECT_EQ(Declare({"--queue", "orders"}).code, 0);
}

TEST_F(CommandDeclare, DeclaresExchangesAndBindings) {
  for (int time = 0; time < 2; ++time) {
    const End end =
        Declare({"--queue", "orders", "--exchange", "shop", "--routing-key", "order.#",
                 "--routing-key", "return.#", "--exchange", "all", "--exchange-type", "fanout"});
    EXPECT_EQ(end.code, 0) << end.err;
  }
  EXPECT_EQ(vhost_.Exchange("shop").value()["type"], "topic");
  EXPECT_EQ(vhost_.Exchange("shop").value()["durable"], true);
  EXPECT_EQ(vhost_.Exchange("all").value()["type"], "fanout");
  peer_.Publish("shop", "order.placed", "1");
  peer_.Publish("shop", "return.made", "2");
  peer_.Publish("all", "", "3");
  EXPECT_EQ(peer_.Count("orders"), 3U);
}

TEST_F(CommandDeclare, NamesTheDifferenceToTheExistingQueueOrExchange) {
  ASSERT_EQ(Declare({"--queue", "short", "--argument", "x-max-length=5"}).code, 0);
  peer_.DeclareQueue("shy", {}, {.auto_delete = true});
  peer_.DeclareExchange("shop", "direct");
  struct Case {
    Arguments arguments;
    const char* difference;
  };
  for (const Case& differs :
       {Case{{"--queue", "orders", "--queue-type", "quorum"},
             "queue 'orders' exists with other arguments: x-queue-type is "},
        Case{{"--queue", "short"}, "x-max-length is '5', but none was requested"},
        Case{{"--queue", "short", "--argument", "x-max-length=6"},
             "x-max-length is '5', but '6' was requested"},
        Case{{"--queue", "shy"}, "auto_delete is 'true', but 'false' was requested"},
        Case{{"--queue", "orders", "--exchange", "shop", "--routing-key", "k"},
             "exchange 'shop' exists with other arguments: type is 'direct', but 'topic' was "
             "requested"}}) {
    const End end = Declare(differs.arguments);
    EXPECT_EQ(end.code, 69) << end.err;
    EXPECT_THAT(end.err, AllOf(HasSubstr(differs.difference), HasSubstr("remedy: ")));
  }
}

TEST_F(CommandDeclare, AnArgumentThatTheBrokerRefusesExitsWith64) {
  const End end = Declare({"--queue", "new", "--argument", "x-max-length=-1"});
  EXPECT_EQ(end.code, 64) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("x-max-length"), HasSubstr("remedy: ")));
}

TEST_F(CommandDeclare, AnUnknownExchangeTypeExitsWith64) {
  const End end = Declare(
      {"--queue", "new", "--exchange", "odd", "--exchange-type", "x-none", "--routing-key", "k"});
  EXPECT_EQ(end.code, 64) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("x-none"), HasSubstr("remedy: ")));
}

TEST_F(CommandDeclare, AWorkerDeclaresItsQueue) {
  for (const char* type : {"classic", "quorum"}) {
    CommandRun run(
        {"work", "--json", "--queue", type, "--declare", "--declare-type", type, "--", "true"},
        vhost_.Url());
    ASSERT_TRUE(run.Says("consuming")) << run.err();
    EXPECT_EQ(ArgumentsOf(type)["x-queue-type"], type);
    EXPECT_TRUE(run.Stop());
  }
}

TEST_F(CommandDeclare, AWorkerRedeclaresADeletedQueue) {
  CommandRun run({"work", "--json", "--queue", "new", "--declare", "--", "true"}, vhost_.Url());
  ASSERT_TRUE(run.Says("consuming")) << run.err();
  vhost_.DeleteQueue("new");
  ASSERT_TRUE(run.Says("consuming", 2)) << run.err();
  peer_.Publish("", "new", "1");
  ASSERT_TRUE(run.Says("acked")) << run.err();
  EXPECT_TRUE(run.Stop());
}

}  // namespace retryq::testing::command_declare_test
