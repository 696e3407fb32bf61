// `retryq send --lines`.

#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "integration/command_run.h"
#include "support/test.h"

namespace retryq::testing::command_send_lines_test {

using Json = nlohmann::json;

class CommandSendLines : public CommandTest {
 protected:
  struct End {
    std::optional<int> code;
    std::map<std::string, Json> answers;  // by id, as JSON
    std::string err;
  };

  static std::map<std::string, Json> Answers(const std::string& out) {
    std::map<std::string, Json> answers;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) {
      const Json answer = Json::parse(line);
      EXPECT_TRUE(answers.emplace(answer["id"].dump(), answer).second) << "twice: " << line;
    }
    return answers;
  }

  End SendLines(const std::string& input, const Arguments& flags = {}) {
    Arguments all = {"send", "--lines"};
    all.insert(all.end(), flags.begin(), flags.end());
    CommandRun run(all, vhost_.Url(), input);
    const std::optional<int> code = run.Wait();
    return {code, Answers(run.out()), run.err()};
  }

  std::set<std::string> BodiesIn(const std::string& queue) {
    std::set<std::string> bodies;
    while (const amqp::MessagePtr message = peer_.Get(queue)) {
      bodies.insert(std::string(message->body));
    }
    return bodies;
  }

  // The command of a shell line, which is one of this vhost's.
  CommandRun Shell(const std::string& line) {
    return CommandRun({"-c", line}, vhost_.Url(), "", "/bin/bash");
  }
};

TEST_F(CommandSendLines, AnswersEachLineById) {
  std::string input;
  for (int i = 0; i < 3000; ++i) {
    input += R"({"id":)" + std::to_string(i) + R"(,"queue":"orders","body":"order )" +
             std::to_string(i) + "\"}\n";
  }
  const End end = SendLines(input, {"--in-flight", "100"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(end.err, "");
  EXPECT_EQ(end.answers.size(), 3000U);
  for (const auto& [id, answer] : end.answers) EXPECT_EQ(answer["ok"], true) << answer;
  EXPECT_EQ(BodiesIn("orders").size(), 3000U);
}

TEST_F(CommandSendLines, AMissingPermissionForDelaysFailsDelayedLinesAndEndsTheCommand) {
  const std::string user = vhost_.AddUser(TestVhost::Rights{"^$", "^amq[.]default$", "^orders$"});
  // More lines may come: the command exits by itself.
  CommandRun run(
      {"-c", "(cat; exec sleep 600) | exec " RETRYQ_COMMAND " send --lines --queue orders"},
      vhost_.UrlAs(user, user),
      "{\"id\":1,\"body\":\"now\"}\n{\"id\":2,\"body\":\"later\",\"delay\":\"10m\"}\n",
      "/bin/bash");
  ASSERT_TRUE(run.Until([&run] { return run.err().find('\n') != std::string::npos; }));
  const std::map<std::string, Json> answers = Answers(run.out());
  ASSERT_EQ(answers.size(), 2U) << run.out();
  EXPECT_EQ(answers.at("1").value("ok", false), true);
  EXPECT_THAT(answers.at("2").value("error", ""), HasSubstr("grant the user 'configure'"));
  EXPECT_THAT(run.err(), HasSubstr("retryq send: delay queue 'retry.600000' cannot be declared"));
  EXPECT_EQ(peer_.Count("orders"), 1U);
}

TEST_F(CommandSendLines, ReportsFailuresInTheAnswersAndTheExitStatus) {
  const End end = SendLines(
      "{\"id\":1,\"queue\":\"orders\",\"body\":\"first\"}\n"
      "\n"
      "{\"id\":2,\"queue\":\"odrers\",\"body\":\"b\"}\n"
      "not JSON\n"
      "{\"id\":3,\"queue\":\"orders\",\"bdoy\":\"b\"}\n"
      "{\"id\":4,\"exchange\":\"none\",\"routing_key\":\"k\"}\n"
      "{\"id\":5,\"queue\":\"orders\",\"user_id\":\"stranger\"}\n"
      "{\"id\":6,\"queue\":\"orders\",\"body\":\"last\"}");
  EXPECT_EQ(end.code, 69);
  EXPECT_THAT(end.err, HasSubstr("retryq send: 5 of 7 messages failed"));
  EXPECT_EQ(end.answers.at("1")["ok"], true);
  EXPECT_THAT(end.answers.at("2")["error"].get<std::string>(), HasSubstr("remedy: declare"));
  EXPECT_THAT(end.answers.at("null")["error"].get<std::string>(),
              HasSubstr("line 4: the line is not JSON"));
  EXPECT_THAT(end.answers.at("3")["error"].get<std::string>(), HasSubstr("\"bdoy\""));
  EXPECT_THAT(end.answers.at("4")["error"].get<std::string>(), HasSubstr("none"));
  EXPECT_THAT(end.answers.at("5")["error"].get<std::string>(), HasSubstr("stranger"));
  EXPECT_EQ(end.answers.at("6")["ok"], true);
  // Messages that were open when the broker closed the channel because of another message may be in
  // the queue twice.
  EXPECT_THAT(BodiesIn("orders"), ::testing::UnorderedElementsAre("first", "last"));
}

TEST_F(CommandSendLines, SkipsALineThatIsTooLong) {
  CommandRun run = Shell(
      "line() { echo \"{\\\"id\\\":$1,\\\"queue\\\":\\\"orders\\\"}\"; }; "
      "{ line 1; head -c 193M /dev/zero | tr '\\0' x; echo; line 2; } | exec " RETRYQ_COMMAND
      " send --lines; exit ${PIPESTATUS[1]}");
  EXPECT_EQ(run.Wait(), 69) << run.err();
  const std::map<std::string, Json> answers = Answers(run.out());
  ASSERT_EQ(answers.size(), 3U) << run.out();
  EXPECT_EQ(answers.at("null")["error"], "line 2 is longer than 201326592 bytes");
  EXPECT_EQ(answers.at("1")["ok"], true);
  EXPECT_EQ(answers.at("2")["ok"], true);
}

TEST_F(CommandSendLines, ReportsAReadError) {
  CommandRun run = Shell("exec " RETRYQ_COMMAND " send --lines < /");
  EXPECT_EQ(run.Wait(), 64);
  EXPECT_THAT(run.err(), HasSubstr("retryq send: cannot read stdin: Is a directory"));
}

TEST_F(CommandSendLines, AnswersBeforeTheInputEnds) {
  CommandRun run =
      Shell("(echo '{\"id\":1,\"queue\":\"orders\"}'; sleep 1000) | exec " RETRYQ_COMMAND
            " send --lines");
  EXPECT_TRUE(run.Until([&] { return !run.out().empty(); }));
  EXPECT_EQ(run.out(), "{\"id\":1,\"ok\":true}\n");
}

TEST_F(CommandSendLines, ASignalEndsItAfterAllAnswers) {
  CommandRun run(
      {"-c",
       "exec 3< <(for ((i = 0;; ++i)); do "
       "echo \"{\\\"id\\\":$i,\\\"queue\\\":\\\"orders\\\"}\" || exit; done); exec " RETRYQ_COMMAND
       " send --lines <&3"},
      vhost_.Url(), "", "/bin/bash");
  ASSERT_TRUE(run.Until([&] { return !run.out().empty(); }));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 75) << run.err();
  EXPECT_THAT(run.err(), HasSubstr("retryq send: stopped by a signal after "));
  const auto answers = Answers(run.out());
  for (const auto& [id, answer] : answers) EXPECT_EQ(answer["ok"], true) << answer;
  EXPECT_EQ(peer_.Count("orders"), answers.size());
}

