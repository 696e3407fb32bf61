#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <variant>
#include <vector>

#include "cli/worker/work_command.h"
#include "support/temporary_directory.h"
#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli {
namespace work_flags_test {

using ::testing::HasSubstr;
using ::testing::Not;

class WorkFlagsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"RETRYQ_URL", "RETRYQ_URL_FILE", "RETRYQ_MANAGEMENT_URL"}) {
      ::unsetenv(name);
    }
  }
  void TearDown() override { SetUp(); }

  // The options of `--queue orders ARGUMENTS -- true`.
  static WorkOptions Parse(Arguments arguments) {
    return OptionsIn(ParseWork(Complete(std::move(arguments))));
  }

  // The complaints about the same.
  static std::string Complaints(Arguments arguments) {
    return ComplaintsAboutAll(Complete(std::move(arguments)));
  }

  static std::string ComplaintsAboutAll(const Arguments& arguments) {
    return ComplaintsIn(ParseWork(arguments));
  }

 private:
  static Arguments Complete(Arguments arguments) {
    arguments.insert(arguments.begin(), {"--queue", "orders"});
    arguments.insert(arguments.end(), {"--", "true"});
    return arguments;
  }
};

TEST_F(WorkFlagsTest, DeclaresItsQueueIfAsked) {
  EXPECT_FALSE(Parse({}).consumer.declare);
  EXPECT_EQ(Parse({"--declare"}).consumer.declare->type, QueueType::kClassic);
  EXPECT_EQ(Parse({"--declare", "--declare-type", "quorum"}).consumer.declare->type,
            QueueType::kQuorum);
  EXPECT_THAT(Complaints({"--declare-type", "quorum"}),
              HasSubstr("--declare-type: is for --declare"));
  EXPECT_THAT(Complaints({"--declare", "--no-declare"}),
              HasSubstr("--declare and --no-declare: exclude each other"));
}

TEST_F(WorkFlagsTest, TakesNoNamesThatAreTooLong) {
  const std::string longest(255, 'q');
  EXPECT_THAT(Complaints({"--parked", longest + "q"}),
              HasSubstr("--parked: the name is longer than 255 bytes"));
  EXPECT_THAT(ComplaintsAboutAll({"--queue", longest, "--", "true"}),
              HasSubstr("name the parked queue with --parked"));
  EXPECT_EQ(OptionsIn(ParseWork({"--queue", longest, "--parked", "p", "--", "true"}))
                .consumer.parked_queue,
            "p");
}

TEST_F(WorkFlagsTest, WaitsForAManagementApiWhoseHostCannotBeResolvedYet) {
  ::setenv("RETRYQ_MANAGEMENT_URL", "http://api.invalid:15672", 1);
  EXPECT_EQ(Describe(Parse({"--url", "amqp://rabbit.invalid"}).management),
            "http://api.invalid:15672");
  ::setenv("RETRYQ_MANAGEMENT_URL", "http://192.0.2.1:15672", 1);
  EXPECT_THAT(Complaints({"--url", "amqp://192.0.2.2"}), HasSubstr("RETRYQ_MANAGEMENT_URL"));
}

TEST_F(WorkFlagsTest, LimitsBodies) {
  EXPECT_EQ(Parse({}).consumer.max_body, 128U << 20);
  EXPECT_EQ(Parse({"--max-body", "64MiB"}).consumer.max_body, 64U << 20);
  EXPECT_EQ(Parse({"--max-body", "1000"}).consumer.max_body, 1000U);
  for (const char* wrong :
       {"0", "", "MiB", "-1", "1.5MiB", "1GiB", "64MB", "99999999999999999999"}) {
    EXPECT_THAT(Complaints({"--max-body", wrong}), HasSubstr("write a number of bytes above 0"));
  }
}

TEST_F(WorkFlagsTest, HasACircuitBreakerIfAsked) {
  EXPECT_FALSE(Parse({}).consumer.breaker);
  const BreakerOptions defaults = *Parse({"--breaker"}).consumer.breaker;
  EXPECT_EQ(defaults.calls, 20);
  EXPECT_EQ(defaults.ratio, 0.5);
  EXPECT_EQ(defaults.pause, absl::Seconds(30));
  EXPECT_EQ(defaults.probes, 3);
  const BreakerOptions given = *Parse({"--breaker", "--breaker-calls", "50", "--breaker-ratio",
                                       "0.8", "--breaker-pause", "1m", "--breaker-probes", "5"})
                                    .consumer.breaker;
  EXPECT_EQ(given.calls, 50);
  EXPECT_EQ(given.ratio, 0.8);
  EXPECT_EQ(given.pause, absl::Minutes(1));
  EXPECT_EQ(given.probes, 5);
}

