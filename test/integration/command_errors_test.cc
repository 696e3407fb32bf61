// What the command refuses, with which exit code and in which words.

#include <gmock/gmock.h>

#include "integration/command_run.h"

namespace retryq::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CommandErrors : public CommandTest {
 protected:
  struct End {
    std::optional<int> code;
    std::string out;
    std::string err;
  };

  static End Run(const Arguments& arguments, const std::string& url) {
    CommandRun run(arguments, url);
    const std::optional<int> code = run.Wait();
    return {code, run.out(), run.err()};
  }

  End Work(const Arguments& flags, const std::string& url) {
    Arguments all = {"work"};
    all.insert(all.end(), flags.begin(), flags.end());
    all.insert(all.end(), {"--", "true"});
    return Run(all, url);
  }
};

TEST_F(CommandErrors, AWrongPasswordIs77) {
  for (const Arguments& arguments : {Arguments{"work", "--queue", "orders", "--", "true"},
                                     Arguments{"send", "--queue", "orders", "body"}}) {
    const End end = Run(arguments, vhost_.UrlAs("guest", "hunter2"));
    EXPECT_EQ(end.code, 77) << end.err;
    EXPECT_THAT(end.err, AllOf(HasSubstr("retryq " + arguments.front() + ": "), HasSubstr("guest"),
                               Not(HasSubstr("hunter2"))));
  }
}

TEST_F(CommandErrors, AMissingVhostIs69) {
  std::string url = vhost_.Url();
  url += "-that-is-not-there";
  const End end = Work({"--queue", "orders"}, url);
  EXPECT_EQ(end.code, 69) << end.err;
  EXPECT_THAT(end.err, HasSubstr("vhost"));
}

TEST_F(CommandErrors, AMissingQueueIs69) {
  const End end = Work({"--queue", "odrers"}, vhost_.Url());
  EXPECT_EQ(end.code, 69) << end.err;
  EXPECT_THAT(end.err, HasSubstr("odrers"));
}

TEST_F(CommandErrors, AMissingWorkExchangeIs69) {
  const End end = Work({"--queue", "orders", "--work-exchange", "wrok"}, vhost_.Url());
  EXPECT_EQ(end.code, 69) << end.err;
  EXPECT_THAT(end.err, HasSubstr("wrok"));
}

TEST_F(CommandErrors, AMissingPermissionIs77) {
  const std::string user = vhost_.AddUser(TestVhost::Rights{".*", ".*", "^$"});
  const End end = Work({"--queue", "orders"}, vhost_.UrlAs(user, user));
  EXPECT_EQ(end.code, 77) << end.err;
  EXPECT_THAT(end.err, HasSubstr("orders"));
}

TEST_F(CommandErrors, WrongOptionsAre64ALineEach) {
  const End end = Work({"--queue", "orders", "--base", "soon", "--jobs", "0"}, vhost_.Url());
  EXPECT_EQ(end.code, 64);
  EXPECT_EQ(end.err,
            "retryq work: --base 'soon': write a duration such as 500ms, 30s, 10m, 1h30m or 1d\n"
            "retryq work: --jobs '0': write a whole number from 1 to 1024\n");
  EXPECT_EQ(end.out, "");
}

TEST_F(CommandErrors, AnOptionThatOnlyTheLibraryKnowsToBeWrongIs64Too) {
  const End end = Work({"--queue", "orders", "--parked", "orders"}, vhost_.Url());
  EXPECT_EQ(end.code, 64);
  EXPECT_THAT(end.err, HasSubstr("retryq work: --parked"));
}

TEST_F(CommandErrors, AMissingCommandIs64) {
  const End end = Run({"work", "--queue", "orders", "--", "/no/such/program"}, vhost_.Url());
  EXPECT_EQ(end.code, 64);
  EXPECT_THAT(end.err, HasSubstr("COMMAND: there is no program '/no/such/program'"));
}

TEST_F(CommandErrors, AnUnknownCommandIs64) {
  EXPECT_EQ(Run({}, "").code, 64);
  const End end = Run({"replay"}, "");
  EXPECT_EQ(end.code, 64);
  EXPECT_THAT(end.err, ::testing::MatchesRegex("retryq: there is no command 'replay': say work, "
                                               "plan, [a-z, ]+ or [a-z]+; see retryq --help\n"));
}

TEST_F(CommandErrors, HelpAndVersionAreNone) {
  for (const Arguments& arguments :
       {Arguments{"--help"}, Arguments{"work", "--help"}, Arguments{"send", "--help"},
        Arguments{"queues", "--help"}, Arguments{"doctor", "--help"}, Arguments{"-h"}}) {
    const End end = Run(arguments, "");
    EXPECT_EQ(end.code, 0);
    EXPECT_THAT(end.out, AllOf(HasSubstr("Usage: retryq"), HasSubstr("Example")));
    EXPECT_EQ(end.err, "");
  }
  EXPECT_THAT(Run({"--version"}, "").out,
              ::testing::MatchesRegex("retryq [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST_F(CommandErrors, ABrokerThatCannotBeReachedIsWaitedFor) {
  // Port 1 is nobody's.
  CommandRun run({"work", "--json", "--queue", "orders", "--url",
                  "amqp://guest:hunter2@127.0.0.1:1/", "--", "true"},
                 "");
  ASSERT_TRUE(run.Says("disconnected"));
  EXPECT_THAT(run.out() + run.err(), Not(HasSubstr("hunter2")));
  EXPECT_TRUE(run.Stop());
}

}  // namespace
}  // namespace retryq::testing
