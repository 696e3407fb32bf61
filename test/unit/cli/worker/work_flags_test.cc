#include "cli/worker/work_command.h"
#include "support/temporary_directory.h"
#include "support/test.h"
#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli::work_flags_test {

class WorkFlags : public FlagsTest {
 protected:
  // The options of `--queue orders ARGUMENTS -- true`.
  static WorkOptions Parse(Arguments arguments) {
    return OptionsIn(ParseWork(Complete(std::move(arguments))));
  }

  // The errors about the same arguments.
  static std::string Errors(Arguments arguments) {
    return ComplaintsIn(ParseWork(Complete(std::move(arguments))));
  }

 private:
  static Arguments Complete(Arguments arguments) {
    arguments.insert(arguments.begin(), {"--queue", "orders"});
    arguments.insert(arguments.end(), {"--", "true"});
    return arguments;
  }
};

TEST_F(WorkFlags, HaveTheDocumentedDefaults) {
  const WorkOptions options = Parse({});
  EXPECT_EQ(options.consumer.queue, "orders");
  EXPECT_FALSE(options.consumer.declare);
  EXPECT_FALSE(options.consumer.breaker);
  EXPECT_EQ(options.consumer.retry.max_attempts, 25U);
  EXPECT_EQ(options.consumer.retry.on_limit, OnLimit::kPark);
  EXPECT_EQ(options.consumer.retry.count_redeliveries, CountRedeliveries::kWhereCounted);
  EXPECT_EQ(options.consumer.prefetch, 64);
  EXPECT_EQ(options.consumer.max_body, 128U << 20);
  EXPECT_EQ(options.consumer.consumer_timeout, absl::ZeroDuration());
  EXPECT_EQ(options.place.client.url, "amqp://guest:guest@localhost:5672/");
  EXPECT_EQ(options.place.client.delay_queues.prefix, "retry");
  EXPECT_EQ(options.jobs, 1);
  EXPECT_FALSE(options.lines);
  EXPECT_EQ(options.timeout, absl::InfiniteDuration());
  EXPECT_EQ(options.grace, absl::Seconds(25));
  EXPECT_EQ(options.command, Arguments{"true"});
  EXPECT_FALSE(options.pass_url);
  EXPECT_FALSE(options.metrics);
  EXPECT_EQ(options.log_from, Severity::kInfo);
}

TEST_F(WorkFlags, SetTheirOptions) {
  const WorkOptions options = Parse(
      Words("--work-exchange work --former-queue orders.v1 --former-queue bills --prefix again "
            "--base 500ms --max-attempts=0 --on-limit discard --parked dead --on-parked notify "
            "--count-redeliveries always --earlier-count x-death --earlier-count x-retries "
            "--breaker --breaker-calls 50 --jobs 8 --lines --in-flight 4 --prefetch 100 "
            "--max-body 64MiB --timeout 50m --consumer-timeout 1h --grace 5s --pass-url "
            "--share-retries --declare --declare-type quorum --json --metrics 127.0.0.1:9101 "
            "--otlp http://localhost:4318 "
            "--url amqp://a:b@one/v --url amqp://a:b@two/v"));
  const ConsumerOptions& consumer = options.consumer;
  EXPECT_EQ(consumer.work_exchange, "work");
  EXPECT_EQ(consumer.former_queues, (Arguments{"orders.v1", "bills"}));
  EXPECT_EQ(options.place.client.delay_queues.prefix, "again");
  EXPECT_EQ(consumer.retry.backoff.base, absl::Milliseconds(500));
  EXPECT_EQ(consumer.retry.max_attempts, 0U);
  EXPECT_EQ(consumer.retry.on_limit, OnLimit::kDiscard);
  EXPECT_EQ(consumer.parked_queue, "dead");
  EXPECT_EQ(options.on_parked, "notify");
  EXPECT_EQ(consumer.retry.count_redeliveries, CountRedeliveries::kAlways);
  EXPECT_EQ(consumer.retry.earlier_counts, (Arguments{"x-death", "x-retries"}));
  EXPECT_EQ(consumer.breaker->calls, 50);
  EXPECT_EQ(options.jobs, 8);
  EXPECT_EQ(options.lines, 4);
  EXPECT_EQ(consumer.prefetch, 100);
  EXPECT_EQ(consumer.max_body, 64U << 20);
  EXPECT_EQ(options.timeout, absl::Minutes(50));
  EXPECT_EQ(consumer.consumer_timeout, absl::Hours(1));
  EXPECT_EQ(options.grace, absl::Seconds(5));
  EXPECT_TRUE(options.pass_url);
  EXPECT_TRUE(consumer.share_retries);
  EXPECT_EQ(consumer.declare->type, QueueType::kQuorum);
  EXPECT_TRUE(options.json);
  EXPECT_EQ(options.log_from, Severity::kDebug);
  EXPECT_EQ(options.metrics->host, "127.0.0.1");
  EXPECT_EQ(options.metrics->port, 9101);
  EXPECT_EQ(options.otlp, "http://localhost:4318/v1/traces");
  EXPECT_EQ(options.place.client.url, "amqp://a:b@one/v");
  EXPECT_EQ(options.place.client.more_urls, Arguments{"amqp://a:b@two/v"});
  EXPECT_EQ(options.place.connection.vhost, "v");
  EXPECT_EQ(Parse({"--json", "--log-level", "error"}).log_from, Severity::kError);
  EXPECT_EQ(Parse({"--jobs", "100"}).consumer.prefetch, 100);
  EXPECT_EQ(Parse({"--on-limit", "reject"}).consumer.retry.on_limit, OnLimit::kReject);
}

