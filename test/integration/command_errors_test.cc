// The errors of the command and their exit codes. command_answers_test.cc tests refusals of the
// broker.

#include <unistd.h>

#include <csignal>
#include <list>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "integration/command_run.h"
#include "retryq/event_loop.h"
#include "support/canned_server.h"
#include "support/test.h"

namespace retryq::testing::command_errors_test {

class CommandErrors : public CommandTest {
 protected:
  End Work(const Arguments& flags, const std::string& url) {
    Arguments all = {"work"};
    all.insert(all.end(), flags.begin(), flags.end());
    all.insert(all.end(), {"--", "true"});
    return RunToEnd(all, url);
  }
};

// Nobody listens there.
constexpr char kDeadBroker[] = "amqp://127.0.0.1:1/";

TEST_F(CommandErrors, SendReportsThatItWaitsForAnUnreachableBroker) {
  CommandRun run({"send", "--queue", "orders", "--wait", "1m", "body"}, kDeadBroker);
  ASSERT_TRUE(run.Until([&] { return !run.err().empty(); }));
  EXPECT_THAT(run.err(), AllOf(HasSubstr("retryq: waiting for "),
                               HasSubstr("127.0.0.1:1: Connection refused")));
}

TEST_F(CommandErrors, TooFewOpenFilesExitWith71) {
  CommandRun run({"-c", "ulimit -n 20; exec " RETRYQ_COMMAND " work --queue orders -- cat"},
                 vhost_.Url(), "", "/bin/sh");
  EXPECT_EQ(run.Wait(), 71) << run.err();
  EXPECT_THAT(run.err(), HasSubstr("remedy: raise the limit (ulimit -n"));
}

TEST_F(CommandErrors, AWorkerThatCannotStartProcessesPauses) {
  // The limit does not hold for root. The other user may still read files that only root may read,
  // such as the build directory. LeakSanitizer would need a thread.
  const std::string user = ::getuid() == 0
                               ? "setpriv --reuid=47110 --clear-groups "
                                 "--inh-caps=-all,+dac_override --ambient-caps=-all,+dac_override "
                               : "";
  const std::string line = "ASAN_OPTIONS=detect_leaks=0 exec " + user +
                           "prlimit --nproc=1 " RETRYQ_COMMAND
                           " work --json --lines --queue orders -- cat";
  CommandRun run({"-c", line}, vhost_.Url(), "", "/bin/sh");
  ASSERT_TRUE(run.Says("paused"));
  EXPECT_THAT(run.events("paused").at(0).at("error").get<std::string>(),
              HasSubstr("cannot be started: Resource temporarily unavailable"));
  EXPECT_TRUE(run.Stop());
}

TEST_F(CommandErrors, AnUnwritableResultExitsWith74) {
  for (const char* command :
       {"--help", "--version", "plan", "plan --json", "queues", "queues --json",
        "queues --watch --json", "doctor", "doctor --json", "completions bash"}) {
    const std::string line =
        std::string("exec " RETRYQ_COMMAND " ") + command +
        (command[0] == 'q' || command[0] == 'd' ? " --management " + ManagementUrl()
                                                : std::string()) +
        " >/dev/full";
    CommandRun run({"-c", line}, vhost_.Url(), "", "/bin/sh");
    EXPECT_EQ(run.Wait(absl::Seconds(120)), 74) << line << ": " << run.err();
    EXPECT_THAT(run.err(), HasSubstr("cannot write to stdout: No space left on device")) << line;
  }
}

TEST_F(CommandErrors, AClosedStdoutExitsWith74) {
  for (const char* command : {"--version", "plan", "queues --watch --json", "doctor --json"}) {
    CommandRun run({"-c", absl::StrCat("exec " RETRYQ_COMMAND " ", command,
                                       command[0] == 'q' || command[0] == 'd'
                                           ? absl::StrCat(" --management ", ManagementUrl())
                                           : "",
                                       " >&-")},
                   vhost_.Url(), "", "/bin/sh");
    EXPECT_EQ(run.Wait(absl::Seconds(120)), 74) << command << ": " << run.err();
    EXPECT_THAT(run.err(), HasSubstr("cannot write to stdout: Bad file descriptor")) << command;
  }
}

TEST_F(CommandErrors, AClosedStdinIsNotAnEmptyBody) {
  CommandRun run({"-c", "exec " RETRYQ_COMMAND " send --queue orders <&-"}, vhost_.Url(), "",
                 "/bin/sh");
  EXPECT_EQ(run.Wait(), 69);
  EXPECT_THAT(run.err(), HasSubstr("cannot read: Bad file descriptor"));
  EXPECT_EQ(peer_.Count("orders"), 0U);
}

TEST_F(CommandErrors, ASignalWhileACommandConnectsExitsWith75AndOneLine) {
  EventLoop loop;  // does not run, so that the server never replies
  const CannedServer silent(loop, "");
  const std::string at = absl::StrCat("guest:guest@127.0.0.1:", silent.port());
  std::list<CommandRun> runs;
  for (Arguments command : {Arguments{"declare", "--queue", "q"},
                            {"send", "--queue", "q", "body"},
                            {"doctor", "--management", "http://" + at},
                            {"queues", "--management", "http://" + at},
                            {"parked", "list", "--queue", "q", "--management", "http://" + at},
                            {"waiting", "list", "--queue", "q", "--management", "http://" + at}}) {
    runs.emplace_back(command, "amqp://" + at);
  }
  for (CommandRun& run : runs) {
    EXPECT_TRUE(run.Until([&run] { return absl::StrContains(run.err(), "retryq: waiting for "); }));
    run.Signal(SIGTERM);
    EXPECT_EQ(run.Wait(), 75) << run.Story();
    EXPECT_THAT(run.err(), HasSubstr(": stopped by a signal before the end\n"));
  }
}

TEST_F(CommandErrors, AnUnwritableImageExitsWith74AndAMissingDirectoryWith64) {
  const std::string outage = "outage=1m,rate=1/s";
  CommandRun full({"plan", "--simulate", outage, "--svg", "/dev/full"}, vhost_.Url());
  EXPECT_EQ(full.Wait(), 74) << full.err();
  EXPECT_THAT(full.err(), HasSubstr("No space left on device"));
  CommandRun nowhere({"plan", "--simulate", outage, "--svg", "/no/such/place.svg"}, vhost_.Url());
  EXPECT_EQ(nowhere.Wait(), 64) << nowhere.err();
}

TEST_F(CommandErrors, InvalidOptionsExitWith64AndOneLineEach) {
  const End end = Work({"--queue", "orders", "--base", "soon", "--jobs", "0"}, vhost_.Url());
  EXPECT_EQ(end.code, 64);
  EXPECT_EQ(end.err,
            "retryq work: --base 'soon': write a duration such as 500ms, 30s, 10m, 1h30m or 1d\n"
            "retryq work: --jobs '0': write a whole number from 1 to 1024\n");
  EXPECT_EQ(end.out, "");
}

TEST_F(CommandErrors, AnUnknownCommandExitsWith64) {
  EXPECT_EQ(RunToEnd({}, "").code, 64);
  const End end = RunToEnd({"replay"}, "");
  EXPECT_EQ(end.code, 64);
  EXPECT_THAT(end.err, ::testing::MatchesRegex("retryq: unknown command \"replay\"; commands: "
                                               "work, plan, [a-z, ]+; see retryq --help\n"));
  EXPECT_THAT(RunToEnd({"wrok"}, "").err,
              HasSubstr("unknown command \"wrok\"; did you mean work? Commands: work, plan, "));
}

TEST_F(CommandErrors, HelpAndVersionSucceed) {
  for (const Arguments& arguments :
       {Arguments{"--help"}, Arguments{"work", "--help"}, Arguments{"send", "--help"},
        Arguments{"help"}, Arguments{"help", "work"}, Arguments{"queues", "--help"},
        Arguments{"doctor", "--help"}, Arguments{"-h"}}) {
    const End end = RunToEnd(arguments, "");
    EXPECT_EQ(end.code, 0);
    EXPECT_THAT(end.out, AllOf(HasSubstr("Usage: retryq"), HasSubstr("Example")));
    EXPECT_EQ(end.err, "");
  }
  EXPECT_THAT(RunToEnd({"--version"}, "").out,
              ::testing::MatchesRegex("retryq [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

}  // namespace retryq::testing::command_errors_test