// Nor does it wait for the whole grace period of 25 s.
TEST_F(CommandSendLines, ASignalEndsItIfNobodyReadsTheAnswers) {
  CommandRun run = Shell(
      "mkfifo_dir=$(mktemp -d); mkfifo $mkfifo_dir/answers; exec 4<>$mkfifo_dir/answers; "
      "rm -r $mkfifo_dir; exec 3< <(for ((i = 0;; ++i)); do echo '{\"queue\":\"orders\"}' || "
      "exit; done 2>/dev/null); exec " RETRYQ_COMMAND " send --lines <&3 >&4");
  // More than a pipe has room for.
  ASSERT_TRUE(run.Until([&] { return peer_.Count("orders") >= 10'000; }));
  const absl::Time signalled = absl::Now();
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 75) << run.err();
  EXPECT_LT(absl::Now() - signalled, absl::Seconds(15));
  EXPECT_THAT(run.err(), HasSubstr("; the last results were not read"));
}

TEST_F(CommandSendLines, AClosedReaderEndsItCleanly) {
  CommandRun run = Shell(
      "for ((i = 0; i < 100000; ++i)); do echo \"{\\\"id\\\":$i,\\\"queue\\\":\\\"orders\\\"}\" || "
      "exit; done 2>/dev/null | " RETRYQ_COMMAND
      " send --lines | head -n 1 >/dev/null; "
      "exit ${PIPESTATUS[1]}");
  EXPECT_EQ(run.Wait(absl::Seconds(60)), 74) << run.err();
  EXPECT_THAT(run.err(), HasSubstr("retryq send: cannot write to stdout: Broken pipe"));
}

TEST_F(CommandSendLines, UnwritableAnswersExitWith74) {
  CommandRun run = Shell("echo '{\"id\":1,\"queue\":\"orders\"}' | " RETRYQ_COMMAND
                         " send --lines >/dev/full; exit ${PIPESTATUS[1]}");
  EXPECT_EQ(run.Wait(), 74) << run.err();
  EXPECT_THAT(run.err(), HasSubstr("No space left on device"));
}

}  // namespace retryq::testing::command_send_lines_test
