// The behaviour of a node after another node of the cluster has gone.

#include "facts/private_broker_facts_test.h"
#include "retryq/amqp/connection_options.h"
#include "support/broker_node.h"
#include "support/test.h"

namespace retryq::testing::cluster_test {

class ClusterFacts : public PrivateBrokerFacts {
 protected:
  void SetUp() override {
    PrivateBrokerFacts::SetUp();
    if (!broker_) return;
    neighbour_.emplace(BrokerNode::Options{.arguments = {"--join", broker_->node().directory()}});
  }
  // It leaves before the node that it joined.
  std::optional<BrokerNode> neighbour_;
};

TEST_F(ClusterFacts, F32DeclaringAClassicQueueOfAStoppedNodeFailsAndFrom4OnlyAfterAMinute) {
  const amqp::Table arguments = Arguments("classic");
  {
    Peer there(neighbour_->url() + vhost_.name());
    there.DeclareQueue("work", arguments);
  }
  ASSERT_EQ(peer_->Count("work"), 0U);
  neighbour_->Kill();
  std::optional<absl::StatusOr<DeclareOk>> answer;
  const absl::Time asked = absl::Now();
  asker_.channel().DeclareQueue({.name = "work", .arguments = arguments},
                                [&](const absl::StatusOr<DeclareOk>& given) { answer = given; });
  ASSERT_TRUE(Eventually([&] { return answer.has_value(); }, absl::Minutes(3)));
  EXPECT_TRUE(absl::IsNotFound(answer->status())) << answer->status();
  const absl::Duration took = absl::Now() - asked;
  if (asker_.IsAtLeast(4)) {
    EXPECT_GT(took, absl::Seconds(30));
  } else {
    EXPECT_LT(took, absl::Seconds(30));
  }
}

}  // namespace retryq::testing::cluster_test
