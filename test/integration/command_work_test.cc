// `retryq work`: the outcomes of messages, and the input of their commands.

#include <filesystem>
#include <nlohmann/json.hpp>

#include "integration/command_run.h"
#include "support/test.h"

namespace retryq::testing::command_work_test {

using CommandWork = CommandTest;

TEST_F(CommandWork, RetriesUntilTheCommandSucceeds) {
  CommandRun run = Work({}, "echo again >&2; test $RETRYQ_ATTEMPT = 2");
  Publish("an order");
  ASSERT_TRUE(run.Says("acked"));
  ASSERT_TRUE(run.Stop());
  const auto failed = run.events("failed");
  const auto retried = run.events("retried");
  ASSERT_EQ(failed.size(), 2U);
  ASSERT_EQ(retried.size(), 2U);
  EXPECT_EQ(failed[0]["attempt"], 0);
  EXPECT_EQ(failed[1]["attempt"], 1);
  EXPECT_EQ(failed[1]["error"], "exit 1: again");
  EXPECT_EQ(retried[0]["delay_ms"], 50);
  EXPECT_EQ(retried[0]["delay_queue"], "retry.50");
  EXPECT_EQ(retried[1]["delay_ms"], 100);
  EXPECT_EQ(retried[1]["delay_queue"], "retry.100");
  EXPECT_EQ(retried[0]["queue"], "orders");
  EXPECT_FALSE(retried[0]["id"].get<std::string>().empty());
  EXPECT_EQ(retried[0]["id"], retried[1]["id"]);
  EXPECT_EQ(run.events("acked").front()["attempt"], 2);
  EXPECT_EQ(peer_.Count("orders"), 0U);
  EXPECT_EQ(vhost_.Queue("retry.50").value().at("arguments").at("x-message-ttl"), 50);
}

TEST_F(CommandWork, PassesThePasswordToCommandsOnlyIfAsked) {
  ::setenv("RETRYQ_MANAGEMENT_URL", ManagementUrl().c_str(), 1);
  for (const bool pass : {false, true}) {
    const std::string name = pass ? "passed" : "kept";
    Arguments flags = {"--on-parked", "env >" + File(name + "-hook"), "--max-attempts", "1"};
    if (pass) flags.emplace_back("--pass-url");
    CommandRun run = Work(flags, "env >" + File(name) + "; exit 1");
    Publish("an order");
    ASSERT_TRUE(run.Says("parked"));
    ASSERT_TRUE(run.Stop());
    for (const std::string& file : {name, name + "-hook"}) {
      const std::string variables = files_.Read(file);
      EXPECT_THAT(variables, HasSubstr("RETRYQ_QUEUE=orders\n"));
      for (const char* variable : {"RETRYQ_URL=", "RETRYQ_MANAGEMENT_URL="}) {
        EXPECT_EQ(variables.find(variable) != std::string::npos, pass) << file << variables;
      }
    }
  }
}

TEST_F(CommandWork, LogsInWithTheCurrentPasswordOfTheFile) {
  const std::string user = vhost_.AddUser(TestVhost::Rights{".*", ".*", ".*"});
  const std::string file = files_.Write("url", vhost_.UrlAs(user, user));
  CommandRun run = Work({"--url-file", file}, "true");
  ASSERT_TRUE(run.Says("consuming"));
  vhost_.management().Put("/users/" + user, {{"password", "another"}, {"tags", ""}});
  files_.Write("url", vhost_.UrlAs(user, "another"));
  std::vector<std::string> connections;
  ASSERT_TRUE(run.Until([&] {
    connections = vhost_.ConnectionsOf("retryq[" + std::to_string(run.pid()) + "] consume");
    return !connections.empty();
  }));
  vhost_.CloseConnection(connections.front());
  ASSERT_TRUE(run.Says("consuming", 2));
  Publish("an order");
  ASSERT_TRUE(run.Says("acked"));
  EXPECT_TRUE(run.Stop());
}

TEST_F(CommandWork, LogsReadableTextWithoutJson) {
  CommandRun run({"work", "--queue", "orders", "--", "sh", "-c", "echo to stdout; exit 65"},
                 vhost_.Url());
  Publish("an order");
  ASSERT_TRUE(run.Until([&] { return run.err().find(" parked ") != std::string::npos; }));
  ASSERT_TRUE(run.Stop());
  EXPECT_EQ(run.out(), "to stdout\n");
  EXPECT_THAT(run.err(), HasSubstr(" failed queue=orders attempt=0"));
  EXPECT_THAT(run.err(), HasSubstr("error=\"exit 65\""));
}

TEST_F(CommandWork, Exit65ParksAtOnce) {
  CommandRun run = Work({}, "echo no order >&2; exit 65");
  Publish("nonsense");
  ASSERT_TRUE(run.Says("parked"));
  ASSERT_TRUE(run.Stop());
  EXPECT_TRUE(run.events("retried").empty());
  EXPECT_EQ(ParkedError(), "exit 65: no order");
}

TEST_F(CommandWork, KillsACommandThatTakesTooLong) {
  CommandRun run = Work({"--timeout", "2s", "--max-attempts", "1"},
                        "sleep 600 & " + NotePid("child", "$!") + "; wait");
  Publish("an order");
  ASSERT_TRUE(run.Says("parked"));
  ASSERT_TRUE(run.Stop());
  EXPECT_EQ(ParkedError(), "timed out after 2s");
  EXPECT_TRUE(IsGone("child"));
}

TEST_F(CommandWork, ParksInTheQueueThatWasNamed) {
  CommandRun run = Work({"--max-attempts", "2", "--parked", "dead"}, "exit 1");
  Publish("an order");
  ASSERT_TRUE(run.Says("parked"));
  ASSERT_TRUE(run.Stop());
  EXPECT_EQ(run.events("failed").size(), 2U);
  EXPECT_EQ(peer_.Count("dead"), 1U);
}

TEST_F(CommandWork, RunsACommandForEachParkedMessage) {
  CommandRun run =
      Work({"--on-parked", "(cat; echo \" $RETRYQ_ID $RETRYQ_LAST_ERROR\") >> " + File("parked"),
            "--max-attempts", "1"},
           "exit 3");
  peer_.Publish("", "orders", "an order", {.message_id = "m-1"});
  ASSERT_TRUE(run.Until([&] { return !files_.Read("parked").empty(); }));
  ASSERT_TRUE(run.Stop());
  EXPECT_THAT(files_.Read("parked"), StartsWith("an order m-1 "));
  EXPECT_THAT(files_.Read("parked"), HasSubstr("exit 3\n"));
  EXPECT_EQ(peer_.Count("orders.parked"), 1U);
}

TEST_F(CommandWork, FinishesTheCommandsOfParkedMessagesBeforeItExits) {
  CommandRun run = Work({"--on-parked", "sleep 0.5; echo x >> " + File("parked")}, "exit 65");
  for (int i = 0; i < 3; ++i) Publish("an order");
  ASSERT_TRUE(run.Says("parked", 3));
  ASSERT_TRUE(run.Stop());
  EXPECT_EQ(files_.Read("parked"), "x\nx\nx\n");
}

TEST_F(CommandWork, OnlyReportsThatACommandForAParkedMessageFailed) {
  CommandRun run = Work({"--on-parked", "echo no mail >&2; exit 9"}, "exit 65");
  Publish("an order");
  ASSERT_TRUE(run.Says("on_parked_failed"));
  ASSERT_TRUE(run.Stop());
  EXPECT_EQ(run.events("on_parked_failed").front()["error"], "exit 9: no mail");
  EXPECT_EQ(peer_.Count("orders.parked"), 1U);
}

TEST_F(CommandWork, GivesTheBodyByteForByte) {
  std::string body;
  for (int i = 0; i < 300'000; ++i) body.push_back(static_cast<char>(i * 7));
  CommandRun run = Work({}, "cat > " + File("body"));
  Publish(body);
  ASSERT_TRUE(run.Says("acked"));
  ASSERT_TRUE(run.Stop());
  EXPECT_EQ(files_.Read("body"), body);
}

TEST_F(CommandWork, RunsAsManyCommandsAtOnceAsConfigured) {
  // Each command waits for all four.
  CommandRun run = Work({"--jobs", "4", "--timeout", "20s"},
                        "echo > " + files_.File("") + "$RETRYQ_MESSAGE_ID; cd " + files_.File("") +
                            "; until test -e 1 -a -e 2 -a -e 3 -a -e 4; do sleep 0.01; done");
  for (const char* id : {"1", "2", "3", "4"}) {
    peer_.Publish("", "orders", "an order", {.message_id = id});
  }
  ASSERT_TRUE(run.Says("acked", 4));
  ASSERT_TRUE(run.Stop());
  EXPECT_TRUE(run.events("failed").empty());
}

TEST_F(CommandWork, PausesWhileItsCommandIsGoneAndLosesNoMessage) {
  const std::string program = files_.Write("program", "#!/bin/sh\nexit 0\n", /*executable=*/true);
  CommandRun run({"work", "--json", "--queue", "orders", "--max-attempts", "1", "--", program},
                 vhost_.Url());
  ASSERT_TRUE(run.Says("consuming"));
  std::filesystem::remove(program);
  for (int i = 0; i < 3; ++i) Publish("an order");
  ASSERT_TRUE(run.Says("paused"));
  EXPECT_THAT(run.events("paused").front()["error"], HasSubstr("No such file or directory"));
  EXPECT_TRUE(run.events("failed").empty());

  files_.Write("new", "#!/bin/sh\nexit 0\n", /*executable=*/true);
  std::filesystem::rename(files_.File("new"), program);
  ASSERT_TRUE(run.Says("acked", 3));
  ASSERT_TRUE(run.Says("resumed"));
  Publish("another");
  ASSERT_TRUE(run.Says("acked", 4));
  EXPECT_EQ(run.events("paused").size(), 1U);
  ASSERT_TRUE(run.Stop());
  EXPECT_EQ(peer_.Count("orders.parked"), 0U);
}

TEST_F(CommandWork, ParksTheOneMessageForWhichItsCommandCannotBeRun) {
  CommandRun run = Work({"--max-attempts", "2"}, "test \"$(cat)\" != poison || exit 127");
  Publish("first");
  ASSERT_TRUE(run.Says("acked"));
  Publish("poison");
  // Messages that are handled between its attempts show that the command is not the cause.
  std::size_t others = 1;
  ASSERT_TRUE(run.Until([&] {
    if (run.events("acked").size() >= others) {
      Publish("another");
      ++others;
    }
    return !run.events("parked").empty();
  }));
  ASSERT_TRUE(run.Stop());
  EXPECT_THAT(ParkedError(), HasSubstr("exit 127"));
}

// As in a container.
TEST_F(CommandWork, AsPid1ReapsOrphansOfCommands) {
  if (std::system("unshare -Urpf --mount-proc true 2>/dev/null") != 0) {
    GTEST_SKIP() << "no namespaces may be made here";
  }
  const std::string script = "sleep 0.05 & setsid sleep 0.05 & echo >> " + File("handled");
  CommandRun run({"-Urpf", "--mount-proc", "--kill-child", RETRYQ_COMMAND, "work", "--json",
                  "--queue", "orders", "--", "sh", "-c",
                  "if [ $(cat) = last ]; then cat /proc/[0-9]*/stat | grep -c ') Z' > " +
                      File("zombies") + "; else " + script + "; fi; exit 0"},
                 vhost_.Url(), "", "/usr/bin/unshare");
  ASSERT_TRUE(run.Says("consuming"));
  for (int i = 0; i < 20; ++i) Publish("an order");
  ASSERT_TRUE(run.Says("acked", 20));
  // Until the last of them has been reaped.
  std::size_t looks = 0;
  EXPECT_TRUE(run.Until([&] {
    if (run.events("acked").size() == 20 + looks) {
      Publish("last");
      ++looks;
    }
    return files_.Read("zombies") == "0\n";
  }));
}

TEST_F(CommandWork, HundredsOfCommandsLeaveNothingBehind) {
  CommandRun run = Work({"--jobs", "4", "--on-limit", "reject"}, "exit 0");
  Publish("first");
  ASSERT_TRUE(run.Says("acked"));
  ASSERT_TRUE(run.Says("at_risk"));  // its check of the management API at the start is over
  const auto entries = [&](const char* what) {
    const std::string directory = "/proc/" + std::to_string(run.pid()) + "/" + what;
    return std::distance(std::filesystem::directory_iterator(directory), {});
  };
  const auto descriptors = entries("fd");
  const auto threads = entries("task");
  for (int i = 0; i < 500; ++i) peer_.Send("", "orders", "an order");
  peer_.AwaitConfirms();
  ASSERT_TRUE(run.Says("acked", 501));
  EXPECT_EQ(entries("fd"), descriptors);
  EXPECT_EQ(entries("task"), threads);
  ASSERT_TRUE(run.Stop());
}

}  // namespace retryq::testing::command_work_test