TEST_F(WorkFlags, CompleteTheUrlOfACollector) {
  EXPECT_EQ(Parse({}).otlp, "");
  for (const auto& [given, url] : {std::pair("http://h", "http://h/v1/traces"),
                                   std::pair("https://h:1/", "https://h:1/v1/traces"),
                                   std::pair("http://[::1]:4318", "http://[::1]:4318/v1/traces"),
                                   std::pair("http://h/a/spans", "http://h/a/spans")}) {
    EXPECT_EQ(Parse({"--otlp", given}).otlp, url);
  }
}

TEST_F(WorkFlags, NeedANameForTheParkedQueueOfALongName) {
  EXPECT_THAT(Errors({"--queue", std::string(255, 'q')}),
              HasSubstr("name the parked queue with --parked"));
}

TEST_F(WorkFlags, EndAtTheCommand) {
  const Arguments command = {"sh", "-c", "exit 1", "--queue", "--", "--help", "work", ""};
  Arguments arguments = {"--queue", "orders", "--"};
  arguments.insert(arguments.end(), command.begin(), command.end());
  EXPECT_EQ(OptionsIn(ParseWork(arguments)).command, command);
}

TEST_F(WorkFlags, WaitForAManagementApiWhoseHostCannotBeResolvedYet) {
  ::setenv("RETRYQ_MANAGEMENT_URL", "http://api.invalid:15672", 1);
  EXPECT_EQ(Describe(Parse({"--url", "amqp://rabbit.invalid"}).place.management),
            "http://api.invalid:15672");
  ::setenv("RETRYQ_MANAGEMENT_URL", "http://192.0.2.1:15672", 1);
  EXPECT_THAT(Errors({"--url", "amqp://192.0.2.2"}), HasSubstr("RETRYQ_MANAGEMENT_URL"));
}

TEST_F(WorkFlags, ReadTheUrlsFromAFileAgainAtEachConnect) {
  testing::TemporaryDirectory files;
  const std::string file = files.Write("url", "\namqp://u:old@one/v \n amqp://u:old@two/v\n\n");
  const WorkOptions options = Parse({"--url-file", file});
  EXPECT_EQ(options.place.client.url, "amqp://u:old@one/v");
  EXPECT_EQ(options.place.client.more_urls, Arguments{"amqp://u:old@two/v"});
  files.Write("url", "amqp://u:new@one/v");
  EXPECT_EQ(options.place.client.url_source().value(), Arguments{"amqp://u:new@one/v"});
  EXPECT_EQ(options.place.management.renewed().value().password, "new");
}

}  // namespace retryq::cli::work_flags_test
