#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "cli/text/io.h"
#include "retryq/testing/simulated_time.h"

namespace retryq::cli {
namespace waiting_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class WaitingTest : public ::testing::Test {
 protected:
  testing::SimulatedTime time_;
  std::vector<std::string> said_;
  std::optional<Waiting> waiting_{std::in_place, time_, "the broker",
                                  [this](const std::string& text) { said_.push_back(text); }};
};

TEST(UnreachableRemedy, FitsTheReason) {
  EXPECT_THAT(UnreachableRemedy("cannot connect to h:1: Connection refused; is RabbitMQ running?"),
              HasSubstr("start the broker"));
  for (const auto& [why, remedy] :
       {std::pair("cannot connect to h:1: Too many open files", "raise the limit of open files"),
        std::pair("h:1: its certificate (CN=x) expired on 1 May: renew it", "valid for its host"),
        std::pair("h:1: the server does not speak TLS", "port for TLS"),
        std::pair("cannot resolve host 'h': no", "correct the host name"),
        std::pair("h:1 answers in HTTP and not in AMQP: is it a RabbitMQ?", "AMQP port")}) {
    EXPECT_THAT(UnreachableRemedy(why), AllOf(HasSubstr(remedy), Not(HasSubstr("start the"))));
  }
}

TEST_F(WaitingTest, DoesNotReportAShortWait) {
  time_.Advance(absl::Milliseconds(1900));
  waiting_.reset();
  time_.Advance(absl::Hours(1));
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(WaitingTest, ReportsAfterTwoSecondsAndEveryTenSecondsWithTheLastReason) {
  time_.Advance(absl::Seconds(2));
  EXPECT_THAT(said_, ElementsAre("waiting for the broker: no answer yet"));
  time_.Advance(absl::Seconds(9));
  waiting_->Because("127.0.0.1:1: refused");
  EXPECT_EQ(said_.size(), 1U);
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(said_.back(), "waiting for the broker: 127.0.0.1:1: refused");
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(said_.size(), 8U);
}

TEST_F(WaitingTest, EscapesTheReason) {
  waiting_->Because("\x1b[2J\n");
  time_.Advance(absl::Seconds(2));
  EXPECT_EQ(said_.at(0).find('\n'), std::string::npos);
  EXPECT_EQ(said_.at(0).find('\x1b'), std::string::npos);
}

}  // namespace waiting_test
}  // namespace retryq::cli