TEST_F(WorkFlagsTest, RefusesWhatIsWrongWithTheCircuitBreaker) {
  for (const char* flag :
       {"--breaker-calls", "--breaker-ratio", "--breaker-pause", "--breaker-probes"}) {
    EXPECT_THAT(Complaints({flag, "1"}),
                HasSubstr(std::string(flag) + ": is for --breaker; add that, or leave this out"));
  }
  const std::string complaints =
      Complaints({"--breaker", "--breaker-calls", "0", "--breaker-ratio", "1.5", "--breaker-pause",
                  "10ms", "--breaker-probes", "many"});
  EXPECT_THAT(complaints, HasSubstr("--breaker-calls '0'"));
  EXPECT_THAT(complaints, HasSubstr("--breaker-ratio must be above 0 and at most 1, but is 1.5"));
  EXPECT_THAT(complaints, HasSubstr("--breaker-pause must be 1s to 24h, but is 10ms"));
  EXPECT_THAT(complaints, HasSubstr("--breaker-probes 'many'"));
}

TEST_F(WorkFlagsTest, HasTheDefaultsOfTheDesign) {
  const WorkOptions options = Parse({});
  EXPECT_EQ(options.consumer.queue, "orders");
  EXPECT_EQ(options.consumer.work_exchange, "");
  EXPECT_EQ(options.consumer.retry.backoff.base, absl::Seconds(1));
  EXPECT_EQ(options.consumer.retry.backoff.factor, 2.0);
  EXPECT_EQ(options.consumer.retry.backoff.max, absl::Minutes(10));
  EXPECT_EQ(options.consumer.retry.max_attempts, 25U);
  EXPECT_EQ(options.consumer.retry.max_age, absl::ZeroDuration());
  EXPECT_EQ(options.consumer.retry.on_limit, OnLimit::kPark);
  EXPECT_EQ(options.consumer.prefetch, 64);
  EXPECT_EQ(options.jobs, 1);
  EXPECT_FALSE(options.consumer.share_retries);
  EXPECT_EQ(options.client.url, "amqp://guest:guest@localhost:5672/");
  EXPECT_EQ(options.client.delay_queues.prefix, "retry");
  EXPECT_EQ(options.client.delay_queues.margin, absl::Minutes(1));
  EXPECT_EQ(options.timeout, absl::InfiniteDuration());
  EXPECT_EQ(options.grace, absl::Seconds(25));
  EXPECT_EQ(options.command, Arguments{"true"});
  EXPECT_FALSE(options.json);
  EXPECT_FALSE(options.metrics);
  EXPECT_EQ(options.log_from, Severity::kInfo);
}

TEST_F(WorkFlagsTest, LogsEverythingAsJson) {
  EXPECT_EQ(Parse({"--json"}).log_from, Severity::kDebug);
  EXPECT_EQ(Parse({"--json", "--log-level", "error"}).log_from, Severity::kError);
}

