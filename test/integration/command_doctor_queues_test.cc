// `retryq doctor`: work and parked queues that cannot keep messages, and limits, which are no
// longer reported after the remedy.

#include <fstream>

#include "integration/doctor_run.h"
#include "support/own_broker.h"
#include "support/test.h"

namespace retryq::testing::command_doctor_queues_test {

class CommandDoctorQueues : public CommandDoctor {};

TEST_F(CommandDoctorQueues, ReportsArgumentsOfTheWorkQueueAndTheParkedQueue) {
  const amqp::Table limits = {{"x-message-ttl", std::int64_t{3'600'000}},
                              {"x-expires", std::int64_t{3'600'000}},
                              {"x-max-length", std::int64_t{1000}}};
  for (const char* name : {"limited", "limited.parked"}) peer_.DeclareQueue(name, limits);
  const Diagnosis limited = Doctor({"--queue", "limited"});
  EXPECT_EQ(limited.code, 69) << limited.story;
  for (const char* check : {"work queue", "parked queue"}) {
    EXPECT_EQ(limited.Of(check, "problem").size(), 3U) << limited.story;
    for (const char* key : {"message-ttl 3600000", "expires 3600000", "max-length 1000"}) {
      EXPECT_THAT(Wrong(limited, check), HasSubstr(std::string("sets ") + key));
    }
    // The command in brackets, and then a declare without all that.
    const std::string remedy = limited.Of(check, "problem")[0].at("remedy");
    const std::size_t begin = remedy.find("(rabbitmqctl delete_queue");
    ASSERT_NE(begin, std::string::npos) << remedy;
    Paste(remedy.substr(begin + 1, remedy.find(')') - begin - 1));
  }
  for (const char* name : {"limited", "limited.parked"}) peer_.DeclareQueue(name);
  const Diagnosis quiet = Doctor({"--queue", "limited"});
  EXPECT_EQ(quiet.code, 0) << quiet.story;
  EXPECT_EQ(Wrong(quiet), "");
}

TEST_F(CommandDoctorQueues, ReportsQueuesThatAreNotPermanent) {
  peer_.DeclareQueue("going", {}, {.auto_delete = true});
  EXPECT_THAT(Wrong(Doctor({"--queue", "going"})), HasSubstr("it is auto-delete"));
  if (!IsAtLeast(4, 3)) {  // which takes none
    peer_.DeclareQueue("transient", {}, {.durable = false});
    EXPECT_THAT(Wrong(Doctor({"--queue", "transient"})), HasSubstr("it is not durable"));
  }
  Peer owner(vhost_.Url());
  owner.DeclareQueue("mine", {}, {.exclusive = true});
  EXPECT_THAT(Wrong(Doctor({"--queue", "mine"})), HasSubstr("exclusive"));
  peer_.DeclareQueue("stream", {{"x-queue-type", "stream"}});
  EXPECT_THAT(Wrong(Doctor({"--queue", "orders", "--parked", "stream"})),
              HasSubstr("it is a stream"));
}

TEST_F(CommandDoctorQueues, ReportsQueuesThatClassicDelayQueuesCannotReturnTo) {
  peer_.DeclareQueue("full", {{"x-max-length", std::int64_t{10}},
                              {"x-overflow", "reject-publish"},
                              {"x-queue-type", "classic"}});
  const Diagnosis full = Doctor({"--queue", "full"});
  EXPECT_EQ(full.code, 69) << full.story;
  EXPECT_THAT(Wrong(full), HasSubstr("a full queue refuses messages"));
  EXPECT_EQ(Wrong(Doctor({"--queue", "full", "--queue-type", "quorum"})), "");

  peer_.DeclareQueue("quorum", {{"x-queue-type", "quorum"}});
  const Diagnosis quorum = Doctor({"--queue", "quorum"});
  EXPECT_EQ(quorum.code, 0) << quorum.story;
  EXPECT_THAT(Wrong(quorum), HasSubstr("it is a quorum queue, and the delay queues are classic"));
  EXPECT_EQ(Wrong(Doctor({"--queue", "quorum", "--queue-type", "quorum"})), "");
}

TEST_F(CommandDoctorQueues, ReportsMessagesThatNobodyConsumes) {
  peer_.DeclareQueue("orders.parked");
  Publish("an order");
  peer_.Publish("", "orders.parked", "given up");
  const Diagnosis waiting = Doctor({"--queue", "orders"});
  EXPECT_EQ(waiting.code, 0) << waiting.story;
  EXPECT_THAT(Wrong(waiting), HasSubstr("'orders' has 1 ready messages and no consumer"));
  EXPECT_THAT(Wrong(waiting), HasSubstr("'orders.parked' has 1 parked messages"));
  const CommandRun worker = Work({}, "true");
  ASSERT_TRUE(
      CommandRun::WaitUntil([&] { return peer_.Consumers("orders") == 1; }, absl::Seconds(30)));
  peer_.Purge("orders.parked");
  EXPECT_EQ(Wrong(Doctor({"--queue", "orders"})), "");
}

TEST_F(CommandDoctorQueues, ReportsLimitsThatDropMessagesAsAWorkerDoes) {
  peer_.DeclareQueue("limited",
                     {{"x-queue-type", "quorum"}, {"x-delivery-limit", std::int64_t{3}}});
  peer_.DeclareQueue("leading", {{"x-dead-letter-exchange", "nowhere"}});
  peer_.DeclareExchange("leading nowhere", "fanout");
  peer_.DeclareQueue("led", {{"x-dead-letter-exchange", "leading nowhere"}});
  struct Case {
    Arguments flags;
    const char* said;
  };
  for (const Case& each :
       {Case{{"--queue", "limited"}, "sets delivery-limit 3"},
        Case{{"--queue", "orders", "--on-limit", "reject"}, "it has no dead-letter exchange"},
        Case{{"--queue", "leading", "--on-limit", "reject"}, "'nowhere' does not exist"},
        Case{{"--queue", "led", "--on-limit", "reject"}, "'leading nowhere' routes to no queue"}}) {
    Arguments flags = {"--queue-type", "quorum"};  // whose lease takes no time to examine
    flags.insert(flags.end(), each.flags.begin(), each.flags.end());
    const Diagnosis doctor = Doctor(flags);
    EXPECT_EQ(doctor.code, 69) << doctor.story;
    EXPECT_THAT(Wrong(doctor, "work queue"), HasSubstr(each.said));

    Arguments work = {"work", "--json", "--management", ManagementUrl()};
    work.insert(work.end(), flags.begin(), flags.end());
    work.insert(work.end(), {"--", "true"});
    CommandRun worker(work, vhost_.Url());
    ASSERT_TRUE(worker.Says("at_risk"));
    EXPECT_THAT(worker.events("at_risk")[0].at("error").get<std::string>(), HasSubstr(each.said));
    EXPECT_TRUE(worker.Stop());
  }
  EXPECT_EQ(Wrong(Doctor({"--queue", "limited", "--queue-type", "quorum", "--max-attempts", "2"})),
            "");
}

TEST_F(CommandDoctorQueues, ReportsARandomWorkExchangeFrom4) {
  if (!IsAtLeast(4, 0)) GTEST_SKIP() << "has no such exchange without a plugin";
  peer_.DeclareExchange("anywhere", "x-local-random");
  peer_.Bind("orders", "anywhere");
  const Diagnosis random = Doctor({"--queue", "orders", "--work-exchange", "anywhere"});
  EXPECT_EQ(random.code, 69) << random.story;
  EXPECT_THAT(Wrong(random, "work exchange"), HasSubstr("x-local-random"));
}

TEST_F(CommandDoctorQueues, ReportsLimitsOfTheVhostAndTheUser) {
  const std::string user = vhost_.AddUser({{.configure = ".*", .write = ".*", .read = ".*"}});
  vhost_.management().Put("/vhost-limits/" + vhost_.name() + "/max-queues", {{"value", 1}});
  vhost_.management().Put("/vhost-limits/" + vhost_.name() + "/max-connections", {{"value", 90}});
  vhost_.management().Put("/user-limits/" + user + "/max-connections", {{"value", 1}});
  const Arguments flags = {"--queue", "orders"};
  const std::string url = vhost_.UrlAs(user, user);
  const Diagnosis limited = Doctor(flags, url);
  EXPECT_EQ(limited.code, 69) << limited.story;
  EXPECT_THAT(Wrong(limited, "limits"), HasSubstr("may have 1 queues and has 1"));
  EXPECT_THAT(Wrong(limited, "limits"), HasSubstr("user '" + user + "' may have 1 connections"));
  // The error contains the reason why a queue cannot be declared.
  EXPECT_THAT(Wrong(limited, "limits"), HasSubstr("the broker refuses to declare more"));
  // Newer versions check the limit last, so it is not reported here.
  const auto parked = limited.Of("parked queue", "problem");
  EXPECT_EQ(parked.empty(), IsAtLeast(4, 0)) << limited.story;
  for (const nlohmann::json& problem : parked) {
    EXPECT_THAT(problem.at("remedy").get<std::string>(), HasSubstr("raise the limit"));
  }
  PasteAll(limited);
  const Diagnosis quiet = Doctor(flags, url);
  EXPECT_EQ(quiet.code, 0) << quiet.story;
  EXPECT_EQ(Wrong(quiet), "");
  const auto limits = vhost_.management().Get("/vhost-limits/" + vhost_.name());
  EXPECT_EQ(limits->at(0).at("value").at("max-connections"), 90);
}

// With plugins, which affect the whole broker.
class CommandDoctorPlugins : private OwnBroker, public CommandDoctor {
 protected:
  void SetUp() override {
    if (!broker_) GTEST_SKIP() << "needs a broker of its own, and RETRYQ_URL names one";
    std::ofstream(broker_->node().directory() + "/enabled_plugins")
        << "[rabbitmq_management,rabbitmq_federation,rabbitmq_shovel].\n";
    broker_->Restart();
    Peer(vhost_.Url()).DeclareQueue("orders");
  }
  std::string BrokerDirectory() const override { return broker_->node().directory(); }
};

TEST_F(CommandDoctorPlugins, ReportFederationAndShovelsOfDelayQueues) {
  vhost_.management().Put("/policies/" + vhost_.name() + "/fed",
                          {{"pattern", "^(?!amq[.]).*"},
                           {"apply-to", "exchanges"},
                           {"definition", {{"federation-upstream-set", "all"}}}});
  vhost_.management().Put("/parameters/shovel/" + vhost_.name() + "/away",
                          {{"value",
                            {{"src-uri", "amqp://"},
                             {"src-queue", "retry.7"},
                             {"dest-uri", "amqp://"},
                             {"dest-queue", "elsewhere"}}}});
  const Diagnosis diagnosis = Doctor({"--queue", "orders"});
  EXPECT_EQ(diagnosis.code, 69) << diagnosis.story;
  EXPECT_EQ(diagnosis.Result("federation"), "problem");
  EXPECT_EQ(diagnosis.Result("shovels"), "problem");
  PasteAll(diagnosis);
  const Diagnosis quiet = Doctor({"--queue", "orders"});
  EXPECT_THAT(quiet.Of("federation"), IsEmpty());
  EXPECT_THAT(quiet.Of("shovels"), IsEmpty());
  const auto policy = vhost_.management().Get("/policies/" + vhost_.name() + "/fed");
  EXPECT_EQ(policy->at("pattern"), "^(?!retry[.]).*(?:^(?!amq[.]).*)");
}

}  // namespace retryq::testing::command_doctor_queues_test
