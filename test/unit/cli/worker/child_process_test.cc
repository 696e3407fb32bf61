#include "cli/worker/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/worker/spawn.h"
#include "support/temporary_directory.h"

namespace retryq::cli {
namespace child_process_test {

using ::retryq::testing::TemporaryDirectory;
using End = ChildResult::End;

// ThreadSanitizer adds one of its own to the first that is started.
#ifdef __SANITIZE_THREAD__
constexpr std::size_t kSanitizersThreads = 1;
#else
constexpr std::size_t kSanitizersThreads = 0;
#endif

// Children that run /bin/sh, whose stdout goes to a file and whose stderr goes nowhere.
class ChildRunnerTest : public ::testing::Test {
 protected:
  void SetUp() override { PrepareProcess(); }

  ChildRunner::Options Options() const {
    return {.stdout_fd = stdout_.get(), .kill_grace = absl::Milliseconds(50)};
  }

  static ChildSpec Spec(const std::vector<std::string>& command, std::string_view input,
                        absl::Duration timeout) {
    static const std::vector<std::string> kEnvironment = {"PATH=/bin:/usr/bin", "GREETING=hello"};
    return {.command = command, .environment = kEnvironment, .input = input, .timeout = timeout};
  }

  ChildResult Shell(const std::string& script, std::string_view input = "",
                    absl::Duration timeout = absl::InfiniteDuration()) {
    return runner().Run(Spec({"sh", "-c", script}, input, timeout));
  }

  ChildRunner& runner() {
    if (!runner_) runner_.emplace(Options());
    return *runner_;
  }

  std::string Stdout() const { return directory_.Read("stdout"); }

  static std::size_t OpenDescriptors() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
  }

  static std::size_t Threads() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
  }

