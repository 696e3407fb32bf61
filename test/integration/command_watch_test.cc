// `retryq queues --watch`, on a terminal and in a pipe.

#include <nlohmann/json.hpp>

#include "integration/command_run.h"
#include "integration/terminal_run.h"
#include "support/test.h"

namespace retryq::testing::command_watch_test {

// The sequences that switch xterm to its alternate screen and back.
constexpr char kOtherScreen[] = "\x1b[?1049h";
constexpr char kFirstScreen[] = "\x1b[?1049l";

class CommandWatch : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    // As another client would have made them.
    for (const char* name : {"retry.600000", "retry.3600000"}) peer_.DeclareQueue(name);
  }

  std::vector<std::string> Command() const {
    return {RETRYQ_COMMAND, "queues",     "--watch",      "--interval",   "200ms",
            "--url",        vhost_.Url(), "--management", ManagementUrl()};
  }
  static void ExpectLeft(TerminalRun& run) {
    EXPECT_TRUE(run.IsAsItWas());
    EXPECT_THAT(run.output(), HasSubstr(kFirstScreen));
  }
};

TEST_F(CommandWatch, FillsTheTerminalAndRestoresIt) {
  TerminalRun run(Command());
  ASSERT_TRUE(run.Shows(kOtherScreen));
  ASSERT_TRUE(run.Shows("retry.600000"));
  ASSERT_TRUE(run.Shows("2 queues"));
  ASSERT_TRUE(run.Shows("q quit"));
  EXPECT_FALSE(run.IsAsItWas());
  run.Press("q");
  EXPECT_EQ(run.Wait(), 0);
  ExpectLeft(run);
}

TEST_F(CommandWatch, RespondsToKeys) {
  TerminalRun run(Command());
  ASSERT_TRUE(run.Shows("q quit"));
  run.Press("h");
  ASSERT_TRUE(run.Shows("one line up"));
  run.Press("x");  // any key closes the help
  ASSERT_TRUE(run.Shows("serves"));
  run.Press("s");
  ASSERT_TRUE(run.Shows("waiting"));
  run.Press("p");
  ASSERT_TRUE(run.Shows("paused"));
  run.Press("\x1b[B\x1b[A\x1bOB");  // arrows, in both ways that terminals have
  run.Press("q");
  EXPECT_EQ(run.Wait(), 0);
  ExpectLeft(run);
}

TEST_F(CommandWatch, ScrollsAndSorts) {
  for (int minutes = 20; minutes < 50; ++minutes) {
    peer_.DeclareQueue("retry." + std::to_string(minutes * 60'000));
  }
  TerminalRun run(Command());
  ASSERT_TRUE(run.Shows("1-20 of 32"));
  // ncurses writes only the characters that change: here "1-20", "2-21", "13-32", "1-20", ….
  run.Press("kj");
  ASSERT_TRUE(run.Shows("2-21"));
  run.Press("G");
  ASSERT_TRUE(run.Shows("13-32"));
  run.Press("j\x1b[5~");  // page up
  ASSERT_TRUE(run.Shows("-20"));
  run.Press("\x1b[6~");  // page down
  ASSERT_TRUE(run.Shows("3-32"));
  run.Press("g");
  ASSERT_TRUE(run.Shows("-20"));
  peer_.Publish("", "retry.2940000", "a message");
  for (const char* order : {"waiting", "next", "in/s", "ttl"}) {
    run.Press("s");
    ASSERT_TRUE(run.Shows(order));
  }
  run.Press("q");
  EXPECT_EQ(run.Wait(), 0);
}

TEST_F(CommandWatch, FitsTheSmallestTerminal) {
  TerminalRun run(Command());
  ASSERT_TRUE(run.Shows("q quit"));
  for (const int rows : {1, 2, 3}) {
    run.Resize(100, static_cast<unsigned short>(rows));
    run.Press("p");
    ASSERT_TRUE(run.Shows(rows % 2 == 1 ? "paused" : "every"));
  }
  run.Resize(1, 1);
  run.Press("h");
  run.Press("x");
  run.Resize(100, 24);
  run.Press("p");
  ASSERT_TRUE(run.Shows("every"));
  run.Press("q");
  EXPECT_EQ(run.Wait(), 0);
  ExpectLeft(run);
}

TEST_F(CommandWatch, RestoresTheTerminalAfterEachSignal) {
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP}) {
    TerminalRun run(Command());
    ASSERT_TRUE(run.Shows("q quit"));
    run.Signal(signal);
    EXPECT_EQ(run.Wait(), 0) << signal;
    ExpectLeft(run);
  }
  TerminalRun typed(Command());
  ASSERT_TRUE(typed.Shows("q quit"));
  typed.Press("\x03");
  EXPECT_EQ(typed.Wait(), 0);
  ExpectLeft(typed);
}

