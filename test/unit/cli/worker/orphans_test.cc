#include "cli/worker/orphans.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <functional>
#include <memory>
#include <string>

#include "cli/text/io.h"
#include "cli/worker/child_process.h"
#include "cli/worker/spawn.h"

namespace retryq::cli {
namespace orphans_test {

// This process adopts what its children leave behind, as PID 1 does.
class OrphansTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PrepareProcess();
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  }
  void TearDown() override { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }

  ChildResult Run(const std::string& script) {
    const std::vector<std::string> command = {"sh", "-c", script};
    const std::vector<std::string> environment = {"PATH=/bin:/usr/bin"};
    return children_.Run({.command = command, .environment = environment});
  }

  static bool HasChildren() {
    siginfo_t ended = {};
    return ::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0;
  }

  // Whether that comes true within a minute.
  bool Until(const std::function<bool()>& condition) {
    const absl::Duration end = loop_.clock().SinceBoot() + absl::Minutes(1);
    std::unique_ptr<Timer> timer;
    const std::function<void()> look = [&] {
      if (condition() || loop_.clock().SinceBoot() > end) return loop_.Stop();
      timer = loop_.After(absl::Milliseconds(1), look);
    };
    timer = loop_.After(absl::ZeroDuration(), look);
    EXPECT_TRUE(loop_.Run().ok());
    return condition();
  }

  EventLoop loop_;
  FileDescriptor null_{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
  ChildRunner children_{{.stdout_fd = null_.get()}};
};

TEST_F(OrphansTest, AreReapedWhenTheyEnd) {
  const OrphanReaper reaper(loop_);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Run("sleep 0.05 & setsid sleep 0.05 & exit 7").code, 7);
  }
  EXPECT_TRUE(HasChildren());
  EXPECT_TRUE(Until([] { return !HasChildren(); }));
}

TEST_F(OrphansTest, AreReapedThatHadEndedBefore) {
  EXPECT_EQ(Run("sleep 0 & setsid sleep 0 & wait; sleep 0 & exit 0").code, 0);
  const OrphanReaper reaper(loop_);
  EXPECT_TRUE(Until([] { return !HasChildren(); }));
}

// Its status is the owner's, who waits for it.
TEST_F(OrphansTest, ChildrenAreNotTakenForThem) {
  const OrphanReaper reaper(loop_);
  Pipe pipe;
  ASSERT_EQ(OpenPipe(&pipe), 0);
  Spawned child;
  ASSERT_EQ(Spawn({"sh", "-c", "sleep 0.01 & exit 5"}, {"PATH=/bin:/usr/bin"}, pipe.read_end.get(),
                  null_.get(), null_.get(), &child),
            0);
  bool turned = false;
  const auto timer = loop_.After(absl::Milliseconds(200), [&] { turned = true; });
  ASSERT_TRUE(Until([&] { return turned; }));
  const int status = WaitFor(child.pid);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 5);
  EXPECT_TRUE(Until([] { return !HasChildren(); }));
}

}  // namespace orphans_test
}  // namespace retryq::cli