TEST_F(WorkFlagsTest, TakesEveryFlag) {
  const WorkOptions options = Parse({"--work-exchange", "work",
                                     "--prefix",        "again",
                                     "--base",          "500ms",
                                     "--factor",        "1.5",
                                     "--max",           "1h",
                                     "--max-attempts",  "0",
                                     "--max-age",       "1d",
                                     "--on-limit",      "discard",
                                     "--parked",        "dead",
                                     "--on-parked",     "mail -s hi",
                                     "--jobs",          "8",
                                     "--prefetch",      "100",
                                     "--timeout",       "1m30s",
                                     "--grace",         "5s",
                                     "--margin",        "2m",
                                     "--share-retries", "--json",
                                     "--log-level",     "warning",
                                     "--metrics",       "127.0.0.1:9101",
                                     "--url",           "amqp://a:b@one/v",
                                     "--url",           "amqp://a:b@two/v"});
  EXPECT_EQ(options.consumer.work_exchange, "work");
  EXPECT_EQ(options.client.delay_queues.prefix, "again");
  EXPECT_EQ(options.consumer.retry.backoff.base, absl::Milliseconds(500));
  EXPECT_EQ(options.consumer.retry.backoff.factor, 1.5);
  EXPECT_EQ(options.consumer.retry.backoff.max, absl::Hours(1));
  EXPECT_EQ(options.consumer.retry.max_attempts, 0U);
  EXPECT_EQ(options.consumer.retry.max_age, absl::Hours(24));
  EXPECT_EQ(options.consumer.retry.on_limit, OnLimit::kDiscard);
  EXPECT_EQ(options.consumer.parked_queue, "dead");
  EXPECT_EQ(options.on_parked, "mail -s hi");
  EXPECT_EQ(options.jobs, 8);
  EXPECT_EQ(options.consumer.prefetch, 100);
  EXPECT_EQ(options.timeout, absl::Seconds(90));
  EXPECT_EQ(options.grace, absl::Seconds(5));
  EXPECT_EQ(options.client.delay_queues.margin, absl::Minutes(2));
  EXPECT_TRUE(options.consumer.share_retries);
  EXPECT_TRUE(options.json);
  EXPECT_EQ(options.log_from, Severity::kWarning);
  ASSERT_TRUE(options.metrics);
  EXPECT_EQ(options.metrics->host, "127.0.0.1");
  EXPECT_EQ(options.metrics->port, 9101);
  EXPECT_EQ(options.client.url, "amqp://a:b@one/v");
  EXPECT_EQ(options.client.more_urls, Arguments{"amqp://a:b@two/v"});
}

TEST_F(WorkFlagsTest, NamesWhatTheQueueWasCalledBefore) {
  EXPECT_EQ(
      Parse({"--former-queue", "orders.v1", "--former-queue", "bills"}).consumer.former_queues,
      (std::vector<std::string>{"orders.v1", "bills"}));
}

TEST_F(WorkFlagsTest, SetsAConsumerTimeoutAboveThatOfTheCommand) {
  EXPECT_EQ(Parse({}).consumer.consumer_timeout, absl::ZeroDuration());
  const WorkOptions options = Parse({"--timeout", "50m", "--consumer-timeout", "1h"});
  EXPECT_EQ(options.consumer.consumer_timeout, absl::Hours(1));
  EXPECT_THAT(Complaints({"--consumer-timeout", "0"}),
              HasSubstr("--consumer-timeout 0: must be above zero"));
  EXPECT_THAT(Complaints({"--timeout", "1h", "--consumer-timeout", "1h"}),
              HasSubstr("--timeout 1h: must be less than --consumer-timeout 1h"));
}

TEST_F(WorkFlagsTest, CountsWhatItIsToldToCount) {
  EXPECT_EQ(Parse({}).consumer.retry.count_redeliveries, CountRedeliveries::kWhereCounted);
  EXPECT_EQ(Parse({"--count-redeliveries", "always"}).consumer.retry.count_redeliveries,
            CountRedeliveries::kAlways);
  EXPECT_EQ(Parse({"--count-redeliveries", "never"}).consumer.retry.count_redeliveries,
            CountRedeliveries::kNever);
  EXPECT_EQ(Parse({"--earlier-count", "x-death", "--earlier-count", "x-message-retries"})
                .consumer.retry.earlier_counts,
            (std::vector<std::string>{"x-death", "x-message-retries"}));
  EXPECT_THAT(Complaints({"--count-redeliveries", "sometimes"}),
              HasSubstr("--count-redeliveries 'sometimes': write counted, always or never"));
  EXPECT_THAT(Complaints({"--earlier-count", ""}), HasSubstr("--earlier-count"));
}

TEST_F(WorkFlagsTest, TakesAnEqualsSignAsWell) {
  EXPECT_EQ(Parse({"--base=2s"}).consumer.retry.backoff.base, absl::Seconds(2));
}

TEST_F(WorkFlagsTest, TakesTheUrlFromAFileAndReadsItAgain) {
  testing::TemporaryDirectory files;
  const std::string file = files.Write("url", "\namqp://u:old@one/v \n amqp://u:old@two/v\n\n");
  ::setenv("RETRYQ_URL", "amqp://not-this/", 1);
  ::setenv("RETRYQ_URL_FILE", file.c_str(), 1);
  for (const Arguments& flags : {Arguments{}, Arguments{"--url-file", file}}) {
    const WorkOptions options = Parse(flags);
    EXPECT_EQ(options.client.url, "amqp://u:old@one/v");
    EXPECT_EQ(options.client.more_urls, Arguments{"amqp://u:old@two/v"});
    EXPECT_EQ(options.vhost, "v");
    files.Write("url", "amqp://u:new@one/v");
    EXPECT_EQ(options.client.url_source().value(), Arguments{"amqp://u:new@one/v"});
    EXPECT_EQ(options.management.renewed().value().password, "new");
    EXPECT_EQ(Parse({"--management", "http://other:pw@one:1"}).management.renewed, nullptr);
    files.Write("url", "amqp://u:old@one/v\namqp://u:old@two/v");
  }
  EXPECT_EQ(Parse({"--url", "amqp://other/"}).client.url_source, nullptr);
}