  // Waits until there are no more threads: one that has been joined is still listed for a moment.
  static bool ComesToThreads(std::size_t most) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (Threads() > most) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  TemporaryDirectory directory_;
  FileDescriptor stdout_{
      ::open(directory_.File("stdout").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)};
  FileDescriptor null_{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
  std::optional<ChildRunner> runner_;
};

TEST_F(ChildRunnerTest, SaysTheExitCode) {
  const ChildResult result = Shell("exit 3");
  EXPECT_EQ(result.end, End::kExited);
  EXPECT_EQ(result.code, 3);
}

TEST_F(ChildRunnerTest, SaysTheSignal) {
  const ChildResult result = Shell("kill -SEGV $$");
  EXPECT_EQ(result.end, End::kSignaled);
  EXPECT_EQ(result.code, SIGSEGV);
}

TEST_F(ChildRunnerTest, GivesInputAndEnvironmentAndTakesStdout) {
  EXPECT_EQ(Shell("cat; echo \" $GREETING $RETRYQ_NONE\"", "body").code, 0);
  EXPECT_EQ(Stdout(), "body hello \n");
}

TEST_F(ChildRunnerTest, FeedsMoreThanAPipeHoldsWhileItListens) {
  // One child that reads all while it writes as much to stderr.
  const std::string body(1 << 20, 'x');
  const ChildResult result = Shell("tee /dev/stderr | wc -c; echo end >&2", body);
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(Stdout(), std::to_string(body.size()) + "\n");
  EXPECT_EQ(result.errors.size(), ChildRunner::kErrorTail);
  EXPECT_TRUE(result.errors.ends_with("xxxend\n"));
}

TEST_F(ChildRunnerTest, DoesNotMindAChildThatReadsNothing) {
  EXPECT_EQ(Shell("exit 0", std::string(1 << 20, 'x')).end, End::kExited);
  EXPECT_EQ(Shell("exec <&-; exit 4", std::string(1 << 20, 'x')).code, 4);
}

TEST_F(ChildRunnerTest, PassesStderrOn) {
  const FileDescriptor passed_on(
      ::open(directory_.File("stderr").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  Outlet errors({.fd = passed_on.get()});
  ChildRunner runner({.stdout_fd = stdout_.get(), .errors = &errors});
  const std::vector<std::string> command = {"sh", "-c", "echo first >&2; printf last >&2"};
  EXPECT_EQ(runner.Run(Spec(command, "", absl::InfiniteDuration())).errors, "first\nlast");
  EXPECT_TRUE(errors.Flush(absl::Minutes(1)));
  EXPECT_EQ(directory_.Read("stderr"), "first\nlast");
}

TEST_F(ChildRunnerTest, EndsAChildPastItsTimeoutWhileNobodyReadsItsStderr) {
  Pipe unread;
  ASSERT_EQ(OpenPipe(&unread), 0);
  Outlet errors({.fd = unread.write_end.get(), .most = 1000});
  ChildRunner runner({.errors = &errors, .kill_grace = absl::Milliseconds(50)});
  const std::vector<std::string> command = {"sh", "-c",
                                            "head -c 1000000 /dev/zero >&2; exec sleep 600"};
  EXPECT_EQ(runner.Run(Spec(command, "", absl::Milliseconds(500))).end, End::kTimedOut);
}

TEST_F(ChildRunnerTest, AChildDoesNotOutliveWhoStartedIt) {
  Spawned child;
  std::thread([&] {
    EXPECT_EQ(Spawn({"sh", "-c", "trap '' TERM HUP INT; exec sleep 600"}, {"PATH=/bin:/usr/bin"},
                    null_.get(), null_.get(), null_.get(), &child),
              0);
  }).join();
  const int status = WaitFor(child.pid);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_F(ChildRunnerTest, SaysWhyAProgramCannotBeStarted) {
  const ChildResult missing = runner().Run(Spec({"/no/such/program"}, "", absl::Seconds(1)));
  EXPECT_EQ(missing.end, End::kNotStarted);
  EXPECT_EQ(missing.code, ENOENT);
  const std::string plain = directory_.Write("plain", "text");
  EXPECT_EQ(runner().Run(Spec({plain}, "", absl::Seconds(1))).code, EACCES);
}

TEST_F(ChildRunnerTest, EndsAChildPastItsTimeout) {
  const ChildResult result = Shell("echo slow >&2; sleep 600", "", absl::Milliseconds(50));
  EXPECT_EQ(result.end, End::kTimedOut);
  EXPECT_EQ(result.errors, "slow\n");
}

TEST_F(ChildRunnerTest, CountsATimeoutEvenIfTheChildThenExitsWithZero) {
  EXPECT_EQ(Shell("trap 'exit 0' TERM; sleep 600 & wait", "", absl::Milliseconds(50)).end,
            End::kTimedOut);
}

TEST_F(ChildRunnerTest, KillsAGroupThatIgnoresTheRequest) {
  // The sleeper holds this pipe's write end, which is otherwise closed: its end is the sleeper's.
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const FileDescriptor read_end(pipe[0]);
  FileDescriptor write_end(pipe[1]);
  ChildRunner runner({.stdout_fd = write_end.get(), .kill_grace = absl::Milliseconds(50)});
  const std::vector<std::string> command = {"sh", "-c",
                                            "trap '' TERM; sleep 600 & wait; sleep 600"};
  EXPECT_EQ(runner.Run(Spec(command, "", absl::Milliseconds(50))).end, End::kTimedOut);
  write_end.Close();
  char byte;
  EXPECT_EQ(::read(read_end.get(), &byte, 1), 0);
}

TEST_F(ChildRunnerTest, DoesNotWaitForWhatAChildLeavesInTheBackground) {
  // It holds stderr open; with a wait for that this would time out.
  const ChildResult result = Shell("sleep 600 & echo $! >&2", "", absl::Minutes(1));
  EXPECT_EQ(result.end, End::kExited);
  const pid_t left = static_cast<pid_t>(std::stol(result.errors));
  EXPECT_EQ(::kill(left, SIGKILL), 0);
}

TEST_F(ChildRunnerTest, EndAllEndsChildrenNowAndLater) {
  ChildRunner& runner = this->runner();
  std::thread ender([this, &runner] {
    while (Stdout().empty()) std::this_thread::yield();
    runner.EndAll();
  });
  EXPECT_EQ(Shell("echo started; sleep 600").end, End::kCancelled);
  ender.join();
  EXPECT_EQ(Shell("echo again").end, End::kCancelled);
  EXPECT_EQ(Stdout(), "started\n");
  EXPECT_TRUE(runner.WaitForEndAll(absl::InfiniteDuration()));
}

TEST_F(ChildRunnerTest, WaitForEndAllIsFalseAfterItsTime) {
  EXPECT_FALSE(runner().WaitForEndAll(absl::Milliseconds(1)));
}

TEST_F(ChildRunnerTest, GivesEachChildAGroupOfItsOwn) {
  // The fifth field is the group.
  EXPECT_EQ(Shell("read -r _ _ _ _ group _ < /proc/self/stat; test $$ = $group").code, 0);
}

TEST_F(ChildRunnerTest, GivesChildrenTheirSignalsBack) {
  sigset_t blocked, former;
  sigfillset(&blocked);
  pthread_sigmask(SIG_BLOCK, &blocked, &former);
  const ChildResult result = Shell("grep '^SigBlk' /proc/self/status; kill -PIPE $$");
  pthread_sigmask(SIG_SETMASK, &former, nullptr);
  EXPECT_EQ(Stdout(), "SigBlk:\t0000000000000000\n");
  EXPECT_EQ(result.end, End::kSignaled);
  EXPECT_EQ(result.code, SIGPIPE);
}

TEST_F(ChildRunnerTest, GivesChildrenNoOtherDescriptors) {
  const int inheritable = ::open("/dev/null", O_RDONLY);
  EXPECT_EQ(Shell("for fd in /proc/$$/fd/*; do test -e $fd && printf \"${fd##*/} \"; done").end,
            End::kExited);
  ::close(inheritable);
  EXPECT_EQ(Stdout(), "0 1 2 ");
}

TEST_F(ChildRunnerTest, ThousandsOfChildrenLeaveNothingBehind) {
  Shell("exit 0");
  const std::size_t descriptors = OpenDescriptors();
  const std::size_t threads = Threads();
  std::atomic<int> left = 2000;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&] {
      const std::vector<std::string> command = {"sh", "-c",
                                                "read line; echo \"$line\" >&2; exit 7"};
      while (left.fetch_sub(1) > 0) {
        const ChildResult result = runner().Run(Spec(command, "line\n", absl::Minutes(1)));
        if (result.code != 7 || result.errors != "line\n") ++wrong;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(OpenDescriptors(), descriptors);
  EXPECT_TRUE(ComesToThreads(threads + kSanitizersThreads))
      << Threads() << " and " << threads << " before";
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace child_process_test
}  // namespace retryq::cli
