// In which order a connection tries its endpoints.

#include "retryq/amqp/connection.h"
#include "support/test.h"

namespace retryq::amqp::connection_rounds_test {

// Twelve addresses at none of which anybody listens: an order that comes twice by chance is one in
// 479 million.
class ConnectionRounds : public ::testing::Test, public ConnectionListener {
 protected:
  void SetUp() override {
    options_.endpoints.clear();
    for (int i = 1; i <= 12; ++i) {
      options_.endpoints.push_back({.host = absl::StrCat("127.0.0.", i), .port = 1});
      in_order_.push_back(Describe(options_.endpoints.back()));
    }
    options_.reconnect_initial = absl::Milliseconds(1);
  }

  // The addresses of each of the first rounds, as they were tried.
  std::vector<std::vector<std::string>> Rounds(std::size_t count) {
    count_ = count;
    Connection connection(loop_, options_, this);
    const auto too_late = loop_.After(absl::Seconds(20), [this] { loop_.Stop(); });
    EXPECT_EQ(loop_.Run(), absl::OkStatus());
    if (rounds_.size() < count) throw std::runtime_error("the rounds take too long");
    return rounds_;
  }

  void OnOpen() override {}
  void OnLost(const absl::Status& why) override {
    std::vector<std::pair<std::size_t, std::string>> found;
    for (const std::string& endpoint : in_order_) {
      found.emplace_back(why.message().find(absl::StrCat(endpoint, ":")), endpoint);
    }
    std::sort(found.begin(), found.end());
    std::vector<std::string>& round = rounds_.emplace_back();
    for (auto& [at, endpoint] : found) round.push_back(std::move(endpoint));
    if (rounds_.size() == count_) loop_.Stop();
  }

  EventLoop loop_;
  ConnectionOptions options_;
  std::vector<std::string> in_order_;
  std::size_t count_ = 0;
  std::vector<std::vector<std::string>> rounds_;
};

TEST_F(ConnectionRounds, ShuffleTheEndpoints) {
  const auto rounds = Rounds(2);
  EXPECT_NE(rounds[0], in_order_);
  EXPECT_NE(rounds[1], rounds[0]);
  for (const auto& round : rounds) {
    EXPECT_TRUE(std::is_permutation(round.begin(), round.end(), in_order_.begin()));
  }
}

TEST_F(ConnectionRounds, KeepTheOrderOfEndpointsIfShufflingIsOff) {
  options_.shuffle_endpoints = false;
  EXPECT_THAT(Rounds(2), ::testing::Each(in_order_));
}

}  // namespace retryq::amqp::connection_rounds_test
