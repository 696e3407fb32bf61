// `retryq doctor`: policies of work and parked queues, which are no longer reported after the
// remedy.

#include "integration/doctor_run.h"
#include "support/test.h"

namespace retryq::testing::command_doctor_policies_test {

class CommandDoctorPolicies : public CommandDoctor {};

// The management API shows the policies of a queue with its statistics, seconds later.
TEST_F(CommandDoctorPolicies, WaitsForThePoliciesOfANewQueue) {
  SetPolicy("policies", "^new$", {{"expires", 1'800'000}});
  peer_.DeclareQueue("new", {{"x-queue-type", "quorum"}});
  EXPECT_THAT(Wrong(Doctor({"--queue", "new", "--queue-type", "quorum"}), "work queue"),
              HasSubstr("policy 'override' sets expires 1800000"));
}

TEST_F(CommandDoctorPolicies, ReportsPoliciesOfTheWorkQueueAndTheParkedQueue) {
  // The parked queue does not exist yet.
  SetPolicy("policies", "^o", {{"message-ttl", 3'600'000}, {"expires", 3'600'000}});
  peer_.DeclareQueue("others");
  AwaitPolicy("orders", "message-ttl");
  const Diagnosis under = Doctor({"--queue", "orders"});
  EXPECT_EQ(under.code, 69) << under.story;
  for (const char* check : {"work queue", "parked queue"}) {
    EXPECT_THAT(Wrong(under, check), HasSubstr("policy 'override' sets message-ttl 3600000"));
    EXPECT_THAT(Wrong(under, check), HasSubstr("policy 'override' sets expires 3600000"));
  }
  PasteAll(under);
  AwaitPolicy("orders", "message-ttl", false);
  const Diagnosis quiet = Doctor({"--queue", "orders"});
  EXPECT_EQ(Wrong(quiet), "");
  AwaitPolicy("others", "message-ttl");  // still
}

TEST_F(CommandDoctorPolicies, ReportsAPolicyThatDropsTheHeadBeforeItRefuses) {
  peer_.DeclareQueue("refuses", {{"x-overflow", "reject-publish"}});
  peer_.DeclareQueue("replicated", {{"x-queue-type", "quorum"}});
  SetPolicy("policies", "^(orders|refuses|replicated)$",
            {{"max-length", 1000}, {"overflow", "reject-publish"}});
  for (const char* queue : {"orders", "refuses", "replicated"}) AwaitPolicy(queue, "overflow");
  const auto wrong_with = [this](const std::string& queue) {
    return Wrong(Doctor({"--queue", queue, "--queue-type", "quorum"}), "work queue");
  };
  EXPECT_THAT(wrong_with("orders"), HasSubstr("RabbitMQ first drops its oldest messages"));
  EXPECT_EQ(wrong_with("refuses"), "");
  EXPECT_EQ(wrong_with("replicated"), "");
}

TEST_F(CommandDoctorPolicies, ItsRemediesKeepTheOtherSettingsOfAPolicy) {
  peer_.DeclareExchange("dlx", "fanout");
  peer_.DeclareQueue("dead letters");
  peer_.Bind("dead letters", "dlx", "");
  SetPolicy("policies", "^orders$", {{"max-length", 1000}, {"dead-letter-exchange", "dlx"}});
  SetPolicy("operator-policies", "^orders$", Json::object({{"message-ttl", 3'600'000}}));
  AwaitPolicy("orders", "max-length");
  AwaitPolicy("orders", "message-ttl");
  const Diagnosis under = Doctor({"--queue", "orders"});
  EXPECT_EQ(under.code, 0) << under.story;  // they go to the queue's own dead-letter exchange
  EXPECT_EQ(under.Of("work queue", "warning").size(), 2U) << under.story;
  PasteAll(under);
  AwaitPolicy("orders", "max-length", false);
  AwaitPolicy("orders", "message-ttl", false);
  EXPECT_EQ(Wrong(Doctor({"--queue", "orders"})), "");
  AwaitPolicy("orders", "dead-letter-exchange");
}

TEST_F(CommandDoctorPolicies, ReportsDelayedRetryFrom43) {
  if (!IsAtLeast(4, 3)) GTEST_SKIP() << "RabbitMQ 4.3 and newer";
  peer_.DeclareQueue("quorum", {{"x-queue-type", "quorum"}});
  SetPolicy("policies", "^quorum$", {{"delayed-retry-type", "all"}, {"delayed-retry-min", 1000}});
  AwaitPolicy("quorum", "delayed-retry-type");
  const Arguments flags = {"--queue", "quorum", "--queue-type", "quorum"};
  const Diagnosis delayed = Doctor(flags);
  EXPECT_THAT(Wrong(delayed), HasSubstr("sets delayed-retry-type all"));
  PasteAll(delayed);
  AwaitPolicy("quorum", "delayed-retry-type", false);
  EXPECT_EQ(Wrong(Doctor(flags)), "");
}

}  // namespace retryq::testing::command_doctor_policies_test