TEST_F(WorkFlagsTest, SaysWhatIsWrongWithAFileOfUrls) {
  testing::TemporaryDirectory files;
  EXPECT_THAT(Complaints({"--url-file", files.File("none")}),
              HasSubstr("--url-file: file '" + files.File("none") + "': No such file"));
  EXPECT_THAT(Complaints({"--url-file", files.Write("empty", "\n")}), HasSubstr("holds no URL"));
  EXPECT_THAT(Complaints({"--url-file", "/dev/null"}), HasSubstr("name a regular file"));
  EXPECT_THAT(Complaints({"--url-file", ""}), HasSubstr("--url-file: "));
  EXPECT_THAT(Complaints({"--url-file", "x", "--url", "amqp://h"}),
              HasSubstr("exclude each other"));
  ::setenv("RETRYQ_URL_FILE", files.Write("bad", "amqp://u:Ses/ame@host").c_str(), 1);
  EXPECT_THAT(Complaints({}), AllOf(HasSubstr("RETRYQ_URL_FILE: AMQP URI: "), HasSubstr("%2f"),
                                    Not(HasSubstr("ame"))));
}

TEST_F(WorkFlagsTest, LeavesTheCommandAlone) {
  const Arguments command = {"sh", "-c", "exit 1", "--queue", "--", "--help", "work", ""};
  Arguments arguments = {"--queue", "orders", "--"};
  arguments.insert(arguments.end(), command.begin(), command.end());
  const auto parsed = ParseWork(arguments);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(std::get<WorkOptions>(*parsed).command, command);
}

TEST_F(WorkFlagsTest, TakesTheUrlFromTheEnvironmentUnlessGiven) {
  ::setenv("RETRYQ_URL", "amqp://user:secret@broker/", 1);
  EXPECT_EQ(Parse({}).client.url, "amqp://user:secret@broker/");
  EXPECT_EQ(Parse({"--url", "amqp://other/"}).client.url, "amqp://other/");
  ::setenv("RETRYQ_URL", "", 1);
  EXPECT_EQ(Parse({}).client.url, "amqp://guest:guest@localhost:5672/");
}

TEST_F(WorkFlagsTest, SaysAllThatIsWrongALineEach) {
  const std::string complaints =
      Complaints({"--base", "soon", "--factor", "0.5", "--max-attempts", "-1", "--on-limit", "drop",
                  "--jobs", "0", "--prefetch", "70000", "--url", "http://x/", "--jitter", "some"});
  EXPECT_THAT(complaints, HasSubstr("--base 'soon': write a duration such as 500ms"));
  EXPECT_THAT(complaints, HasSubstr("--factor"));
  EXPECT_THAT(complaints, HasSubstr("--max-attempts '-1': write a whole number from 0"));
  EXPECT_THAT(complaints, HasSubstr("--on-limit 'drop': write park, reject or discard"));
  EXPECT_THAT(complaints, HasSubstr("--jobs '0': write a whole number from 1 to 1024"));
  EXPECT_THAT(complaints, HasSubstr("--prefetch '70000': write a whole number from 1 to 65535"));
  EXPECT_THAT(complaints, HasSubstr("--url: "));
  EXPECT_THAT(complaints, HasSubstr("--jitter 'some': write a number such as"));
  EXPECT_EQ(std::count(complaints.begin(), complaints.end(), '\n'), 7);
}

TEST_F(WorkFlagsTest, NamesFlagsWhereTheLibraryNamesFields) {
  EXPECT_THAT(Complaints({"--base", "2s", "--max", "1s"}), HasSubstr("--max"));
  EXPECT_THAT(Complaints({"--base", "0"}), HasSubstr("--base"));
  EXPECT_THAT(Complaints({"--prefix", "amq.x"}), HasSubstr("--prefix"));
  EXPECT_THAT(Complaints({"--margin", "1s"}), HasSubstr("--margin"));
  for (const char* margin : {"1s", "0"}) {
    EXPECT_THAT(Complaints({"--margin", margin}), Not(HasSubstr("delay_queues")));
  }
}