TEST_F(CommandWatch, RestoresTheTerminalWhileItIsStopped) {
  std::string line;
  for (const std::string& word : Command()) line += "'" + word + "' ";
  // A shell with job control, as a user who types ^Z has.
  TerminalRun run({"/bin/sh", "-c", "set -m; " + line + "; echo stopped; read go; fg; echo ended"});
  ASSERT_TRUE(run.Shows("q quit"));
  run.Press("\x1a");
  ASSERT_TRUE(run.Shows(kFirstScreen));
  ASSERT_TRUE(run.Shows("stopped"));
  EXPECT_TRUE(run.IsAsItWas());
  run.Press("go\n");
  ASSERT_TRUE(run.Shows("q quit"));
  run.Press("q");
  ASSERT_TRUE(run.Shows("ended"));
  EXPECT_EQ(run.Wait(), 0);
  ExpectLeft(run);
}

TEST_F(CommandWatch, ExitsOnAStoppedTerminal) {
  TerminalRun run(Command());
  ASSERT_TRUE(run.Shows("q quit"));
  run.Press("\x13");  // ^S
  run.Resize(90, 24);
  run.Resize(100, 24);
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_TRUE(run.IsAsItWas());
}

TEST_F(CommandWatch, HasColoursWithoutNoColor) {
  constexpr char kRed[] = "\x1b[31m";  // these queues have no TTL
  TerminalRun coloured(Command());
  ASSERT_TRUE(coloured.Shows("q quit"));
  EXPECT_THAT(coloured.output(), HasSubstr(kRed));
  TerminalRun plain(Command(), {"NO_COLOR=1"});
  ASSERT_TRUE(plain.Shows("q quit"));
  EXPECT_THAT(plain.output(), Not(HasSubstr(kRed)));
}

TEST_F(CommandWatch, WritesTheTableToAPipe) {
  CommandRun run({"queues", "--watch", "--interval", "100ms", "--management", ManagementUrl()},
                 vhost_.Url());
  const auto lines = [&run] {
    const std::string out = run.out();
    return std::count(out.begin(), out.end(), '\n');
  };
  ASSERT_TRUE(run.Until([&] { return lines() >= 6; }));
  EXPECT_THAT(run.out(), HasSubstr("\nretry.600000 "));
  EXPECT_THAT(run.out(), Not(HasSubstr("\x1b")));
  ASSERT_TRUE(run.Stop());
}

TEST_F(CommandWatch, WritesOneObjectPerLine) {
  CommandRun run(
      {"queues", "--watch", "--interval", "100ms", "--json", "--management", ManagementUrl()},
      vhost_.Url());
  ASSERT_TRUE(run.Until([&] {
    const std::string out = run.out();
    return std::count(out.begin(), out.end(), '\n') >= 3;
  }));
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait(), 0);
  std::istringstream out(run.out());
  for (std::string line; std::getline(out, line);) {
    EXPECT_EQ(nlohmann::json::parse(line).at("totals").at("queues"), 2) << line;
  }
}

TEST_F(CommandWatch, ReportsALastingErrorOnce) {
  auto vhost = std::make_unique<TestVhost>();
  CommandRun run({"queues", "--watch", "--interval", "100ms", "--management", ManagementUrl()},
                 vhost->Url());
  ASSERT_TRUE(run.Until([&run] { return !run.out().empty(); }));
  vhost.reset();
  ASSERT_TRUE(run.Until([&run] { return !run.err().empty(); }));
  absl::SleepFor(absl::Seconds(1));
  const std::string errors = run.err();
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
  EXPECT_TRUE(run.Stop());
}

TEST_F(CommandWatch, ExitsWhenTheReaderIsGone) {
  std::string line;
  for (const std::string& word : Command()) line += "'" + word + "' ";
  CommandRun run({"-c", line + " | head -n 1"}, vhost_.Url(), "", "/bin/sh");
  EXPECT_EQ(run.Wait(), 0);
}

TEST_F(CommandWatch, ExplainsWhyItCannotStart) {
  TerminalRun run({RETRYQ_COMMAND, "queues", "--watch", "--management", "http://127.0.0.1:1"});
  EXPECT_EQ(run.Wait(), 69);
  EXPECT_THAT(run.output(), HasSubstr("Connection refused"));
  EXPECT_THAT(run.output(), Not(HasSubstr(kOtherScreen)));
}

}  // namespace retryq::testing::command_watch_test
