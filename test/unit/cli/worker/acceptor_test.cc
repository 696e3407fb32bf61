#include "cli/worker/acceptor.h"

#include <event2/event.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "retryq/event_loop.h"
#include "retryq/testing/simulated_time.h"

namespace retryq::cli {
namespace acceptor_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One that accepts as `result_` and `error_` say, with one connection that always waits.
class AcceptorTest : public ::testing::Test {
 protected:
  AcceptorTest() {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(acceptor_->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(peer_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~AcceptorTest() override { ::close(peer_); }

  void TurnLoop(int turns = 1000) {
    for (int turn = 0; turn < turns; ++turn)
      event_base_loop(loop_.base(), EVLOOP_ONCE | EVLOOP_NONBLOCK);
  }

  EventLoop loop_;
  retryq::testing::SimulatedTime time_;
  int result_ = -1;
  int error_ = 0;
  int tries_ = 0;
  int accepted_ = 0;
  std::vector<std::string> troubles_;
  const std::unique_ptr<Acceptor> acceptor_ =
      Acceptor::Listen(loop_.base(), time_, time_, "127.0.0.1", 0,
                       {.accepted = [this](int) { ++accepted_; },
                        .trouble = [this](const std::string& why) { troubles_.push_back(why); }},
                       [this](int) {
                         ++tries_;
                         errno = error_;
                         return result_;
                       })
          .value();
  const int peer_ = ::socket(AF_INET, SOCK_STREAM, 0);
};

TEST_F(AcceptorTest, PausesWhileNothingCanBeAccepted) {
  for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM, EPERM}) {
    error_ = error;
    tries_ = 0;
    TurnLoop();
    EXPECT_EQ(tries_, 1) << error;
    for (int second = 1; second < 60; ++second) {
      time_.Advance(Acceptor::kPause);
      TurnLoop(10);
      EXPECT_EQ(tries_, 1 + second) << error;
    }
    time_.Advance(Acceptor::kPause);
  }
}

TEST_F(AcceptorTest, ReportsTroubleOnceAMinute) {
  error_ = EMFILE;
  for (int second = 0; second < 60; ++second) {
    TurnLoop(10);
    time_.Advance(absl::Seconds(1));
  }
  EXPECT_THAT(troubles_, ElementsAre(HasSubstr("ulimit -n")));
  TurnLoop(10);
  EXPECT_EQ(troubles_.size(), 2U);
}

TEST_F(AcceptorTest, AcceptsAgainWhenItCan) {
  error_ = EMFILE;
  TurnLoop();
  result_ = 1000;
  time_.Advance(Acceptor::kPause);
  TurnLoop(1);
  EXPECT_EQ(accepted_, Acceptor::kMostInATurn);
}

TEST_F(AcceptorTest, PassesOverWhatIsGoneAlready) {
  error_ = ECONNABORTED;
  TurnLoop(1);
  EXPECT_EQ(tries_, Acceptor::kMostInATurn);
  EXPECT_TRUE(troubles_.empty());
}

TEST_F(AcceptorTest, LeavesTimeForOthers) {
  result_ = 1000;
  TurnLoop(1);
  EXPECT_EQ(accepted_, Acceptor::kMostInATurn);
}

}  // namespace acceptor_test
}  // namespace retryq::cli