TEST_F(WorkFlagsTest, RefusesWhatComesLater) {
  EXPECT_THAT(Complaints({"--metrics", "here"}), HasSubstr("--metrics 'here': write a port"));
  EXPECT_THAT(Complaints({"--log-level", "loud"}), HasSubstr("--log-level 'loud': write debug"));
}

TEST_F(WorkFlagsTest, TakesEveryWayToSayHowDelaysGo) {
  const auto backoff = [](Arguments arguments) {
    return Parse(std::move(arguments)).consumer.retry.backoff;
  };
  EXPECT_EQ(backoff({"--backoff", "exponential", "--factor", "3"}).factor, 3.0);
  const BackoffOptions fixed = backoff({"--backoff", "fixed", "--base", "30s"});
  EXPECT_EQ(BackoffDelay(fixed, 7), absl::Seconds(30));
  const BackoffOptions linear = backoff({"--backoff", "linear", "--base", "5s", "--max", "1m"});
  EXPECT_EQ(BackoffDelay(linear, 2), absl::Seconds(15));
  EXPECT_EQ(BackoffDelay(backoff({"--backoff", "linear", "--step", "2s"}), 2), absl::Seconds(5));
  const BackoffOptions listed = backoff({"--delays", "1s,10s,1m40s"});
  EXPECT_EQ(listed.delays,
            (std::vector<absl::Duration>{absl::Seconds(1), absl::Seconds(10), absl::Seconds(100)}));
  EXPECT_EQ(backoff({"--jitter", "0.25"}).jitter, 0.25);
  EXPECT_EQ(backoff({"--jitter", "full"}).jitter, 1.0);
  EXPECT_EQ(backoff({"--jitter", "decorrelated"}).jitter_kind, JitterKind::kDecorrelated);
}

TEST_F(WorkFlagsTest, NamesFlagsThatContradictEachOther) {
  EXPECT_EQ(Complaints({"--delays", "1s,2s", "--base", "1s", "--backoff", "linear"}),
            "--backoff: goes not with --delays, which says all delays\n"
            "--base: goes not with --delays, which says all delays");
  EXPECT_EQ(Complaints({"--backoff", "fixed", "--factor", "2"}),
            "--factor: goes not with --backoff fixed, where each delay is --base");
  EXPECT_EQ(Complaints({"--backoff", "linear", "--factor", "2"}),
            "--factor: goes not with --backoff linear, which grows by --step");
  EXPECT_EQ(Complaints({"--step", "2s"}),
            "--step: is for --backoff linear; add that, or leave this out");
  EXPECT_EQ(Complaints({"--jitter", "decorrelated", "--delays", "1s"}),
            "--delays: goes not with --jitter decorrelated, where each delay follows from the one "
            "before");
  EXPECT_EQ(Complaints({"--backoff", "cubic"}),
            "--backoff 'cubic': write exponential, linear or fixed");
  EXPECT_EQ(Complaints({"--delays", "1s,,2s"}),
            "--delays '1s,,2s': write durations with commas between them, such as 1s,10s,5m");
  EXPECT_EQ(Complaints({"--delays", "1s,0"}),
            "--delays[1] must be between 1ms and 3650 days, but is 0");
}

TEST_F(WorkFlagsTest, TakesTheNumberOfDelayQueues) {
  EXPECT_EQ(Parse({}).client.delay_queues.max_delay_queues, 64U);
  EXPECT_EQ(Parse({"--max-delay-queues", "200"}).client.delay_queues.max_delay_queues, 200U);
  EXPECT_EQ(Complaints({"--max-delay-queues", "15"}),
            "--max-delay-queues must be from 16 to 4096, but is 15");
}

TEST_F(WorkFlagsTest, TakesQuorumQueuesAndHowLongAnOutageTheySurvive) {
  const DelayQueueOptions classic = Parse({"--queue-type", "classic"}).client.delay_queues;
  EXPECT_EQ(classic.queue_type, QueueType::kClassic);
  const DelayQueueOptions quorum =
      Parse({"--queue-type", "quorum", "--outage", "10m"}).client.delay_queues;
  EXPECT_EQ(quorum.queue_type, QueueType::kQuorum);
  EXPECT_EQ(quorum.outage, absl::Minutes(10));
  EXPECT_THAT(Complaints({"--queue-type", "stream"}), HasSubstr("write classic or quorum"));
  EXPECT_THAT(Complaints({"--outage", "10m"}), HasSubstr("--outage: is for --queue-type quorum"));
  EXPECT_THAT(Complaints({"--queue-type", "quorum", "--outage", "1m"}),
              HasSubstr("--outage must be 5 minutes to 4 years"));
}

