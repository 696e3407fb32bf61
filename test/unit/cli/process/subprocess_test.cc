#include "cli/process/subprocess.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>

#include "support/temporary_directory.h"
#include "support/test.h"
#include "unit/amqp/run_until.h"

namespace retryq::cli::subprocess_test {

using ::retryq::testing::TemporaryDirectory;

// Programs that run /bin/sh, whose stdout goes to a file.
class SubprocessTest : public ::testing::Test {
 protected:
  void SetUp() override { PrepareProcess(); }

  Subprocess::Spec Spec(const std::string& script, std::string_view input = "",
                        absl::Duration timeout = absl::InfiniteDuration()) const {
    return {.command = {"sh", "-c", script},
            .variables = {"PATH=/bin:/usr/bin", "GREETING=hello"},
            .input = input,
            .stdout_fd = stdout_.get(),
            .timeout = timeout,
            .kill_grace = absl::Milliseconds(50)};
  }

  ProcessEnd Run(const Subprocess::Spec& spec) {
    std::optional<ProcessEnd> ended;
    Subprocess process(loop_, {.ended = [&](ProcessEnd end) { ended = std::move(end); }});
    if (const int error = process.Start(spec)) return {.start_error = error};
    Until([&] { return ended.has_value(); });
    return *ended;
  }
  ProcessEnd Shell(const std::string& script, std::string_view input = "",
                   absl::Duration timeout = absl::InfiniteDuration()) {
    return Run(Spec(script, input, timeout));
  }

  void Until(const std::function<bool()>& condition) { amqp::RunUntil(loop_, condition); }

  std::string Stdout() const { return directory_.Read("stdout"); }

  static bool HasChildren() {
    siginfo_t ended = {};
    return ::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0;
  }

  TemporaryDirectory directory_;
  FileDescriptor stdout_{
      ::open(directory_.File("stdout").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)};
  EventLoop loop_;
};

TEST_F(SubprocessTest, WritesMoreThanAPipeHoldsWhileItReads) {
  // The program writes to stderr as much as it reads.
  const std::string body(1 << 20, 'x');
  const ProcessEnd end = Shell("tee /dev/stderr | wc -c; echo end >&2", body);
  EXPECT_EQ(end.exit_status(), 0);
  EXPECT_EQ(Stdout(), std::to_string(body.size()) + "\n");
  EXPECT_EQ(end.errors.size(), Subprocess::kErrorTail);
  EXPECT_TRUE(end.errors.ends_with("xxxend\n"));
}

TEST_F(SubprocessTest, AcceptsAProgramThatDoesNotReadItsInput) {
  EXPECT_EQ(Shell("exit 0", std::string(1 << 20, 'x')).exit_status(), 0);
  EXPECT_EQ(Shell("exec <&-; exit 4", std::string(1 << 20, 'x')).exit_status(), 4);
}

TEST_F(SubprocessTest, GivesItsVariablesPrecedenceOverInheritedOnes) {
  ::setenv("RETRYQ_TEST_INHERITED", "kept", 1);
  ::setenv("GREETING", "of an outer program", 1);
  EXPECT_EQ(Shell("env | grep -E '^(GREETING|RETRYQ_TEST_INHERITED)=' | sort").exit_status(), 0);
  ::unsetenv("GREETING");
  ::unsetenv("RETRYQ_TEST_INHERITED");
  EXPECT_EQ(Stdout(), "GREETING=hello\nRETRYQ_TEST_INHERITED=kept\n");
}

TEST_F(SubprocessTest, DoesNotWaitForProcessesInTheBackground) {
  // The sleeper has stderr open.
  const ProcessEnd end = Shell("sleep 600 & echo $! >&2", "", absl::Minutes(1));
  EXPECT_EQ(end.exit_status(), 0);
  EXPECT_EQ(::kill(static_cast<pid_t>(std::stol(end.errors)), SIGKILL), 0);
}

TEST_F(SubprocessTest, HasItsOwnGroupAndDefaultSignalsAndNoOtherDescriptors) {
  // The fifth field is the group.
  EXPECT_EQ(Shell("read -r _ _ _ _ group _ < /proc/self/stat; test $$ = $group").exit_status(), 0);
  const int inheritable = ::open("/dev/null", O_RDONLY);
  sigset_t blocked, former;
  sigfillset(&blocked);
  pthread_sigmask(SIG_BLOCK, &blocked, &former);
  Shell(
      "grep '^SigBlk' /proc/self/status; "
      "for fd in /proc/$$/fd/*; do test -e $fd && printf \"${fd##*/} \"; done");
  pthread_sigmask(SIG_SETMASK, &former, nullptr);
  ::close(inheritable);
  EXPECT_EQ(Stdout(), "SigBlk:\t0000000000000000\n0 1 2 ");
  EXPECT_EQ(WTERMSIG(Shell("kill -PIPE $$").status), SIGPIPE);
}

TEST_F(SubprocessTest, OrphansAreReapedButNotPrograms) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  // Some orphans have ended before.
  EXPECT_EQ(Shell("sleep 0 & setsid sleep 0 & wait; sleep 0 & exit 0").exit_status(), 0);
  {
    const OrphanReaper reaper(loop_);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(Shell("sleep 0.05 & setsid sleep 0.05 & exit 7").exit_status(), 7);
    }
    EXPECT_TRUE(HasChildren());
    Until([] { return !HasChildren(); });
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST(CheckExecutable, FindsProgramsAsExecDoes) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(CheckExecutable("sh").ok());
  EXPECT_TRUE(CheckExecutable(directory.Write("program", "#!/bin/sh", /*executable=*/true)).ok());
  EXPECT_EQ(CheckExecutable("retryq-no-such-program").message(),
            "there is no program 'retryq-no-such-program' in PATH: install it, or give its path");
  EXPECT_EQ(CheckExecutable(directory.File("missing")).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(CheckExecutable(directory.Write("plain", "text")).message(),
            "'" + directory.File("plain") + "' is not executable: chmod +x it");
  EXPECT_FALSE(CheckExecutable("/tmp").ok());
  EXPECT_FALSE(CheckExecutable("").ok());
}

}  // namespace retryq::cli::subprocess_test
