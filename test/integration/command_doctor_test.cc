// `retryq doctor`: each check, with and without the problem.

#include <nlohmann/json.hpp>

#include "integration/doctor_run.h"
#include "support/own_broker.h"
#include "support/test.h"

namespace retryq::testing::command_doctor_test {

TEST_F(CommandDoctor, ReportsNoProblemsInAHealthySetupAndLeavesNothingBehind) {
  for (const Arguments& flags :
       {Arguments{"--queue", "orders"}, Arguments{"--queue", "orders", "--queue-type", "quorum"}}) {
    const Diagnosis diagnosis = Doctor(flags);
    EXPECT_EQ(diagnosis.code, 0) << diagnosis.story;
    for (const auto& each : diagnosis.checks) EXPECT_EQ(each.at("result"), "ok") << each;
    for (const char* check : {"connection", "version", "tls", "management", "work queue",
                              "parked queue", "delay queues", "policies", "alarms", "clock",
                              "default queue type", "lease", "permissions", "limits"}) {
      EXPECT_EQ(diagnosis.Of(check).size(), 1U) << check;
    }
  }
  EXPECT_THAT(vhost_.QueuesBeginning("retry."), IsEmpty());
  EXPECT_FALSE(vhost_.HasQueue("orders.parked"));
  EXPECT_THAT(Exchanges(), IsEmpty());
}

TEST_F(CommandDoctor, ConsumesNoMessages) {
  Publish("an order");
  const Diagnosis diagnosis = Doctor({"--queue", "orders"});
  EXPECT_EQ(diagnosis.code, 0) << diagnosis.story;
  EXPECT_EQ(diagnosis.Of("work queue", "warning").size(), 1U) << diagnosis.story;
  EXPECT_EQ(peer_.Count("orders"), 1U);
  EXPECT_FALSE(peer_.Get("orders")->redelivered);
}

TEST_F(CommandDoctor, PrintsReadableText) {
  CommandRun run({"doctor", "--management", ManagementUrl(), "--queue", "odrers"}, vhost_.Url());
  EXPECT_EQ(run.Wait(absl::Seconds(120)), 69) << run.Story();
  EXPECT_THAT(run.out(), HasSubstr("problem   work queue          queue 'odrers' does not exist in "
                                   "vhost '" +
                                   vhost_.name() +
                                   "'\n"
                                   "                              remedy: declare it"));
  EXPECT_THAT(run.out(), HasSubstr("\n1 problem, 0 warnings, "));
}

TEST_F(CommandDoctor, ReportsWhyThereIsNoConnection) {
  const Diagnosis password = Doctor({}, vhost_.UrlAs("guest", "s3cret"));
  EXPECT_EQ(password.code, 77) << password.story;
  EXPECT_EQ(password.Result("connection"), "problem");
  EXPECT_EQ(password.Result("alarms"), "ok");  // others may still answer
  EXPECT_THAT(password.story, Not(HasSubstr("s3cret")));

  std::string other = vhost_.Url();
  other.replace(other.rfind('/') + 1, std::string::npos, "no-such-vhost");
  const Diagnosis vhost = Doctor({}, other);
  EXPECT_EQ(vhost.code, 69) << vhost.story;
  EXPECT_THAT(vhost.Finding("connection"), HasSubstr("no-such-vhost"));

  if (HasTlsUrl()) {
    // Signed by an authority that no client trusts.
    std::string url = vhost_.TlsUrl();
    const Diagnosis untrusted = Doctor({}, url.erase(url.find('?')));
    EXPECT_EQ(untrusted.code, 69) << untrusted.story;
    EXPECT_THAT(untrusted.Finding("connection"), HasSubstr("certificate"));
  }

  const Diagnosis nobody = Doctor({}, "amqp://guest:s3cret@127.0.0.1:1/", "http://127.0.0.1:1");
  EXPECT_EQ(nobody.code, 69) << nobody.story;
  EXPECT_EQ(nobody.Result("connection"), "problem");
  EXPECT_EQ(nobody.Result("management"), "warning");
  EXPECT_THAT(nobody.story, Not(HasSubstr("s3cret")));
}

TEST_F(CommandDoctor, WorksWithoutTheManagementApi) {
  const Diagnosis diagnosis = Doctor({"--queue", "orders"}, "", "http://127.0.0.1:1");
  EXPECT_EQ(diagnosis.code, 0) << diagnosis.story;
  EXPECT_EQ(diagnosis.Result("management"), "warning");
  EXPECT_EQ(diagnosis.Result("policies"), "skipped");
  EXPECT_EQ(diagnosis.Result("delay queues"), "skipped");
  EXPECT_EQ(diagnosis.Result("work queue"), "ok");
  EXPECT_EQ(diagnosis.Result("lease"), "ok");
  EXPECT_EQ(diagnosis.Result("permissions"), "ok");
}

TEST_F(CommandDoctor, TriesThePermissionsOfAWorker) {
  const std::string user = vhost_.AddUser(TestVhost::Rights{});
  const std::string url = vhost_.UrlAs(user, user);
  const Arguments flags = {"--queue", "orders"};
  const Diagnosis none = Doctor(flags, url);
  EXPECT_EQ(none.code, 77) << none.story;
  EXPECT_THAT(none.Finding("permissions"), HasSubstr("no permission to declare delay queues"));
  EXPECT_THAT(none.Finding("permissions"), HasSubstr("no permission to consume 'orders'"));
  EXPECT_THAT(none.Finding("permissions"),
              HasSubstr("no permission to publish to the default exchange"));
  EXPECT_EQ(none.Of("parked queue", "problem").size(), 1U) << none.story;

  // The user keeps its permissions.
  vhost_.SetRights(user, {.configure = "^shop[.]", .write = "", .read = "^o$"});
  const Diagnosis some = Doctor(flags, url);
  const TestVhost::Rights rights = {.configure = "^shop[.]|^(retry[.].*|orders[.]parked)$",
                                    .write = "^(retry[.].*|amq[.]default)$",
                                    .read = "^o$|^(retry[.].*|orders)$"};
  const std::string remedy = some.Of("permissions")[0].at("remedy");
  EXPECT_THAT(remedy,
              HasSubstr("'" + rights.configure + "' '" + rights.write + "' '" + rights.read + "'"));
  Paste(remedy);
  const Diagnosis all = Doctor(flags, url);
  EXPECT_EQ(all.code, 0) << all.story;
  EXPECT_EQ(all.Result("permissions"), "ok");
  EXPECT_EQ(all.Result("parked queue"), "ok");

  TestVhost::Rights few = rights;
  few.write = R"(^amq\.default$)";
  vhost_.SetRights(user, few);
  EXPECT_EQ(Doctor(flags, url).code, 77);
  EXPECT_THAT(Exchanges(), IsEmpty());
}

TEST_F(CommandDoctor, ChecksTheWorkExchangeAndItsBinding) {
  const Arguments flags = {"--queue", "orders", "--work-exchange", "shop"};
  const Diagnosis missing = Doctor(flags);
  EXPECT_EQ(missing.code, 69) << missing.story;
  EXPECT_THAT(missing.Finding("work exchange"), HasSubstr("'shop' does not exist"));
  peer_.DeclareExchange("shop", "topic");
  EXPECT_EQ(Doctor(flags).Of("work exchange", "warning").size(), 1U);
  peer_.Bind("orders", "shop", "order.*");
  const Diagnosis bound = Doctor(flags);
  EXPECT_EQ(bound.code, 0) << bound.story;
  EXPECT_EQ(bound.Result("work exchange"), "ok");
  EXPECT_EQ(peer_.Count("orders"), 0U);
}

TEST_F(CommandDoctor, ReportsPoliciesThatOverrideDelayQueues) {
  SetPolicy("policies", "^orders", {{"message-ttl", 500}});
  const Diagnosis elsewhere = Doctor({});
  EXPECT_EQ(elsewhere.Result("policies"), "ok");
  EXPECT_THAT(elsewhere.Finding("policies"), HasSubstr("not applied to them: 'override'"));

  SetPolicy("policies", "^retry[.]", {{"message-ttl", 500}, {"max-length", 10}});
  const Diagnosis user = Doctor({});
  EXPECT_EQ(user.code, 69) << user.story;
  EXPECT_THAT(user.Finding("policies"),
              HasSubstr("policy 'override' applies to delay queues and sets message-ttl 500"));
  EXPECT_THAT(user.Finding("policies"), HasSubstr("max-length 10"));

  SetPolicy("policies", "^orders", Json::object({{"message-ttl", 500}}));
  SetPolicy("operator-policies", "^retry[.][0-9]", {{"expires", 60'000}});
  const Diagnosis operators = Doctor({});
  EXPECT_EQ(operators.code, 69) << operators.story;
  EXPECT_THAT(
      operators.Finding("policies"),
      HasSubstr("operator policy 'override' applies to delay queues and sets expires 60000"));
  PasteAll(operators);
  const Diagnosis quiet = Doctor({});
  EXPECT_EQ(quiet.code, 0) << quiet.story;
  EXPECT_THAT(vhost_.QueuesBeginning("retry."), IsEmpty());
}

TEST_F(CommandDoctor, ChecksTheLeaseWithTheBroker) {
  SetPolicy("policies", "^retry[.]", {{"expires", 300}});
  const Diagnosis diagnosis = Doctor({});
  EXPECT_EQ(diagnosis.code, 69) << diagnosis.story;
  EXPECT_EQ(diagnosis.Result("lease"), "problem");
  EXPECT_EQ(diagnosis.Result("policies"), "problem");
}

TEST_F(CommandDoctor, ReportsMissingQueuesThatWorkersMayNotDeclare) {
  const Arguments policy = {"--delays", "1s,10s", "--max-attempts", "3"};
  Arguments flags = {"--queue", "orders", "--no-declare"};
  flags.insert(flags.end(), policy.begin(), policy.end());
  const Diagnosis missing = Doctor(flags);
  EXPECT_EQ(missing.code, 69) << missing.story;
  EXPECT_THAT(missing.Finding("delay queues"), HasSubstr("missing: retry.1000, retry.10000"));
  EXPECT_EQ(missing.Result("parked queue"), "problem");

  Arguments plan = {"plan", "--definitions", "--queue", "orders"};
  plan.insert(plan.end(), policy.begin(), policy.end());
  CommandRun definitions(plan, vhost_.Url());
  ASSERT_EQ(definitions.Wait(), 0) << definitions.Story();
  vhost_.management().Post("/definitions", nlohmann::json::parse(definitions.out()));
  const Diagnosis imported = Doctor(flags);
  EXPECT_EQ(imported.code, 0) << imported.story;
  EXPECT_EQ(imported.Result("delay queues"), "ok");
}

// Settings that affect all users of a broker.
using CommandDoctorOfItsOwn = OnOwnBroker<CommandDoctor>;

TEST_F(CommandDoctorOfItsOwn, ReportsAnAlarmWithAndWithoutTheManagementApi) {
  broker().RaiseAlarm();
  const Arguments flags = {"--queue", "orders"};
  const Diagnosis with = Doctor(flags);
  EXPECT_EQ(with.code, 69) << with.story;
  EXPECT_EQ(with.Result("alarms"), "problem");
  EXPECT_THAT(with.Finding("alarms"), HasSubstr("memory on "));
  EXPECT_EQ(with.Result("permissions"), "skipped");
  const Diagnosis without = Doctor(flags, "", "http://127.0.0.1:1");
  EXPECT_EQ(without.code, 69) << without.story;
  EXPECT_EQ(without.Result("alarms"), "problem");
  EXPECT_THAT(Exchanges(), IsEmpty());
  broker().ClearAlarm();
  EXPECT_EQ(Doctor(flags).code, 0);
}

}  // namespace retryq::testing::command_doctor_test