TEST_F(WorkFlagsTest, SharesQuorumDelayQueuesIfItShall) {
  EXPECT_FALSE(Parse({"--queue-type", "quorum"}).client.delay_queues.share);
  EXPECT_TRUE(Parse({"--queue-type", "quorum", "--share-delay-queues"}).client.delay_queues.share);
  EXPECT_THAT(Complaints({"--share-delay-queues"}),
              HasSubstr("--share-delay-queues: is for --queue-type quorum"));
}

TEST_F(WorkFlagsTest, NeedsAQueueAndACommand) {
  EXPECT_EQ(ComplaintsAboutAll({}),
            "--queue is missing: name the queue to work on\n"
            "COMMAND is missing: write it last, behind --, as in: -- ./handle-order");
  EXPECT_THAT(ComplaintsAboutAll({"--queue", "orders", "--"}), HasSubstr("COMMAND is missing"));
  EXPECT_THAT(ComplaintsAboutAll({"--queue", "", "--", "true"}), HasSubstr("--queue ''"));
}

TEST_F(WorkFlagsTest, NeedsACommandThatCanBeStarted) {
  EXPECT_THAT(ComplaintsAboutAll({"--queue", "orders", "--", "/no/such/program"}),
              HasSubstr("COMMAND: there is no program '/no/such/program'"));
}

TEST_F(WorkFlagsTest, RaisesTheDefaultPrefetchToTheJobs) {
  EXPECT_EQ(Parse({"--jobs", "100"}).consumer.prefetch, 100);
  EXPECT_THAT(Complaints({"--jobs", "100", "--prefetch", "99"}), HasSubstr("--prefetch 99"));
}

TEST_F(WorkFlagsTest, RefusesUnknownFlagsAndStrayArguments) {
  EXPECT_EQ(Complaints({"--bass", "1s"}), "--bass: there is no such flag; see --help");
  EXPECT_EQ(Complaints({"stray"}), "'stray': unexpected here; see --help");
  EXPECT_EQ(ComplaintsAboutAll({"--queue", "orders", "--base"}),
            "--base: needs a value; see --help");
  EXPECT_EQ(Complaints({"--base", "1s", "--base", "2s"}),
            "--base: is given more than once; give it once");
  EXPECT_EQ(Complaints({"--json", "--json"}), "--json: is given more than once; give it once");
  EXPECT_THAT(Complaints({"--timeout", "0"}), HasSubstr("--timeout"));
  EXPECT_THAT(Complaints({"--base", ""}), HasSubstr("--base ''"));
}

TEST_F(WorkFlagsTest, NeverPrintsAPassword) {
  for (const Arguments& arguments : std::vector<Arguments>{
           {"--url", "amqp://user:hunter2@host:port/"},
           {"--url", "amqp://user:hunter2@[::1/"},
           {"--url", "http://user:hunter2@host/"},
           {"--url", "amqp://user:hunter2@a/", "--url", "amqp://user:hunter3@b/"},
           {"amqp://user:hunter2@host/"},
           {"--rul=amqp://user:hunter2@host/"},
           {"--rul", "amqp://user:hunter2@host/"}}) {
    EXPECT_THAT(Complaints(arguments), Not(HasSubstr("hunter")));
  }
  ::setenv("RETRYQ_URL", "amqp://user:hunter2@host:port/", 1);
  EXPECT_THAT(Complaints({}), AllOf(HasSubstr("RETRYQ_URL"), Not(HasSubstr("hunter"))));
}

TEST_F(WorkFlagsTest, HelpTellsAll) {
  const auto parsed = ParseWork({"--help"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const std::string help = std::get<Answer>(*parsed).text;
  for (const char* word : {"Usage: retryq work --queue QUEUE", "--on-parked", "--grace",
                           "Examples:", "RETRYQ_HEADERS", "--delays", "--jitter"}) {
    EXPECT_THAT(help, HasSubstr(word));
  }
}

}  // namespace work_flags_test
}  // namespace retryq::cli
